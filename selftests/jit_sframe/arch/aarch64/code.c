// SPDX-License-Identifier: GPL-2.0
/*
 * Code made at run time, AArch64. Instructions are encoded as the Arm ARM (DDI
 * 0487), chapter C6, has them. DWARF register numbers: AADWARF64, table 2.
 */
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../assembler.h"

enum reg {
	W0 = 0, X0 = 0, X1, X2, X3, X8 = 8, W9, X10, X11, X12, X19 = 19, X28 = 28,
	FP, LR, SP, XZR = SP,
};

/* What comes before the first argument of a signal handler. */
#define UCONTEXT_AT		sizeof(siginfo_t)

/* Of enum perf_event_arm_regs. */
#define PERF_REG_ARM64_X28	28
#define PERF_REG_ARM64_SP	31

const __u64 code_regs_mask = 1ULL << PERF_REG_ARM64_X28 |
			     1ULL << PERF_REG_ARM64_SP;
const unsigned int code_reg_sp = 1, code_reg_frame = 0;

/* struct user_pt_regs */
const unsigned int code_bpf_ip = 32 * 8, code_bpf_sp = 31 * 8;

const enum shape code_shapes[] = {
	SHAPE_SP, SHAPE_DYNAMIC, SHAPE_SP_2, SHAPE_FP, SHAPE_SP_4,
	SHAPE_SIGNED_A, SHAPE_SIGNED_B,
};

const unsigned int code_nr_shapes = sizeof(code_shapes) / sizeof(*code_shapes);

/* A frame record may lie anywhere in its frame: it does not tell SP. */
const enum shape code_calls_native = SHAPE_FP;

bool code_signs_return_addresses(void)
{
	return getauxval(AT_HWCAP) & HWCAP_PACA;
}

const __u8 code_sframe_abi = 2;
const __s8 code_sframe_fixed_fp, code_sframe_fixed_ra;

/* LR, SP, PC, beyond all. */
const unsigned int code_bad_frame_regs[] = { LR, SP, 32, 0xffff };
const unsigned int code_nr_bad_frame_regs = 4;

static void emit(struct assembler *a, __u32 code)
{
	asm_emit(a, &code, sizeof(code));
}

/*
 *	movz w9,#spin
 * 1:	sub w9,w9,#1
 *	cbnz w9,1b
 *
 * No flags are changed, so this may stand anywhere. X9 is free everywhere.
 */
void arch_spin(struct assembler *a)
{
	asm_mark(a);
	emit(a, 0x52800000 | a->spin << 5 | W9);
	asm_mark(a);
	/* An emulator takes interrupts where a jump leads to. */
	a->fn->insns[a->fn->nr_insns - 1].spin = true;
	emit(a, 0x51000400 | W9 << 5 | W9);
	asm_mark(a);
	emit(a, 0x35ffffe0 | W9);
}

/* udf #0 */
void arch_trap(struct assembler *a)
{
	emit(a, 0);
}

static void insn(struct assembler *a, __u32 code)
{
	asm_insn(a, &code, sizeof(code));
}

/* stp r1,r2,[sp,#-size]! */
static void push_pair(struct assembler *a, enum reg r1, enum reg r2, __s32 size)
{
	insn(a, 0xa9800000 | (-size / 8 & 0x7f) << 15 | r2 << 10 | SP << 5 | r1);
	asm_moved(a, size);
}

/* ldp r1,r2,[sp],#size */
static void pop_pair(struct assembler *a, enum reg r1, enum reg r2, __s32 size)
{
	insn(a, 0xa8c00000 | (size / 8) << 15 | r2 << 10 | SP << 5 | r1);
	asm_moved(a, -size);
}

/* str from,[sp,#-16]! */
static void push(struct assembler *a, enum reg from)
{
	insn(a, 0xf81f0c00 | SP << 5 | from);
	asm_moved(a, 16);
}

/* ldr to,[sp],#16 */
static void pop(struct assembler *a, enum reg to)
{
	insn(a, 0xf8410400 | SP << 5 | to);
	asm_moved(a, -16);
}

/* str from,[base,#offset] */
static void store(struct assembler *a, enum reg from, enum reg base,
		  __u32 offset)
{
	insn(a, 0xf9000000 | (offset / 8) << 10 | base << 5 | from);
}

