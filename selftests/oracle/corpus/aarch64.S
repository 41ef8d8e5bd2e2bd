/* SPDX-License-Identifier: MIT */
/* What compilers do not make on demand: outermost and signal frames, both signing keys, LR alone on the stack. */
	.text

outermost:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	bl	observe
	brk	#1
	.cfi_endproc

signal_trampoline:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_def_cfa x29, 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x8, #139
	svc	#0
	.cfi_endproc

signed_with_key_b:
	.cfi_startproc
	.cfi_b_key_frame
	hint	#27
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	.cfi_def_cfa_register x29
	bl	observe
	ldp	x29, x30, [sp], #32
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	hint	#31
	.cfi_negate_ra_state
	ret
	.cfi_endproc

link_register_alone:
	.cfi_startproc
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x30, -16
	bl	observe
	ldr	x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x30
	ret
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
