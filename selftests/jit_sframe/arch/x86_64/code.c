// SPDX-License-Identifier: GPL-2.0
/*
 * Code made at run time, x86-64. DWARF register numbers: psABI, figure 3.36.
 */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../assembler.h"

#define DWARF_RAX	0
#define DWARF_RBP	6
#define DWARF_RSP	7
#define DWARF_R10	10
#define DWARF_R12	12

/*
 * Of enum perf_event_x86_regs. The UAPI header has the name of one inside the
 * kernel, which checkpatch would have a test include.
 */
#define PERF_REG_X86_SP		7
#define PERF_REG_X86_R12	20

const __u64 code_regs_mask = 1ULL << PERF_REG_X86_SP | 1ULL << PERF_REG_X86_R12;
const unsigned int code_reg_sp = 0, code_reg_frame = 1;

/* struct pt_regs: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi ... */
const unsigned int code_bpf_ip = 16 * 8, code_bpf_sp = 19 * 8;

const enum shape code_shapes[] = {
	SHAPE_SP, SHAPE_DYNAMIC, SHAPE_SP_2, SHAPE_FP, SHAPE_SP_4,
};

const unsigned int code_nr_shapes = sizeof(code_shapes) / sizeof(*code_shapes);

/* The frame record lies next to the CFA, so SP is known again. */
const enum shape code_calls_native = SHAPE_SP;

bool code_signs_return_addresses(void)
{
	return false;
}

const __u8 code_sframe_abi = 3;
const __s8 code_sframe_fixed_fp, code_sframe_fixed_ra = -8;

/* RSP, RIP, XMM0, beyond all. */
const unsigned int code_bad_frame_regs[] = { DWARF_RSP, 16, 17, 0xffff };
const unsigned int code_nr_bad_frame_regs = 4;

/*
 *	mov $spin,%ecx
 *	loop .
 *
 * LOOP changes no flags, so this may stand anywhere. RCX is free everywhere.
 */
void arch_spin(struct assembler *a)
{
	__u8 load[5] = { 0xb9 };
	static const __u8 loop[2] = { 0xe2, 0xfe };

	memcpy(load + 1, &a->spin, 4);
	asm_mark(a);
	asm_emit(a, load, sizeof(load));
	asm_mark(a);
	a->fn->insns[a->fn->nr_insns - 1].spin = true;
	asm_emit(a, loop, sizeof(loop));
}

/* ud2 */
void arch_trap(struct assembler *a)
{
	asm_emit(a, "\x0f\x0b", 2);
}

#define INSN(a, ...)						\
do {								\
	static const __u8 code_[] = { __VA_ARGS__ };		\
								\
	asm_insn(a, code_, sizeof(code_));			\
} while (0)

static void push_rbp(struct assembler *a)
{
	INSN(a, 0x55);
	asm_moved(a, 8);
	a->row.fp = -a->sp_to_cfa;
}

static void pop_rbp(struct assembler *a)
{
	INSN(a, 0x5d);
	a->row.base_fp = false;
	a->row.cfa = a->sp_to_cfa;
	asm_moved(a, -8);
	a->row.fp = 0;
	a->framed = false;
}

static void sub_rsp(struct assembler *a, __s32 by)
{
	__u8 code[7] = { 0x48, 0x81, 0xec };

	if (by < 0) {
		code[2] = 0xc4;	/* add */
		by = -by;
	}
	memcpy(code + 3, &by, 4);
	asm_insn(a, code, sizeof(code));
	asm_moved(a, code[2] == 0xec ? by : -by);
}

/*
 *	test %edi,%edi
 *	jz 1f
 *	dec %edi
 *	call callee
 *	inc %edi
 * 1:
 */
static void call_if_more(struct assembler *a, const void *callee)
{
	__u8 call[5] = { 0xe8 };
	__u8 *jump;
	__s32 rel;

	INSN(a, 0x85, 0xff);
	INSN(a, 0x74, 0x00);
	jump = a->at;
	INSN(a, 0xff, 0xcf);
	asm_lead_in(a);
	rel = (__s32)((__u64)callee - (__u64)(a->at + sizeof(call)));
	memcpy(call + 1, &rel, sizeof(rel));
	asm_emit(a, call, sizeof(call));
	a->fn->return_offset = asm_offset(a);
	a->fn->call_depth = a->sp_to_cfa;
	INSN(a, 0xff, 0xc7);
	jump[-1] = (__u8)(a->at - jump);
}

