/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Templates of frames that are not the psABI's, x86-64. RCX is free everywhere:
 * the spins count in it.
 */
#include "../../frames_template.S"

#define RDX	1
#define RBP	6
#define RSP	7
#define R10	10
#define R12	12

	.section .rodata
	.balign	4
	.globl	frames_callee_saved, frames_fp
	.globl	frames_switch_words, frames_switch_ra, frames_switch_fp
frames_callee_saved:
	.long	R12
frames_fp:
	.long	RBP
frames_switch_words:
	.long	7
frames_switch_ra:
	.long	6
frames_switch_fp:
	.long	5

	.macro SPIN
	PLACE
	mov	$20, %ecx
	PLACE	spin=1
	loop	.
	.endm

/*
 * Forth. R12: return stack, RBX: data stack; both grow down, the top of each is in
 * memory. RDX has the return address at a word's start. RBP is a word's own.
 *
 * In the window of the words FP stands for R12. SP is the native stack's, and the
 * same wherever a word calls another: CFA=rsp+0.
 */

/* void enter(unused, struct stacks *): of the other window, where FP is RBP. */
BEGIN forth_enter
	RULE	REG(RSP,8)
	I	push	%rbp
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	push	%rbx
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	push	%r12
	RULE	REG(RSP,32), DEFAULT, AT_CFA(-16)
	I	push	%rsi
	RULE	REG(RSP,40), DEFAULT, AT_CFA(-16)
	I	sub	$8, %rsp
	RULE	REG(RSP,48), DEFAULT, AT_CFA(-16)
	I	mov	(%rsi), %rbx
	I	mov	8(%rsi), %r12
	I	lea	forth_enter_ret(%rip), %rdx
	I	jmp	*forth_enter_word(%rip)
	HOLE	forth_enter_word
forth_enter_ret:
	I	add	$8, %rsp
	RULE	REG(RSP,40), DEFAULT, AT_CFA(-16)
	I	pop	%rsi
	RULE	REG(RSP,32), DEFAULT, AT_CFA(-16)
	I	mov	%rbx, (%rsi)
	I	pop	%r12
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	pop	%rbx
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	pop	%rbp
	RULE	REG(RSP,8)
	I	ret
END forth_enter, ret=forth_enter_ret, hole0=forth_enter_word

BEGIN forth_begin
	RULE	REG(RSP,0), REG(RDX,0)
	I	sub	$8, %r12
	RULE	REG(RSP,0), REG(RDX,0), REG(R12,8)
	I	mov	%rdx, (%r12)
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	/* A frame pointer that looks like one. */
	I	lea	-64(%rsp), %rbp
END forth_begin

BEGIN forth_end
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	mov	(%r12), %rdx
	I	add	$8, %r12
	RULE	REG(RSP,0), REG(RDX,0)
	I	jmp	*%rdx
END forth_end

BEGIN forth_call
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	lea	forth_call_ret(%rip), %rdx
	I	jmp	*forth_call_word(%rip)
	HOLE	forth_call_word
forth_call_ret:
	I	nop
END forth_call, ret=forth_call_ret, hole0=forth_call_word

BEGIN forth_literal
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	mov	forth_literal_value(%rip), %rax
	I	sub	$8, %rbx
	I	mov	%rax, (%rbx)
	I	jmp	1f
	HOLE	forth_literal_value
1:
END forth_literal, hole0=forth_literal_value

BEGIN forth_dup
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	mov	(%rbx), %rax
	I	sub	$8, %rbx
	I	mov	%rax, (%rbx)
END forth_dup

BEGIN forth_drop
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	add	$8, %rbx
END forth_drop

BEGIN forth_add
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	mov	(%rbx), %rax
	I	add	$8, %rbx
	I	add	%rax, (%rbx)
END forth_add

BEGIN forth_multiply
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	mov	(%rbx), %rax
	I	add	$8, %rbx
	I	imul	(%rbx), %rax
	I	mov	%rax, (%rbx)
END forth_multiply

/* To the return stack and back: what Forth writes ">r" and "r>". */
BEGIN forth_to_r
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	mov	(%rbx), %rax
	I	add	$8, %rbx
	I	sub	$8, %r12
	RULE	REG(RSP,0), DEREF(R12,8), REG(R12,16)
	I	mov	%rax, (%r12)
END forth_to_r

