/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Templates of frames that are not the procedure call standard's, AArch64. X9 is
 * free everywhere: the spins count in it.
 */
#include "../../frames_template.S"

#define X11	11
#define X20	20
#define FP	29
#define LR	30
#define SP	31

	.section .rodata
	.balign	4
	.globl	frames_callee_saved, frames_fp
	.globl	frames_switch_words, frames_switch_ra, frames_switch_fp
frames_callee_saved:
	.long	X20
frames_fp:
	.long	FP
frames_switch_words:
	.long	12
frames_switch_ra:
	.long	1
frames_switch_fp:
	.long	0

	.macro SPIN
	PLACE
	mov	x9, #20
.Lspin\@:
	PLACE	spin=1
	sub	x9, x9, #1
	PLACE
	cbnz	x9, .Lspin\@
	.endm

/*
 * Forth. X20: return stack, X19: data stack; both grow down, the top of each is in
 * memory. LR has the return address at a word's start. X29 is a word's own.
 *
 * In the window of the words FP stands for X20. SP is the native stack's, and the
 * same wherever a word calls another: CFA=sp+0.
 */

/* void enter(unused, struct stacks *): of the other window, where FP is X29. */
BEGIN forth_enter
	RULE	REG(SP,0)
	I	stp	x29, x30, [sp, #-48]!
	RULE	REG(SP,48), AT_CFA(-40), AT_CFA(-48)
	I	stp	x19, x20, [sp, #16]
	I	str	x1, [sp, #32]
	I	ldr	x19, [x1]
	I	ldr	x20, [x1, #8]
	I	adr	x30, forth_enter_ret
	I	ldr	x10, forth_enter_word
	I	br	x10
	HOLE	forth_enter_word
forth_enter_ret:
	I	ldr	x1, [sp, #32]
	I	str	x19, [x1]
	I	ldp	x19, x20, [sp, #16]
	I	ldp	x29, x30, [sp], #48
	RULE	REG(SP,0)
	I	ret
END forth_enter, ret=forth_enter_ret, hole0=forth_enter_word

BEGIN forth_begin
	RULE	REG(SP,0), REG(LR,0)
	I	sub	x20, x20, #8
	RULE	REG(SP,0), REG(LR,0), REG(X20,8)
	I	str	x30, [x20]
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	/* A frame pointer that looks like one. */
	I	sub	x29, sp, #64
END forth_begin

BEGIN forth_end
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	ldr	x30, [x20]
	I	add	x20, x20, #8
	RULE	REG(SP,0), REG(LR,0)
	I	ret
END forth_end

BEGIN forth_call
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	adr	x30, forth_call_ret
	I	ldr	x10, forth_call_word
	I	br	x10
	HOLE	forth_call_word
forth_call_ret:
	I	nop
END forth_call, ret=forth_call_ret, hole0=forth_call_word

BEGIN forth_literal
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	ldr	x10, forth_literal_value
	I	str	x10, [x19, #-8]!
	I	b	1f
	HOLE	forth_literal_value
1:
END forth_literal, hole0=forth_literal_value

BEGIN forth_dup
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	ldr	x10, [x19]
	I	str	x10, [x19, #-8]!
END forth_dup

BEGIN forth_drop
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	add	x19, x19, #8
END forth_drop

BEGIN forth_add
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	ldr	x10, [x19], #8
	I	ldr	x11, [x19]
	I	add	x10, x10, x11
	I	str	x10, [x19]
END forth_add

BEGIN forth_multiply
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	ldr	x10, [x19], #8
	I	ldr	x11, [x19]
	I	mul	x10, x10, x11
	I	str	x10, [x19]
END forth_multiply

/* To the return stack and back: what Forth writes ">r" and "r>". */
BEGIN forth_to_r
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	ldr	x10, [x19], #8
	I	str	x10, [x20, #-8]!
	RULE	REG(SP,0), DEREF(X20,8), REG(X20,16)
	I	nop
END forth_to_r

BEGIN forth_r_from
	RULE	REG(SP,0), DEREF(X20,8), REG(X20,16)
	I	ldr	x10, [x20], #8
	RULE	REG(SP,0), DEREF(X20,0), REG(X20,8)
	I	str	x10, [x19, #-8]!
END forth_r_from

/* A call while one operand lies on the return stack. */
BEGIN forth_call_r
	RULE	REG(SP,0), DEREF(X20,8), REG(X20,16)
	I	adr	x30, forth_call_r_ret
	I	ldr	x10, forth_call_r_word
	I	br	x10
	HOLE	forth_call_r_word
forth_call_r_ret:
	I	nop
END forth_call_r, ret=forth_call_r_ret, hole0=forth_call_r_word

/*
 * A word that calls frames_native(nesting, data, control): it makes a native frame
 * record, by which whoever comes back from native code finds its return address,
 * X20 and SP, none of which native code's own records give.
 */
BEGIN forth_native
	RULE	REG(SP,0), REG(LR,0)
	I	stp	x29, x30, [sp, #-32]!
	RULE	REG(SP,32), AT_CFA(-24)
	I	str	x20, [sp, #16]
	RULE	REG(SP,32), AT_CFA(-24), AT_CFA(-16)
	I	mov	x29, sp
	RULE	REG(FP,32), AT_CFA(-24), AT_CFA(-16)
	I	ldr	x0, forth_native_nesting
	I	mov	x1, x19
	I	mov	x2, x20
	I	ldr	x10, forth_native_function
	I	blr	x10
forth_native_ret:
	I	mov	x19, x0
	I	ldr	x20, [sp, #16]
	I	ldp	x29, x30, [sp], #32
	RULE	REG(SP,0), REG(LR,0)
	I	ret
	HOLE	forth_native_nesting
	HOLE	forth_native_function
END forth_native, ret=forth_native_ret, hole0=forth_native_nesting, \
	hole1=forth_native_function

/*
 * GHC. X29: the stack of continuations. A continuation is entered with X29 at its
 * frame, whose first word is its own address; in front of its code is a word that
 * says how large the frame is, which the return address - 1 falls into.
 */

/* void enter(unused, struct stacks *): of the window where FP is as usual. */
BEGIN ghc_enter
	RULE	REG(SP,0)
	I	stp	x29, x30, [sp, #-32]!
	RULE	REG(SP,32), AT_CFA(-24), AT_CFA(-32)
	I	str	x19, [sp, #16]
	I	ldr	x29, [x1, #8]
	I	adr	x10, ghc_enter_ret
	I	str	x10, [x29, #-8]!
	I	ldr	x10, ghc_enter_function
	I	br	x10
	HOLE	ghc_enter_function
	.quad	8
ghc_enter_ret:
	I	ldr	x19, [sp, #16]
	I	ldp	x29, x30, [sp], #32
	RULE	REG(SP,0)
	I	ret
END ghc_enter, ret=ghc_enter_ret, hole0=ghc_enter_function

/* Evaluates something with a variable to keep, and goes on. */
BEGIN ghc_case
	RULE	REG(SP,0), DEREF(FP,0)
	I	adr	x10, ghc_case_ret
	I	str	x19, [x29, #-8]
	I	str	x10, [x29, #-16]
	I	sub	x29, x29, #16
	RULE	REG(SP,0), DEREF(FP,16), REG(FP,16)
	I	add	x19, x19, #1
	I	ldr	x10, ghc_case_callee
	I	br	x10
	HOLE	ghc_case_callee
	.quad	16
ghc_case_ret:
	I	ldr	x19, [x29, #8]
	I	add	x29, x29, #16
	RULE	REG(SP,0), DEREF(FP,0)
	I	ldr	x10, [x29]
	I	br	x10
END ghc_case, ret=ghc_case_ret, hole0=ghc_case_callee

/* Calls nothing: enters the continuation. */
BEGIN ghc_return
	RULE	REG(SP,0), DEREF(FP,0)
	I	ldr	x10, [x29]
	I	br	x10
END ghc_return

/*
 * A function that calls frames_native(nesting, 0, control): it makes a C frame
 * whose caller is the continuation, and whose caller's X29 is its stack. Of the
 * window where FP is as usual.
 */
BEGIN ghc_native
	RULE	REG(SP,0), DEREF(FP,0)
	I	ldr	x30, [x29]
	I	stp	x29, x30, [sp, #-16]!
	RULE	REG(SP,16), AT_CFA(-8), AT_CFA(-16)
	I	mov	x2, x29
	I	mov	x29, sp
	RULE	REG(FP,16), AT_CFA(-8), AT_CFA(-16)
	I	ldr	x0, ghc_native_nesting
	I	mov	x1, #0
	I	ldr	x10, ghc_native_function
	I	blr	x10
ghc_native_ret:
	I	ldp	x29, x30, [sp], #16
	RULE	REG(SP,0), DEREF(FP,0)
	I	ldr	x10, [x29]
	I	br	x10
	HOLE	ghc_native_nesting
	HOLE	ghc_native_function
END ghc_native, ret=ghc_native_ret, hole0=ghc_native_nesting, \
	hole1=ghc_native_function

/*
 * Frames of variable size. Each function gets a number that says how much to
 * allocate, from 16 to 256 bytes, and calls its callee from a frame of one size
 * and then from one of another.
 */

	/* X10 = the size for the number in X19, and the next number. */
	.macro	NEXT_SIZE
	I	add	x19, x19, #7
	I	and	x10, x19, #15
	I	add	x10, x10, #1
	I	lsl	x10, x10, #4
	.endm

/* The CFA is where X29 says. */
BEGIN moving_fp
	RULE	REG(SP,0)
	I	stp	x29, x30, [sp, #-32]!
	RULE	REG(SP,32), AT_CFA(-24), AT_CFA(-32)
	I	mov	x29, sp
	RULE	REG(FP,32), AT_CFA(-24), AT_CFA(-32)
	I	stp	x19, x21, [sp, #16]
	I	mov	x19, x0
	I	mov	w21, #2
1:	NEXT_SIZE
	I	sub	sp, sp, x10
	I	mov	x0, x19
	I	ldr	x12, moving_fp_callee
	I	blr	x12
moving_fp_ret:
	I	mov	sp, x29
	I	subs	w21, w21, #1
	I	b.ne	1b
	I	ldp	x19, x21, [sp, #16]
	I	ldp	x29, x30, [sp], #32
	RULE	REG(SP,0)
	I	ret
	HOLE	moving_fp_callee
END moving_fp, ret=moving_fp_ret, hole0=moving_fp_callee

/* The CFA is kept at the end of the frame; X29 looks like a frame pointer. */
BEGIN moving_slot
	RULE	REG(SP,0)
	I	stp	x29, x30, [sp, #-32]!
	RULE	REG(SP,32), AT_CFA(-24), AT_CFA(-32)
	I	stp	x19, x21, [sp, #16]
	I	sub	x29, sp, #64
	I	mov	x19, x0
	I	mov	w21, #2
1:	NEXT_SIZE
	I	add	x11, sp, #32
	RULE	REG(X11,0), AT_CFA(-24), AT_CFA(-32)
	I	sub	sp, sp, x10
	I	str	x11, [sp]
	RULE	DEREF(SP,0), AT_CFA(-24), AT_CFA(-32)
	I	mov	x0, x19
	I	ldr	x12, moving_slot_callee
	I	blr	x12
moving_slot_ret:
	I	ldr	x11, [sp]
	RULE	REG(X11,0), AT_CFA(-24), AT_CFA(-32)
	I	sub	sp, x11, #32
	RULE	REG(SP,32), AT_CFA(-24), AT_CFA(-32)
	I	subs	w21, w21, #1
	I	b.ne	1b
	I	ldp	x19, x21, [sp, #16]
	I	ldp	x29, x30, [sp], #32
	RULE	REG(SP,0)
	I	ret
	HOLE	moving_slot_callee
END moving_slot, ret=moving_slot_ret, hole0=moving_slot_callee

/* The CFA is in X20, which FP stands for. */
BEGIN moving_reg
	RULE	REG(SP,0)
	I	stp	x20, x30, [sp, #-32]!
	RULE	REG(SP,32), AT_CFA(-24), AT_CFA(-32)
	I	add	x20, sp, #32
	RULE	REG(X20,0), AT_CFA(-24), AT_CFA(-32)
	I	stp	x19, x21, [sp, #16]
	I	mov	x19, x0
	I	mov	w21, #2
1:	NEXT_SIZE
	I	sub	sp, sp, x10
	I	mov	x0, x19
	I	ldr	x12, moving_reg_callee
	I	blr	x12
moving_reg_ret:
	I	sub	sp, x20, #32
	I	subs	w21, w21, #1
	I	b.ne	1b
	I	ldp	x19, x21, [sp, #16]
	I	ldp	x20, x30, [sp], #32
	RULE	REG(SP,0)
	I	ret
	HOLE	moving_reg_callee
END moving_reg, ret=moving_reg_ret, hole0=moving_reg_callee

/* Realigned to 64 and then of variable size: the CFA is at x29+16. */
BEGIN moving_aligned
	RULE	REG(SP,0)
	I	mov	x11, sp
	RULE	REG(X11,0)
	I	sub	x12, x11, #48
	I	and	sp, x12, #-64
	I	stp	x29, x30, [sp]
	RULE	REG(X11,0), DEREF(SP,8), DEREF(SP,0)
	I	str	x11, [sp, #16]
	RULE	DEREF(SP,16), DEREF(SP,8), DEREF(SP,0)
	I	mov	x29, sp
	RULE	DEREF(FP,16), DEREF(FP,8), DEREF(FP,0)
	I	stp	x19, x21, [sp, #32]
	I	mov	x19, x0
	I	mov	w21, #2
1:	NEXT_SIZE
	I	sub	sp, sp, x10
	I	mov	x0, x19
	I	ldr	x12, moving_aligned_callee
	I	blr	x12
moving_aligned_ret:
	I	mov	sp, x29
	I	subs	w21, w21, #1
	I	b.ne	1b
	I	ldp	x19, x21, [sp, #32]
	I	ldr	x11, [sp, #16]
	I	ldp	x29, x30, [sp]
	RULE	REG(X11,0)
	I	mov	sp, x11
	RULE	REG(SP,0)
	I	ret
	HOLE	moving_aligned_callee
END moving_aligned, ret=moving_aligned_ret, hole0=moving_aligned_callee

/* A frame of fixed size, for company; FP is left alone. */
BEGIN fixed
	RULE	REG(SP,0)
	I	str	x30, [sp, #-32]!
	RULE	REG(SP,32), AT_CFA(-32)
	I	ldr	x12, fixed_callee
	I	blr	x12
fixed_ret:
	I	ldr	x30, [sp], #32
	RULE	REG(SP,0)
	I	ret
	HOLE	fixed_callee
END fixed, ret=fixed_ret, hole0=fixed_callee

BEGIN leaf
	RULE	REG(SP,0)
	I	add	x10, sp, x0, lsl #3
	I	ret
END leaf

/*
 * Fibres.
 */

/*
 * Stores a stack pointer where one is saved, which makes a fibre start anew, or
 * where none is, and switches.
 */
BEGIN fibre_outside
	RULE	REG(SP,0)
	I	str	x30, [sp, #-32]!
	RULE	REG(SP,32), AT_CFA(-32)
	I	ldr	x10, fibre_outside_saved
	I	ldr	x11, fibre_outside_initial
	I	str	x11, [x10]
	I	ldr	x12, fibre_outside_switch
	I	blr	x12
fibre_outside_ret:
	I	ldr	x30, [sp], #32
	RULE	REG(SP,0)
	I	ret
	HOLE	fibre_outside_switch
	HOLE	fibre_outside_saved
	HOLE	fibre_outside_initial
END fibre_outside, ret=fibre_outside_ret, hole0=fibre_outside_switch, \
	hole1=fibre_outside_saved, hole2=fibre_outside_initial

/*
 * Saves the stack pointer at the first address, and takes that of the second.
 * Both stacks look alike at that instruction, so one row is right for each.
 */
BEGIN fibre_switch
	RULE	REG(SP,0)
	I	stp	x29, x30, [sp, #-96]!
	RULE	REG(SP,96), AT_CFA(-88), AT_CFA(-96)
	I	stp	x19, x20, [sp, #16]
	I	stp	x21, x22, [sp, #32]
	I	stp	x23, x24, [sp, #48]
	I	stp	x25, x26, [sp, #64]
	I	stp	x27, x28, [sp, #80]
	I	ldr	x10, fibre_switch_from
	I	ldr	x11, fibre_switch_to
	I	mov	x12, sp
	I	str	x12, [x10]
	I	ldr	x12, [x11]
	I	mov	sp, x12
	.set	frames_side, 1
	I	ldp	x27, x28, [sp, #80]
	I	ldp	x25, x26, [sp, #64]
	I	ldp	x23, x24, [sp, #48]
	I	ldp	x21, x22, [sp, #32]
	I	ldp	x19, x20, [sp, #16]
	I	ldp	x29, x30, [sp], #96
	RULE	REG(SP,0)
	I	ret
	HOLE	fibre_switch_from
	HOLE	fibre_switch_to
END fibre_switch, hole0=fibre_switch_from, hole1=fibre_switch_to

/*
 * Where a fibre begins: entered by the return of the first switch to it, so the
 * address before the entry belongs to it, too. Its caller is undefined. It keeps
 * the frame that the switch found on the stack, to be found there again.
 */
BEGIN fibre_base
	RULE
	nop
fibre_base_entry:
	I	sub	sp, sp, #128
	I	ldr	x12, fibre_base_callee
	I	blr	x12
fibre_base_ret:
	brk	#1
	HOLE	fibre_base_callee
END fibre_base, entry=fibre_base_entry, ret=fibre_base_ret, \
	hole0=fibre_base_callee

/* Switches away, again and again: it begins but once. */
BEGIN fibre_inside
	RULE	REG(SP,0)
	str	x30, [sp, #-16]!
	RULE	REG(SP,16), AT_CFA(-16)
1:	I	ldr	x12, fibre_inside_switch
	I	blr	x12
fibre_inside_ret:
	I	b	1b
	HOLE	fibre_inside_switch
END fibre_inside, ret=fibre_inside_ret, hole0=fibre_inside_switch

	.section .note.GNU-stack, "", @progbits