/*
 *	push %rbp			CFA=rsp+8
 *	push %rbx			CFA=rsp+16		FP=c-16
 *	sub $frame,%rsp			CFA=rsp+24		FP=c-16
 *	lea (%rsp,%rdi,8),%rbp		CFA=rsp+24+frame	FP=c-16
 *	...				a frame pointer that looks like one
 *	add $frame,%rsp
 *	pop %rbx			CFA=rsp+24		FP=c-16
 *	pop %rbp			CFA=rsp+16		FP=c-16
 *	ret				CFA=rsp+8
 */
static void emit_sp(struct assembler *a, __s32 frame, const void *callee)
{
	push_rbp(a);
	INSN(a, 0x53);
	asm_moved(a, 8);
	sub_rsp(a, frame);
	INSN(a, 0x48, 0x8d, 0x2c, 0xfc);
	if (callee)
		call_if_more(a, callee);
	sub_rsp(a, -frame);
	INSN(a, 0x5b);
	asm_moved(a, -8);
	pop_rbp(a);
	INSN(a, 0xc3);
}

/*
 *	push %rbp
 *	xor %ebp,%ebp			CFA=rsp+16		FP=c-16
 *	push $1				CFA=rsp+16
 *	push $1				CFA=rsp+24
 *	test %edi,%edi			CFA=rsp+32
 *	jnz 1f
 *	pop %rdx
 *	pop %rdx			CFA=rsp+24
 *	pop %rbp			CFA=rsp+16
 *	ret				CFA=rsp+8
 * 1:	push $1				CFA=rsp+32		FP=c-16
 *	...				CFA=rsp+40
 *	add $24,%rsp
 *	pop %rbp			CFA=rsp+16
 *	ret				CFA=rsp+8
 */
static void emit_dynamic(struct assembler *a, const void *callee)
{
	__s32 fp;
	__u8 *jump;

	push_rbp(a);
	fp = a->row.fp;
	INSN(a, 0x31, 0xed);
	INSN(a, 0x6a, 0x01);
	asm_moved(a, 8);
	INSN(a, 0x6a, 0x01);
	asm_moved(a, 8);
	INSN(a, 0x85, 0xff);
	INSN(a, 0x75, 0x00);
	jump = a->at;
	INSN(a, 0x5a);
	asm_moved(a, -8);
	INSN(a, 0x5a);
	asm_moved(a, -8);
	pop_rbp(a);
	INSN(a, 0xc3);
	jump[-1] = (__u8)(a->at - jump);
	asm_moved(a, 24);
	a->row.fp = fp;
	INSN(a, 0x6a, 0x01);
	asm_moved(a, 8);
	if (callee)
		call_if_more(a, callee);
	sub_rsp(a, -24);
	pop_rbp(a);
	INSN(a, 0xc3);
}

/*
 *	push %rbp			CFA=rsp+8
 *	mov %rsp,%rbp			CFA=rsp+16		FP=c-16
 *	push %rbx			CFA=rbp+16		FP=c-16
 *	sub $24,%rsp
 *	lea (%rsp,%rdi,8),%rbx
 *	...
 *	lea -8(%rbp),%rsp
 *	pop %rbx
 *	pop %rbp
 *	ret				CFA=rsp+8
 */
static void emit_fp(struct assembler *a, const void *callee)
{
	push_rbp(a);
	INSN(a, 0x48, 0x89, 0xe5);
	a->row.base_fp = true;
	a->framed = true;
	INSN(a, 0x53);
	asm_moved(a, 8);
	sub_rsp(a, 24);
	INSN(a, 0x48, 0x8d, 0x1c, 0xfc);
	if (callee)
		call_if_more(a, callee);
	INSN(a, 0x48, 0x8d, 0x65, 0xf8);
	asm_moved(a, -24);
	INSN(a, 0x5b);
	asm_moved(a, -8);
	pop_rbp(a);
	INSN(a, 0xc3);
}