/* ldr to,[base,#offset] */
static void load(struct assembler *a, enum reg to, enum reg base, __u32 offset)
{
	insn(a, 0xf9400000 | (offset / 8) << 10 | base << 5 | to);
}

/* add to,from,#value, or sub if it is negative; "mov" where SP takes part */
static void add(struct assembler *a, enum reg to, enum reg from, __s32 value)
{
	__u32 code = value < 0 ? 0xd1000000 : 0x91000000;
	__u32 imm = value < 0 ? -value : value;

	/* More than 12 bits go in units of 4096. */
	if (imm >= 0x1000)
		code |= 1 << 22 | (imm >> 12) << 10;
	else
		code |= imm << 10;
	insn(a, code | from << 5 | to);
}

static void sub_sp(struct assembler *a, __s32 by)
{
	add(a, SP, SP, -by);
	asm_moved(a, by);
}

/* mov to,from: neither is SP */
static void mov(struct assembler *a, enum reg to, enum reg from)
{
	insn(a, 0xaa0003e0 | from << 16 | to);
}

/* add to,sp,x0,lsl #3 */
static void add_sp_x0(struct assembler *a, enum reg to)
{
	insn(a, 0x8b206c00 | X0 << 16 | SP << 5 | to);
}

static void ret(struct assembler *a)
{
	insn(a, 0xd65f0000 | LR << 5);
}

/* A jump forward, to where patch_jump() is called. */
static __u8 *jump(struct assembler *a, __u32 code)
{
	insn(a, code);
	return a->at - 4;
}

static __u8 *jump_if_0(struct assembler *a)
{
	return jump(a, 0x34000000 | W0);
}

static __u8 *jump_unless_0(struct assembler *a)
{
	return jump(a, 0x35000000 | W0);
}

static void patch_jump(struct assembler *a, __u8 *from)
{
	__u32 code;

	memcpy(&code, from, sizeof(code));
	code |= (__u32)(a->at - from) / 4 << 5;
	memcpy(from, &code, sizeof(code));
}

/* b to, or bl to */
static void branch(struct assembler *a, __u32 code, const void *to)
{
	__s64 rel;

	asm_lead_in(a);
	rel = (__s64)to - (__s64)a->at;
	emit(a, code | (rel / 4 & 0x3ffffff));
}

/* The frame record is at the frame's far end, as compilers put it. */
static void push_record(struct assembler *a, enum reg fp, __s32 size)
{
	push_pair(a, fp, LR, size);
	a->row.fp = -a->sp_to_cfa;
	a->row.ra = a->row.fp + 8;
}

static void pop_record(struct assembler *a, enum reg fp, __s32 size)
{
	a->row.base_fp = false;
	a->row.cfa = a->sp_to_cfa;
	pop_pair(a, fp, LR, size);
	a->row.fp = 0;
	a->row.ra = 0;
	a->framed = false;
}

/*
 *	cbz w0,1f
 *	sub x0,x0,#1
 *	bl callee
 *	add x0,x0,#1
 * 1:
 */
static void call_if_more(struct assembler *a, const void *callee)
{
	__u8 *out = jump_if_0(a);

	add(a, X0, X0, -1);
	branch(a, 0x94000000, callee);
	a->fn->return_offset = asm_offset(a);
	a->fn->call_depth = a->sp_to_cfa;
	add(a, X0, X0, 1);
	patch_jump(a, out);
}

/*
 *	stp x29,x30,[sp,#-32]!		CFA=sp+0		RA=lr
 *	str x19,[sp,#16]		CFA=sp+32		RA=c-24 FP=c-32
 *	sub sp,sp,#frame
 *	add x29,sp,x0,lsl #3		CFA=sp+32+frame
 *	...				a frame pointer that looks like one
 *	add sp,sp,#frame
 *	ldr x19,[sp,#16]		CFA=sp+32
 *	ldp x29,x30,[sp],#32
 *	ret				CFA=sp+0		RA=lr
 */
static void emit_frame(struct assembler *a, __s32 frame, const void *callee)
{
	push_record(a, FP, 32);
	store(a, X19, SP, 16);
	sub_sp(a, frame);
	add_sp_x0(a, FP);
	if (callee)
		call_if_more(a, callee);
	sub_sp(a, -frame);
	load(a, X19, SP, 16);
	pop_record(a, FP, 32);
}

