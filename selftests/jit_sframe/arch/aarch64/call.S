/* SPDX-License-Identifier: GPL-2.0 */
/*
 * code_call_on_stack(entry, counter, address, stack_top), see code.h.
 *
 * X19 keeps the stack pointer: every function made here preserves it, as the
 * AAPCS64 has it. An X29 of 0 ends a walk by frame pointers.
 */
	.text
	.globl code_call_on_stack
	.type code_call_on_stack, %function
code_call_on_stack:
	stp	x29, x30, [sp, #-96]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	mov	x16, x0
	mov	x0, x1
	mov	x1, x2
	mov	x19, sp
	mov	sp, x3
	mov	x29, xzr
	blr	x16
	.globl code_call_on_stack_return
code_call_on_stack_return:
	mov	sp, x19
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #96
	ret
	.size code_call_on_stack, . - code_call_on_stack

	.section .note.GNU-stack, "", %progbits