/*
 *	lea 8(%rsp),%r10		CFA=rsp+8
 *	and $-64,%rsp			CFA=r10+0
 *	push -8(%r10)			CFA=r10+0
 *	push %rbp			CFA=r10+0
 *	mov %rsp,%rbp			CFA=r10+0	FP=*(rsp+0)
 *	push %r10			CFA=r10+0	FP=*(rbp+0)
 *	sub $24,%rsp			CFA=*(rbp-8)	FP=*(rbp+0)
 *	...
 *	mov -8(%rbp),%r10		CFA=*(rbp-8)	FP=*(rbp+0)
 *	leave				CFA=r10+0	FP=*(rbp+0)
 *	lea -8(%r10),%rsp		CFA=r10+0
 *	ret				CFA=rsp+8
 *
 * A chain's CFAs are multiples of 64 where this function is the outermost, so
 * CFA - SP is known there: "and" takes 56 bytes.
 */
static void emit_realigned(struct assembler *a, const void *callee)
{
	a->fn->flexible = true;
	FLEXIBLE(a, FLEX_REG(DWARF_RSP), 8);
	INSN(a, 0x4c, 0x8d, 0x54, 0x24, 0x08);
	FLEXIBLE(a, FLEX_REG(DWARF_R10), 0);
	INSN(a, 0x48, 0x83, 0xe4, 0xc0);
	asm_moved(a, 56);
	INSN(a, 0x41, 0xff, 0x72, 0xf8);
	asm_moved(a, 8);
	INSN(a, 0x55);
	asm_moved(a, 8);
	FLEXIBLE(a, FLEX_REG(DWARF_R10), 0, 0, FLEX_REG_DEREF(DWARF_RSP), 0);
	INSN(a, 0x48, 0x89, 0xe5);
	FLEXIBLE(a, FLEX_REG(DWARF_R10), 0, 0, FLEX_REG_DEREF(DWARF_RBP), 0);
	INSN(a, 0x41, 0x52);
	asm_moved(a, 8);
	FLEXIBLE(a, FLEX_REG_DEREF(DWARF_RBP), -8, 0,
		 FLEX_REG_DEREF(DWARF_RBP), 0);
	sub_rsp(a, 24);
	if (callee)
		call_if_more(a, callee);
	INSN(a, 0x4c, 0x8b, 0x55, 0xf8);
	FLEXIBLE(a, FLEX_REG(DWARF_R10), 0, 0, FLEX_REG_DEREF(DWARF_RBP), 0);
	INSN(a, 0xc9);
	asm_moved(a, -40);
	FLEXIBLE(a, FLEX_REG(DWARF_R10), 0);
	INSN(a, 0x49, 0x8d, 0x62, 0xf8);
	asm_moved(a, -64);
	FLEXIBLE(a, FLEX_REG(DWARF_RSP), 8);
	INSN(a, 0xc3);
}

/*
 *	lea (%rsp,%rdi,8),%rax		CFA=rsp+8
 *	mov %rax,%rdx
 *	ret
 */
static void emit_leaf(struct assembler *a)
{
	INSN(a, 0x48, 0x8d, 0x04, 0xfc);
	INSN(a, 0x48, 0x89, 0xc2);
	INSN(a, 0xc3);
}

void arch_emit_shape(struct assembler *a, enum shape frame, const void *callee)
{
	switch (frame) {
	case SHAPE_SP:
		emit_sp(a, 24, callee);
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
	default:
		emit_leaf(a);
		break;
	}
}

/*
 *	push %r12			CFA=rsp+8
 *	mov %rsp,%r12			CFA=rsp+16	FP=c-16
 *	sub $24,%rsp			CFA=FP+16	FP=c-16
 *	...
 *	mov %r12,%rsp
 *	pop %r12
 *	ret				CFA=rsp+8
 *
 * FP stands for R12 in all rows.
 */
void code_emit_frame_reg(struct function *fn, void *at, const void *callee,
			 __u32 spin)
{
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	INSN(&a, 0x41, 0x54);
	asm_moved(&a, 8);
	a.row.fp = -16;
	INSN(&a, 0x49, 0x89, 0xe4);
	a.row.base_fp = true;
	sub_rsp(&a, 24);
	call_if_more(&a, callee);
	INSN(&a, 0x4c, 0x89, 0xe4);
	asm_moved(&a, -24);
	INSN(&a, 0x41, 0x5c);
	a.row.base_fp = false;
	a.row.cfa = a.sp_to_cfa;
	asm_moved(&a, -8);
	a.row.fp = 0;
	INSN(&a, 0xc3);
	asm_end(&a);
}