static void emit_sp(struct assembler *a, __s32 frame, const void *callee)
{
	emit_frame(a, frame, callee);
	ret(a);
}

/*
 *	paciasp				CFA=sp+0		RA=lr
 *	stp x29,x30,[sp,#-32]!		CFA=sp+0		RA=lr, signed
 *	...				all rows are mangled
 *	ldp x29,x30,[sp],#32
 *	autiasp				CFA=sp+0		RA=lr, signed
 *	ret				CFA=sp+0		RA=lr
 *
 * Or pacibsp and autibsp.
 */
static void emit_signed(struct assembler *a, bool key_b, const void *callee)
{
	a->fn->pauth_key_b = key_b;
	insn(a, key_b ? 0xd503237f : 0xd503233f);
	a->row.mangled = true;
	emit_frame(a, 32, callee);
	insn(a, key_b ? 0xd50323ff : 0xd50323bf);
	a->row.mangled = false;
	ret(a);
}

/*
 *	stp x29,x30,[sp,#-16]!		CFA=sp+0		RA=lr
 *	mov x29,xzr			CFA=sp+16		RA=c-8 FP=c-16
 *	str x1,[sp,#-16]!
 *	str x1,[sp,#-16]!		CFA=sp+32
 *	cbnz w0,1f			CFA=sp+48
 *	ldr x2,[sp],#16
 *	ldr x2,[sp],#16			CFA=sp+32
 *	ldp x29,x30,[sp],#16		CFA=sp+16
 *	ret				CFA=sp+0		RA=lr
 * 1:	str x1,[sp,#-16]!		CFA=sp+48		RA=c-8 FP=c-16
 *	...				CFA=sp+64
 *	add sp,sp,#48
 *	ldp x29,x30,[sp],#16		CFA=sp+16
 *	ret				CFA=sp+0		RA=lr
 */
static void emit_dynamic(struct assembler *a, const void *callee)
{
	struct row row;
	__u8 *more;

	push_record(a, FP, 16);
	mov(a, FP, XZR);
	push(a, X1);
	push(a, X1);
	more = jump_unless_0(a);
	row = a->row;
	pop(a, X2);
	pop(a, X2);
	pop_record(a, FP, 16);
	ret(a);
	patch_jump(a, more);
	a->sp_to_cfa = 48;
	a->row = row;
	push(a, X1);
	if (callee)
		call_if_more(a, callee);
	sub_sp(a, -48);
	pop_record(a, FP, 16);
	ret(a);
}

/*
 *	stp x29,x30,[sp,#-48]!		CFA=sp+0		RA=lr
 *	mov x29,sp			CFA=sp+48		RA=c-40 FP=c-48
 *	str x19,[sp,#16]		CFA=x29+48		RA=c-40 FP=c-48
 *	sub sp,sp,#32
 *	add x19,sp,x0,lsl #3
 *	...
 *	mov sp,x29
 *	ldr x19,[sp,#16]
 *	ldp x29,x30,[sp],#48
 *	ret				CFA=sp+0		RA=lr
 */
static void emit_fp(struct assembler *a, const void *callee)
{
	push_record(a, FP, 48);
	add(a, FP, SP, 0);
	a->row.base_fp = true;
	a->framed = true;
	store(a, X19, SP, 16);
	sub_sp(a, 32);
	add_sp_x0(a, X19);
	if (callee)
		call_if_more(a, callee);
	add(a, SP, FP, 0);
	asm_moved(a, -32);
	load(a, X19, SP, 16);
	pop_record(a, FP, 48);
	ret(a);
}

/*
 *	mov x10,sp			CFA=sp+0		RA=lr
 *	sub x11,sp,#16			CFA=x10+0		RA=lr
 *	and sp,x11,#-64			CFA=x10+0		RA=lr
 *	stp x29,x30,[sp,#-16]!		CFA=x10+0		RA=lr
 *	mov x29,sp			CFA=x10+0   RA=*(sp+8)	FP=*(sp+0)
 *	str x10,[sp,#-16]!		CFA=x10+0   RA=*(x29+8)	FP=*(x29+0)
 *	sub sp,sp,#32			CFA=*(x29-16)
 *	...
 *	sub x10,x29,#16
 *	ldr x10,[x10]			CFA=*(x29-16)
 *	mov sp,x29			CFA=x10+0   RA=*(x29+8)	FP=*(x29+0)
 *	ldp x29,x30,[sp],#16		CFA=x10+0   RA=*(x29+8)	FP=*(x29+0)
 *	mov sp,x10			CFA=x10+0		RA=lr
 *	ret				CFA=sp+0		RA=lr
 *
 * A chain's CFAs are multiples of 64 where this function is the outermost, so
 * CFA - SP is known there: "and" makes the 16 bytes 64.
 */
