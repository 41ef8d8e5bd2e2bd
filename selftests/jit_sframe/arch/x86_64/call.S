/* SPDX-License-Identifier: GPL-2.0 */
/*
 * code_call_on_stack(entry, counter, address, stack_top), see code.h.
 *
 * RBX keeps the stack pointer: every function made here preserves it, as the
 * psABI has it. An RBP of 0 ends a walk by frame pointers.
 */
	.text
	.globl code_call_on_stack
	.type code_call_on_stack, @function
code_call_on_stack:
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rsp, %rbx
	mov	%rcx, %rsp
	xor	%ebp, %ebp
	call	*%rax
	.globl code_call_on_stack_return
code_call_on_stack_return:
	mov	%rbx, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.size code_call_on_stack, . - code_call_on_stack

	.section .note.GNU-stack, "", @progbits