/*
 *	lea 1f(%rip),%rax
 *	jmp callee
 * 1:
 */
static void own_stack_call(struct assembler *a, const void *callee)
{
	__u8 *after_lea;
	__u8 jump[5] = { 0xe9 };
	__s32 rel;

	INSN(a, 0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x00);
	after_lea = a->at;
	asm_lead_in(a);
	rel = (__s32)((__u64)callee - (__u64)(a->at + sizeof(jump)));
	memcpy(jump + 1, &rel, sizeof(rel));
	asm_emit(a, jump, sizeof(jump));
	rel = (__s32)(a->at - after_lea);
	memcpy(after_lea - 4, &rel, sizeof(rel));
	a->fn->return_offset = asm_offset(a);
}

/*
 *	push %r12			CFA=rsp+8
 *	mov %rsi,%r12			CFA=rsp+16	FP=*(c-16)
 *	...
 *	pop %r12
 *	ret				CFA=rsp+8
 */
void code_emit_enter_own_stack(struct function *fn, void *at,
			       const void *callee, __u32 spin)
{
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	fn->flexible = true;
	FLEXIBLE(&a, FLEX_REG(DWARF_RSP), 8);
	INSN(&a, 0x41, 0x54);
	asm_moved(&a, 8);
	FLEXIBLE(&a, FLEX_REG(DWARF_RSP), 16, 0, 2, -16);
	INSN(&a, 0x49, 0x89, 0xf4);
	own_stack_call(&a, callee);
	INSN(&a, 0x41, 0x5c);
	asm_moved(&a, -8);
	FLEXIBLE(&a, FLEX_REG(DWARF_RSP), 8);
	INSN(&a, 0xc3);
	asm_end(&a);
}

/*
 *	mov %rax,(%r12)			RA=rax
 *	add $8,%r12			RA=rax
 *	test %edi,%edi			RA=*(r12-8)	FP=r12-8
 *	jz 1f
 *	dec %edi
 *	...
 * 1:	sub $8,%r12			RA=*(r12-8)	FP=r12-8
 *	jmp *(%r12)			RA=*(r12+0)
 *
 * FP stands for R12. CFA=rsp+0 everywhere: the native stack stays as it is.
 */
void code_emit_own_stack(struct function *fn, void *at, const void *callee,
			 __u32 spin)
{
	struct assembler a;
	__u8 *jump;

	asm_begin(&a, fn, at, spin);
	fn->flexible = true;
	fn->own_stack = true;
	fn->call_depth = -8;
	a.sp_to_cfa = 0;
	FLEXIBLE(&a, FLEX_REG(DWARF_RSP), 0, FLEX_REG(DWARF_RAX), 0);
	INSN(&a, 0x49, 0x89, 0x04, 0x24);
	INSN(&a, 0x49, 0x83, 0xc4, 0x08);
	a.sp_to_cfa = -8;
	FLEXIBLE(&a, FLEX_REG(DWARF_RSP), 0, FLEX_REG_DEREF(DWARF_R12), -8,
		 FLEX_REG(DWARF_R12), -8);
	INSN(&a, 0x85, 0xff);
	INSN(&a, 0x74, 0x00);
	jump = a.at;
	INSN(&a, 0xff, 0xcf);
	own_stack_call(&a, callee);
	jump[-1] = (__u8)(a.at - jump);
	INSN(&a, 0x49, 0x83, 0xec, 0x08);
	a.sp_to_cfa = 0;
	FLEXIBLE(&a, FLEX_REG(DWARF_RSP), 0, FLEX_REG_DEREF(DWARF_R12), 0);
	INSN(&a, 0x41, 0xff, 0x24, 0x24);
	asm_end(&a);
}

unsigned int code_frame_reg(void)
{
	return DWARF_R12;
}

/*
 * Each block, 16 bytes:
 *
 *	push %rbp			CFA=rsp+8
 *	mov $spin,%ecx			CFA=rsp+16	FP=c-16
 *	loop .
 *	pop %rbp
 *	jmp to the next block		CFA=rsp+8
 *
 * The last block returns instead.
 */
