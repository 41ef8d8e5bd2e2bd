/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where static_elf_program and its second thread start, and its system calls. An
 * undefined RIP marks the outermost frame.
 */
#include <asm/unistd.h>

	.text
	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	mov	%rsp, %rdi
	and	$-16, %rsp
	call	program_main_start
	ud2
	.cfi_endproc
	.size	_start, . - _start

	.type	thread_start, @function
thread_start:
	.cfi_startproc
	.cfi_undefined rip
	call	program_cloned_start
	ud2
	.cfi_endproc
	.size	thread_start, . - thread_start

	/* program_spawn(flags, stack_top): the new thread's stack is empty. */
	.globl	program_spawn
	.type	program_spawn, @function
program_spawn:
	.cfi_startproc
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	mov	$__NR_clone, %eax
	syscall
	test	%rax, %rax
	jz	thread_start
	ret
	.cfi_endproc
	.size	program_spawn, . - program_spawn

	.globl	program_syscall
	.type	program_syscall, @function
program_syscall:
	.cfi_startproc
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
	mov	8(%rsp), %r9
	syscall
	ret
	.cfi_endproc
	.size	program_syscall, . - program_syscall