BEGIN forth_r_from
	RULE	REG(RSP,0), DEREF(R12,8), REG(R12,16)
	I	mov	(%r12), %rax
	I	add	$8, %r12
	RULE	REG(RSP,0), DEREF(R12,0), REG(R12,8)
	I	sub	$8, %rbx
	I	mov	%rax, (%rbx)
END forth_r_from

/* A call while one operand lies on the return stack. */
BEGIN forth_call_r
	RULE	REG(RSP,0), DEREF(R12,8), REG(R12,16)
	I	lea	forth_call_r_ret(%rip), %rdx
	I	jmp	*forth_call_r_word(%rip)
	HOLE	forth_call_r_word
forth_call_r_ret:
	I	nop
END forth_call_r, ret=forth_call_r_ret, hole0=forth_call_r_word

/*
 * A word that calls frames_native(nesting, data, control): its return address and
 * R12 go to the native stack, where whoever comes back from native code, which
 * keeps neither, finds them.
 */
BEGIN forth_native
	RULE	REG(RSP,0), REG(RDX,0)
	I	push	%rdx
	RULE	REG(RSP,8)
	I	push	%r12
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	mov	forth_native_nesting(%rip), %rdi
	I	mov	%rbx, %rsi
	I	mov	%r12, %rdx
	I	call	*forth_native_function(%rip)
forth_native_ret:
	I	mov	%rax, %rbx
	I	pop	%r12
	RULE	REG(RSP,8)
	I	pop	%rdx
	RULE	REG(RSP,0), REG(RDX,0)
	I	jmp	*%rdx
	HOLE	forth_native_nesting
	HOLE	forth_native_function
END forth_native, ret=forth_native_ret, hole0=forth_native_nesting, \
	hole1=forth_native_function

/*
 * GHC. RBP: the stack of continuations. A continuation is entered with RBP at its
 * frame, whose first word is its own address; in front of its code is a word that
 * says how large the frame is, which the return address - 1 falls into.
 */

/* void enter(unused, struct stacks *): of the window where FP is as usual. */
BEGIN ghc_enter
	RULE	REG(RSP,8)
	I	push	%rbp
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	push	%rbx
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	sub	$8, %rsp
	RULE	REG(RSP,32), DEFAULT, AT_CFA(-16)
	I	mov	8(%rsi), %rbp
	I	lea	ghc_enter_ret(%rip), %rax
	I	sub	$8, %rbp
	I	mov	%rax, (%rbp)
	I	jmp	*ghc_enter_function(%rip)
	HOLE	ghc_enter_function
	.quad	8
ghc_enter_ret:
	I	add	$8, %rsp
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	pop	%rbx
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	pop	%rbp
	RULE	REG(RSP,8)
	I	ret
END ghc_enter, ret=ghc_enter_ret, hole0=ghc_enter_function

/* Evaluates something with a variable to keep, and goes on. */
BEGIN ghc_case
	RULE	REG(RSP,0), DEREF(RBP,0)
	I	lea	ghc_case_ret(%rip), %rax
	I	mov	%rbx, -8(%rbp)
	I	mov	%rax, -16(%rbp)
	I	sub	$16, %rbp
	RULE	REG(RSP,0), DEREF(RBP,16), REG(RBP,16)
	I	inc	%rbx
	I	jmp	*ghc_case_callee(%rip)
	HOLE	ghc_case_callee
	.quad	16
ghc_case_ret:
	I	mov	8(%rbp), %rbx
	I	add	$16, %rbp
	RULE	REG(RSP,0), DEREF(RBP,0)
	I	jmp	*(%rbp)
END ghc_case, ret=ghc_case_ret, hole0=ghc_case_callee

/* Calls nothing: enters the continuation. */
BEGIN ghc_return
	RULE	REG(RSP,0), DEREF(RBP,0)
	I	inc	%rbx
	I	jmp	*(%rbp)
END ghc_return

/*
 * A function that calls frames_native(nesting, 0, control): it makes a C frame
 * whose caller is the continuation, and whose caller's RBP is its stack. Of the
 * window where FP is as usual.
 */
BEGIN ghc_native
	RULE	REG(RSP,0), DEREF(RBP,0)
	I	push	(%rbp)
	RULE	REG(RSP,8)
	I	push	%rbp
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	mov	%rbp, %rdx
	I	mov	%rsp, %rbp
	RULE	REG(RBP,16), DEFAULT, AT_CFA(-16)
	I	mov	ghc_native_nesting(%rip), %rdi
	I	xor	%esi, %esi
	I	call	*ghc_native_function(%rip)