static void emit_realigned(struct assembler *a, const void *callee)
{
	a->fn->flexible = true;
	FLEXIBLE(a, FLEX_REG(SP), 0);
	add(a, X10, SP, 0);
	FLEXIBLE(a, FLEX_REG(X10), 0);
	add(a, X11, SP, -16);
	insn(a, 0x927ae400 | X11 << 5 | SP);
	asm_moved(a, 64);
	push_pair(a, FP, LR, 16);
	FLEXIBLE(a, FLEX_REG(X10), 0, FLEX_REG_DEREF(SP), 8,
		 FLEX_REG_DEREF(SP), 0);
	add(a, FP, SP, 0);
	FLEXIBLE(a, FLEX_REG(X10), 0, FLEX_REG_DEREF(FP), 8,
		 FLEX_REG_DEREF(FP), 0);
	push(a, X10);
	FLEXIBLE(a, FLEX_REG_DEREF(FP), -16, FLEX_REG_DEREF(FP), 8,
		 FLEX_REG_DEREF(FP), 0);
	sub_sp(a, 32);
	if (callee)
		call_if_more(a, callee);
	add(a, X10, FP, -16);
	load(a, X10, X10, 0);
	FLEXIBLE(a, FLEX_REG(X10), 0, FLEX_REG_DEREF(FP), 8,
		 FLEX_REG_DEREF(FP), 0);
	add(a, SP, FP, 0);
	asm_moved(a, -48);
	pop_pair(a, FP, LR, 16);
	FLEXIBLE(a, FLEX_REG(X10), 0);
	add(a, SP, X10, 0);
	asm_moved(a, -64);
	FLEXIBLE(a, FLEX_REG(SP), 0);
	ret(a);
}

/*
 *	add x2,sp,x0,lsl #3		CFA=sp+0		RA=lr
 *	mov x3,x2
 *	ret
 */
static void emit_leaf(struct assembler *a)
{
	add_sp_x0(a, X2);
	mov(a, X3, X2);
	ret(a);
}

void arch_emit_shape(struct assembler *a, enum shape frame, const void *callee)
{
	switch (frame) {
	case SHAPE_SP:
		emit_sp(a, 32, callee);
		break;
	case SHAPE_SP_2:
		emit_sp(a, 0x400, callee);
		break;
	case SHAPE_SP_4:
		emit_sp(a, 0x9000, callee);
		break;
	case SHAPE_DYNAMIC:
		emit_dynamic(a, callee);
		break;
	case SHAPE_FP:
		emit_fp(a, callee);
		break;
	case SHAPE_REALIGNED:
		emit_realigned(a, callee);
		break;
	case SHAPE_SIGNED_A:
	case SHAPE_SIGNED_B:
		emit_signed(a, frame == SHAPE_SIGNED_B, callee);
		break;
	default:
		emit_leaf(a);
		break;
	}
}

/*
 *	stp x28,x30,[sp,#-16]!		CFA=sp+0		RA=lr
 *	mov x28,sp			CFA=sp+16		RA=c-8 FP=c-16
 *	sub sp,sp,#32			CFA=FP+16		RA=c-8 FP=c-16
 *	...
 *	mov sp,x28
 *	ldp x28,x30,[sp],#16
 *	ret				CFA=sp+0		RA=lr
 *
 * FP stands for X28 in all rows.
 */
void code_emit_frame_reg(struct function *fn, void *at, const void *callee,
			 __u32 spin)
{
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	push_record(&a, X28, 16);
	add(&a, X28, SP, 0);
	a.row.base_fp = true;
	sub_sp(&a, 32);
	call_if_more(&a, callee);
	add(&a, SP, X28, 0);
	asm_moved(&a, -32);
	pop_record(&a, X28, 16);
	ret(&a);
	asm_end(&a);
}

/*
 *	adr x11,1f
 *	b callee
 * 1:
 */
