/* SPDX-License-Identifier: MIT */
/* What compilers do not make on demand: outermost and signal frames, RBP kept in another register. */
	.text

outermost:
	.cfi_startproc
	.cfi_undefined rip
	xor	%ebp, %ebp
	call	observe@PLT
	hlt
	.cfi_endproc

outermost_at_last:
	.cfi_startproc
	sub	$24, %rsp
	.cfi_adjust_cfa_offset 24
	call	observe@PLT
	.cfi_undefined rip
	hlt
	.cfi_endproc

signal_trampoline:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_def_cfa rsp, 176
	.cfi_offset rip, -8
	.cfi_offset rbp, -56
	mov	$15, %eax
	syscall
	.cfi_endproc

frame_pointer_in_register:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	mov	%rbp, %rbx
	.cfi_register rbp, rbx
	call	observe@PLT
	mov	%rbx, %rbp
	.cfi_restore rbp
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc

cfa_in_register:
	.cfi_startproc
	lea	8(%rsp), %r10
	.cfi_def_cfa r10, 0
	and	$-64, %rsp
	push	-8(%r10)
	mov	-8(%r10), %rax
	lea	-8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