ghc_native_ret:
	I	pop	%rbp
	RULE	REG(RSP,8)
	I	add	$8, %rsp
	RULE	REG(RSP,0), DEREF(RBP,0)
	I	jmp	*(%rbp)
	HOLE	ghc_native_nesting
	HOLE	ghc_native_function
END ghc_native, ret=ghc_native_ret, hole0=ghc_native_nesting, \
	hole1=ghc_native_function

/*
 * Frames of variable size. Each function gets a number that says how much to
 * allocate, from 16 to 256 bytes, and calls its callee from a frame of one size
 * and then from one of another.
 */

	/* RAX = the size for the number in RBX, and the next number. */
	.macro	NEXT_SIZE
	I	add	$7, %rbx
	I	mov	%ebx, %eax
	I	and	$15, %eax
	I	inc	%eax
	I	shl	$4, %eax
	.endm

/* The CFA is where RBP says. */
BEGIN moving_fp
	RULE	REG(RSP,8)
	I	push	%rbp
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	mov	%rsp, %rbp
	RULE	REG(RBP,16), DEFAULT, AT_CFA(-16)
	I	push	%rbx
	I	push	%r14
	I	mov	%rdi, %rbx
	I	mov	$2, %r14d
1:	NEXT_SIZE
	I	sub	%rax, %rsp
	I	mov	%rbx, %rdi
	I	call	*moving_fp_callee(%rip)
moving_fp_ret:
	I	lea	-16(%rbp), %rsp
	I	dec	%r14d
	I	jnz	1b
	I	pop	%r14
	I	pop	%rbx
	I	pop	%rbp
	RULE	REG(RSP,8)
	I	ret
	HOLE	moving_fp_callee
END moving_fp, ret=moving_fp_ret, hole0=moving_fp_callee

/* The CFA is kept at the end of the frame; RBP looks like a frame pointer. */
BEGIN moving_slot
	RULE	REG(RSP,8)
	I	push	%rbp
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	push	%rbx
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	push	%r14
	RULE	REG(RSP,32), DEFAULT, AT_CFA(-16)
	I	lea	-64(%rsp), %rbp
	I	mov	%rdi, %rbx
	I	mov	$2, %r14d
1:	NEXT_SIZE
	I	lea	32(%rsp), %rdx
	RULE	REG(RDX,0), DEFAULT, AT_CFA(-16)
	I	sub	%rax, %rsp
	I	mov	%rdx, (%rsp)
	RULE	DEREF(RSP,0), DEFAULT, AT_CFA(-16)
	I	mov	%rbx, %rdi
	I	call	*moving_slot_callee(%rip)
moving_slot_ret:
	I	mov	(%rsp), %rdx
	RULE	REG(RDX,0), DEFAULT, AT_CFA(-16)
	I	lea	-32(%rdx), %rsp
	RULE	REG(RSP,32), DEFAULT, AT_CFA(-16)
	I	dec	%r14d
	I	jnz	1b
	I	pop	%r14
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	pop	%rbx
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	pop	%rbp
	RULE	REG(RSP,8)
	I	ret
	HOLE	moving_slot_callee
END moving_slot, ret=moving_slot_ret, hole0=moving_slot_callee

/* The CFA is in R12, which FP stands for. */
BEGIN moving_reg
	RULE	REG(RSP,8)
	I	push	%r12
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	lea	16(%rsp), %r12
	RULE	REG(R12,0), DEFAULT, AT_CFA(-16)
	I	push	%rbx
	I	push	%r14
	I	mov	%rdi, %rbx
	I	mov	$2, %r14d
1:	NEXT_SIZE
	I	sub	%rax, %rsp
	I	mov	%rbx, %rdi
	I	call	*moving_reg_callee(%rip)
moving_reg_ret:
	I	lea	-32(%r12), %rsp
	I	dec	%r14d
	I	jnz	1b
	I	pop	%r14
	I	pop	%rbx
	I	pop	%r12
	RULE	REG(RSP,8)
	I	ret
	HOLE	moving_reg_callee
END moving_reg, ret=moving_reg_ret, hole0=moving_reg_callee

