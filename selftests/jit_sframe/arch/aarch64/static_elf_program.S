/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where static_elf_program and its second thread start, and its system calls. An
 * undefined X30 marks the outermost frame.
 */
#include <asm/unistd.h>

	.text
	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	mov	x0, sp
	bl	program_main_start
	brk	#1
	.cfi_endproc
	.size	_start, . - _start

	.type	thread_start, %function
thread_start:
	.cfi_startproc
	.cfi_undefined x30
	bl	program_cloned_start
	brk	#1
	.cfi_endproc
	.size	thread_start, . - thread_start

	/* program_spawn(flags, stack_top): the new thread's stack is empty. */
	.globl	program_spawn
	.type	program_spawn, %function
program_spawn:
	.cfi_startproc
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #__NR_clone
	svc	#0
	cbz	x0, thread_start
	ret
	.cfi_endproc
	.size	program_spawn, . - program_spawn

	.globl	program_syscall
	.type	program_syscall, %function
program_syscall:
	.cfi_startproc
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	mov	x4, x5
	mov	x5, x6
	svc	#0
	ret
	.cfi_endproc
	.size	program_syscall, . - program_syscall