static void emit_block(struct assembler *a, bool last)
{
	__u32 turns = a->spin;

	a->spin = 0;
	push_rbp(a);
	a->spin = turns;
	if (turns)
		arch_spin(a);
	a->spin = 0;
	pop_rbp(a);
	if (last)
		INSN(a, 0xc3);
	else
		INSN(a, 0xeb, 0x05);
	a->spin = turns;
	while (asm_offset(a) % 16)
		asm_emit(a, "\x90", 1);
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
	fn->rep_size = 16;
	/* The rows of the first block say it all. */
	while (fn->rows[fn->nr_rows - 1].start >= 16)
		fn->nr_rows--;
}

/*
 * handler(signal, info, context):
 *	push %rbp
 *	addq $2,rip(%rdx)
 *	pop %rbp
 *	ret
 */
void code_emit_handler(struct function *fn, void *at, __u32 spin)
{
	__u8 add[8] = { 0x48, 0x83, 0x82 };
	__u32 rip = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	push_rbp(&a);
	INSN(&a, 0x31, 0xed);
	memcpy(add + 3, &rip, 4);
	add[7] = 2;
	asm_insn(&a, add, sizeof(add));
	/* From here on the context does not say what was interrupted. */
	a.unsettled = true;
	pop_rbp(&a);
	INSN(&a, 0xc3);
	asm_end(&a);
}

/*
 *	nop				return address - 1 must be covered, too
 * entry:
 *	mov $__NR_rt_sigreturn,%eax
 *	syscall
 *
 * RSP is at the ucontext: CFA=*(rsp+rsp's slot), RA=*(rsp+rip's slot),
 * FP=*(rsp+rbp's slot), of type signal.
 */
void code_emit_sigreturn(struct function *fn, void *at, __u64 *entry)
{
	static const __u8 code[] = {
		0x90, 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
	};
	static const __s32 words[] = {
		FLEX_REG_DEREF(DWARF_RSP),
		offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]),
		FLEX_REG_DEREF(DWARF_RSP),
		offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]),
		FLEX_REG_DEREF(DWARF_RSP),
		offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]),
	};
	struct assembler a;

	asm_begin(&a, fn, at, 0);
	fn->flexible = true;
	fn->signal = true;
	asm_flexible(&a, words, 6);
	asm_mark(&a);
	asm_emit(&a, code, sizeof(code));
	asm_end(&a);
	*entry = fn->start + 1;
}

/* The C library would put a restorer of its own in place. */
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
 *	mov (%rsi),%rax
 *	ret
 */
void code_emit_touch(struct function *fn, void *at)
{
	struct assembler a;

	asm_begin(&a, fn, at, 0);
	INSN(&a, 0x48, 0x8b, 0x06);
	INSN(&a, 0xc3);
	asm_end(&a);
}

/*
 *	mov (%rsi),%rax
 *	mov 8(%rsi),%rdi
 *	mov 24(%rsi),%rdx
 *	mov 16(%rsi),%rsi
 *	syscall
 *	ret
 */
void code_emit_syscall(struct function *fn, void *at)
{
	struct assembler a;

	asm_begin(&a, fn, at, 0);
	INSN(&a, 0x48, 0x8b, 0x06);
	INSN(&a, 0x48, 0x8b, 0x7e, 0x08);
	INSN(&a, 0x48, 0x8b, 0x56, 0x18);
	INSN(&a, 0x48, 0x8b, 0x76, 0x10);
	INSN(&a, 0x0f, 0x05);
	INSN(&a, 0xc3);
	asm_end(&a);
}

static void note_sigsegv(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	/* int $0x80 is two bytes long. */
	uc->uc_mcontext.gregs[REG_RIP] += 2;
	uc->uc_mcontext.gregs[REG_RAX] = -38;
}

bool code_compat_prctl(long option, long op, long *ret)
{
	struct sigaction old, action = {
		.sa_sigaction = note_sigsegv,
		.sa_flags = SA_SIGINFO,
	};
	long result;

	/* Without 32-bit emulation the gate is not there: a fault. */
	sigaction(SIGSEGV, &action, &old);
	asm volatile("int $0x80"
		     : "=a" (result)
		     : "a" (172L), "b" (option), "c" (op), "d" (0L), "S" (0L),
		       "D" (0L)
		     : "memory", "r8", "r9", "r10", "r11");
	sigaction(SIGSEGV, &old, NULL);
	*ret = result;
	return result != -38;
}
