/* SPDX-License-Identifier: MIT */
/*
 * int64_t sprig_enter(State *state, const Closure *callee, const int64_t arguments[6])
 *
 * The way from native code into compiled code. It has a frame record, so that
 * the native frames around compiled ones form a chain of frame pointers.
 */
#include "state_offsets.h"

	.text
	.globl	sprig_enter
	.type	sprig_enter, @function
sprig_enter:
	.cfi_startproc
	hint	#25		/* paciasp */
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-96]!
	.cfi_def_cfa_offset 96
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	mov	x29, sp
	.cfi_def_cfa_register x29
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	mov	x19, x0
	mov	x21, x1
	mov	x22, x2
	mov	x0, x29
	adr	x1, .Lreturn
	bl	sprig_enter_context
	mov	x20, x0
	mov	x15, x21
	mov	x8, x22
	ldr	x17, [x21]
	add	x16, x19, x17, lsl #3
	ldr	x16, [x16, #STATE_ENTRY]
	ldp	x0, x1, [x8]
	ldp	x2, x3, [x8, #16]
	ldp	x4, x5, [x8, #32]
	blr	x16
.Lreturn:
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #96
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa sp, 0
	hint	#29		/* autiasp */
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	sprig_enter, . - sprig_enter
	.section .note.GNU-stack,"",@progbits