static void own_stack_call(struct assembler *a, const void *callee)
{
	__u8 *adr = jump(a, 0x10000000 | X11);

	branch(a, 0x14000000, callee);
	patch_jump(a, adr);
	a->fn->return_offset = asm_offset(a);
}

/*
 *	stp x28,x30,[sp,#-16]!		CFA=sp+0		RA=lr
 *	mov x28,x1			CFA=sp+16   RA=c-8	FP=c-16, of X28
 *	...
 *	ldp x28,x30,[sp],#16
 *	ret				CFA=sp+0		RA=lr
 */
void code_emit_enter_own_stack(struct function *fn, void *at,
			       const void *callee, __u32 spin)
{
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	fn->flexible = true;
	FLEXIBLE(&a, FLEX_REG(SP), 0);
	push_pair(&a, X28, LR, 16);
	FLEXIBLE(&a, FLEX_REG(SP), 16, FLEX_CFA_DEREF, -8, FLEX_CFA_DEREF, -16);
	mov(&a, X28, X1);
	own_stack_call(&a, callee);
	pop_pair(&a, X28, LR, 16);
	FLEXIBLE(&a, FLEX_REG(SP), 0);
	ret(&a);
	asm_end(&a);
}

/*
 *	str x11,[x28]			RA=x11
 *	add x28,x28,#8			RA=x11
 *	cbz w0,1f			RA=*(x28-8)	FP=x28-8
 *	sub x0,x0,#1
 *	...
 * 1:	sub x28,x28,#8			RA=*(x28-8)	FP=x28-8
 *	ldr x11,[x28]			RA=*(x28+0)
 *	ret x11				RA=x11
 *
 * FP stands for X28. CFA=sp+0 everywhere: the native stack stays as it is. What
 * LR holds is not looked at.
 */
void code_emit_own_stack(struct function *fn, void *at, const void *callee,
			 __u32 spin)
{
	struct assembler a;
	__u8 *out;

	asm_begin(&a, fn, at, spin);
	fn->flexible = true;
	fn->own_stack = true;
	fn->call_depth = -8;
	FLEXIBLE(&a, FLEX_REG(SP), 0, FLEX_REG(X11), 0);
	store(&a, X11, X28, 0);
	add(&a, X28, X28, 8);
	a.sp_to_cfa = -8;
	FLEXIBLE(&a, FLEX_REG(SP), 0, FLEX_REG_DEREF(X28), -8,
		 FLEX_REG(X28), -8);
	out = jump_if_0(&a);
	add(&a, X0, X0, -1);
	own_stack_call(&a, callee);
	patch_jump(&a, out);
	add(&a, X28, X28, -8);
	a.sp_to_cfa = 0;
	FLEXIBLE(&a, FLEX_REG(SP), 0, FLEX_REG_DEREF(X28), 0);
	load(&a, X11, X28, 0);
	FLEXIBLE(&a, FLEX_REG(SP), 0, FLEX_REG(X11), 0);
	insn(&a, 0xd65f0000 | X11 << 5);
	asm_end(&a);
}

unsigned int code_frame_reg(void)
{
	return X28;
}

#define BLOCK_SIZE	32

/*
 * Each block:
 *
 *	stp x29,x30,[sp,#-16]!		CFA=sp+0		RA=lr
 *	movz w9,#spin			CFA=sp+16		RA=c-8 FP=c-16
 * 1:	sub w9,w9,#1
 *	cbnz w9,1b
 *	ldp x29,x30,[sp],#16
 *	b to the next block		CFA=sp+0		RA=lr
 *
 * The last block returns instead.
 */
static void emit_block(struct assembler *a, bool last)
{
	__u32 turns = a->spin;

	a->spin = 0;
	push_record(a, FP, 16);
	a->spin = turns;
	if (turns)
		arch_spin(a);
	a->spin = 0;
	pop_record(a, FP, 16);
	if (last)
		ret(a);
	else
		branch(a, 0x14000000, (void *)(a->fn->start +
		       (asm_offset(a) / BLOCK_SIZE + 1) * BLOCK_SIZE));
	a->spin = turns;
	while (asm_offset(a) % BLOCK_SIZE)
		emit(a, 0xd503201f);
}

