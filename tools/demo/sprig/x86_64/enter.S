/* SPDX-License-Identifier: MIT */
/*
 * int64_t sprig_enter(State *state, const Closure *callee, const int64_t arguments[6])
 *
 * The way from native code into compiled code. It has a frame pointer, so that
 * the native frames around compiled ones form a chain of frame pointers.
 */
#include "state_offsets.h"

	.text
	.globl	sprig_enter
	.type	sprig_enter, @function
sprig_enter:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	subq	$8, %rsp
	movq	%rdi, %r14
	movq	%rsi, %rbx
	movq	%rdx, %r12
	movq	%rbp, %rdi
	leaq	.Lreturn(%rip), %rsi
	call	sprig_enter_context
	movq	%rax, %r15
	movq	%rbx, %r10
	movq	(%r12), %rdi
	movq	8(%r12), %rsi
	movq	16(%r12), %rdx
	movq	24(%r12), %rcx
	movq	32(%r12), %r8
	movq	40(%r12), %r9
	movq	(%rbx), %rax
	call	*STATE_ENTRY(%r14,%rax,8)
.Lreturn:
	addq	$8, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	sprig_enter, . - sprig_enter
	.section .note.GNU-stack,"",@progbits