/* Realigned to 64 and then of variable size (DRAP): the CFA is at rbp-8. */
BEGIN moving_aligned
	RULE	REG(RSP,8)
	I	lea	8(%rsp), %r10
	RULE	REG(R10,0)
	I	and	$-64, %rsp
	I	push	-8(%r10)
	I	push	%rbp
	RULE	REG(R10,0), DEFAULT, DEREF(RSP,0)
	I	mov	%rsp, %rbp
	RULE	REG(R10,0), DEFAULT, DEREF(RBP,0)
	I	push	%r10
	RULE	DEREF(RBP,-8), DEFAULT, DEREF(RBP,0)
	I	push	%rbx
	I	push	%r14
	I	mov	%rdi, %rbx
	I	mov	$2, %r14d
1:	NEXT_SIZE
	I	sub	%rax, %rsp
	I	mov	%rbx, %rdi
	I	call	*moving_aligned_callee(%rip)
moving_aligned_ret:
	I	lea	-24(%rbp), %rsp
	I	dec	%r14d
	I	jnz	1b
	I	pop	%r14
	I	pop	%rbx
	I	pop	%r10
	RULE	REG(R10,0), DEFAULT, DEREF(RBP,0)
	I	pop	%rbp
	RULE	REG(R10,0)
	I	lea	-8(%r10), %rsp
	RULE	REG(RSP,8)
	I	ret
	HOLE	moving_aligned_callee
END moving_aligned, ret=moving_aligned_ret, hole0=moving_aligned_callee

/* A frame of fixed size, for company; FP is left alone. */
BEGIN fixed
	RULE	REG(RSP,8)
	I	sub	$24, %rsp
	RULE	REG(RSP,32)
	I	call	*fixed_callee(%rip)
fixed_ret:
	I	add	$24, %rsp
	RULE	REG(RSP,8)
	I	ret
	HOLE	fixed_callee
END fixed, ret=fixed_ret, hole0=fixed_callee

BEGIN leaf
	RULE	REG(RSP,8)
	I	lea	(%rsp,%rdi,8), %rax
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
	RULE	REG(RSP,8)
	I	sub	$24, %rsp
	RULE	REG(RSP,32)
	I	mov	fibre_outside_saved(%rip), %rdx
	I	mov	fibre_outside_initial(%rip), %rax
	I	mov	%rax, (%rdx)
	I	call	*fibre_outside_switch(%rip)
fibre_outside_ret:
	I	add	$24, %rsp
	RULE	REG(RSP,8)
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
	RULE	REG(RSP,8)
	I	push	%rbp
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	push	%rbx
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	push	%r12
	RULE	REG(RSP,32), DEFAULT, AT_CFA(-16)
	I	push	%r13
	RULE	REG(RSP,40), DEFAULT, AT_CFA(-16)
	I	push	%r14
	RULE	REG(RSP,48), DEFAULT, AT_CFA(-16)
	I	push	%r15
	RULE	REG(RSP,56), DEFAULT, AT_CFA(-16)
	I	mov	fibre_switch_from(%rip), %rax
	I	mov	fibre_switch_to(%rip), %rdx
	I	mov	%rsp, (%rax)
	I	mov	(%rdx), %rsp
	.set	frames_side, 1
	I	pop	%r15
	RULE	REG(RSP,48), DEFAULT, AT_CFA(-16)
	I	pop	%r14
	RULE	REG(RSP,40), DEFAULT, AT_CFA(-16)
	I	pop	%r13
	RULE	REG(RSP,32), DEFAULT, AT_CFA(-16)
	I	pop	%r12
	RULE	REG(RSP,24), DEFAULT, AT_CFA(-16)
	I	pop	%rbx
	RULE	REG(RSP,16), DEFAULT, AT_CFA(-16)
	I	pop	%rbp
	RULE	REG(RSP,8)
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
	I	sub	$64, %rsp
	I	call	*fibre_base_callee(%rip)
fibre_base_ret:
	ud2
	HOLE	fibre_base_callee
END fibre_base, entry=fibre_base_entry, ret=fibre_base_ret, \
	hole0=fibre_base_callee

/* Switches away, again and again: it begins but once. */
BEGIN fibre_inside
	RULE	REG(RSP,8)
1:	I	inc	%rbx
	I	call	*fibre_inside_switch(%rip)
fibre_inside_ret:
	I	jmp	1b
	HOLE	fibre_inside_switch
END fibre_inside, ret=fibre_inside_ret, hole0=fibre_inside_switch

	.section .note.GNU-stack, "", @progbits