void code_emit_blocks(struct function *fn, void *at, unsigned int nr_blocks,
		      __u32 spin)
{
	struct assembler a;
	unsigned int i;

	asm_begin(&a, fn, at, spin);
	for (i = 0; i < nr_blocks; i++)
		emit_block(&a, i + 1 == nr_blocks);
	asm_end(&a);
	fn->rep_size = BLOCK_SIZE;
	/* The rows of the first block say it all. */
	while (fn->rows[fn->nr_rows - 1].start >= BLOCK_SIZE)
		fn->nr_rows--;
}

/*
 * handler(signal, info, context):
 *	stp x29,x30,[sp,#-16]!		CFA=sp+0		RA=lr
 *	mov x29,xzr			CFA=sp+16		RA=c-8 FP=c-16
 *	ldr x3,[x2,#pc]
 *	add x3,x3,#4
 *	str x3,[x2,#pc]
 *	ldp x29,x30,[sp],#16
 *	ret				CFA=sp+0		RA=lr
 */
void code_emit_handler(struct function *fn, void *at, __u32 spin)
{
	__u32 pc = offsetof(ucontext_t, uc_mcontext.pc);
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	push_record(&a, FP, 16);
	mov(&a, FP, XZR);
	load(&a, X3, X2, pc);
	add(&a, X3, X3, 4);
	store(&a, X3, X2, pc);
	/* From here on the context does not say what was interrupted. */
	a.unsettled = true;
	pop_record(&a, FP, 16);
	ret(&a);
	asm_end(&a);
}

/*
 *	nop				return address - 1 must be covered, too
 * entry:
 *	mov x8,#__NR_rt_sigreturn
 *	svc #0
 *
 * SP is at the siginfo, with the ucontext behind it: CFA=*(sp+sp's slot),
 * RA=*(sp+pc's slot), FP=*(sp+x29's slot), of type signal.
 */
void code_emit_sigreturn(struct function *fn, void *at, __u64 *entry)
{
	static const __s32 words[] = {
		FLEX_REG_DEREF(SP),
		UCONTEXT_AT + offsetof(ucontext_t, uc_mcontext.sp),
		FLEX_REG_DEREF(SP),
		UCONTEXT_AT + offsetof(ucontext_t, uc_mcontext.pc),
		FLEX_REG_DEREF(SP),
		UCONTEXT_AT + offsetof(ucontext_t, uc_mcontext.regs[FP]),
	};
	struct assembler a;

	asm_begin(&a, fn, at, 0);
	fn->flexible = true;
	fn->signal = true;
	asm_flexible(&a, words, 6);
	asm_mark(&a);
	emit(&a, 0xd503201f);
	emit(&a, 0xd2800000 | SYS_rt_sigreturn << 5 | X8);
	emit(&a, 0xd4000001);
	asm_end(&a);
	*entry = fn->start + 4;
}

/* The C library would have the vDSO's restorer put in place. */
int code_set_handler(int signal, __u64 handler, __u64 restorer)
{
	struct {
		__u64 handler;
		__u64 flags;
		__u64 restorer;
		__u64 mask;
	} action = {
		.handler = handler,
		.flags = SA_SIGINFO | SA_ONSTACK | 0x04000000, /* SA_RESTORER */
		.restorer = restorer,
	};

	return (int)syscall(SYS_rt_sigaction, signal, &action, NULL, 8);
}

/*
 *	ldr x0,[x1]
 *	ret
 */
void code_emit_touch(struct function *fn, void *at)
{
	struct assembler a;

	asm_begin(&a, fn, at, 0);
	load(&a, X0, X1, 0);
	ret(&a);
	asm_end(&a);
}

/*
 *	ldr x8,[x1]
 *	ldr x0,[x1,#8]
 *	ldr x2,[x1,#24]
 *	ldr x1,[x1,#16]
 *	svc #0
 *	ret
 */
void code_emit_syscall(struct function *fn, void *at)
{
	struct assembler a;

	asm_begin(&a, fn, at, 0);
	load(&a, X8, X1, 0);
	load(&a, X0, X1, 8);
	load(&a, X2, X1, 24);
	load(&a, X1, X1, 16);
	insn(&a, 0xd4000001);
	ret(&a);
	asm_end(&a);
}

/* A 64-bit program cannot make a 32-bit system call. */
bool code_compat_prctl(long option, long op, long *ret)
{
	return false;
}
