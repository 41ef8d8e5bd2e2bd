/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code made at run time, with what is true of it at each instruction.
 *
 * The interface is the same for every architecture; arch/<machine>/code.c
 * emits the instructions. Functions of a chain call one another; before each of
 * their instructions stands a short spin that touches neither flags nor stack,
 * so that a sample can hit every state of a frame, also where the machine (an
 * emulator, say) takes interrupts at jumps only.
 */
#ifndef _JIT_SFRAME_CODE_H
#define _JIT_SFRAME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define MAX_INSNS	192
#define MAX_ROWS	512
#define MAX_WORDS	6

/**
 * struct row - an SFrame row
 * @start: offset of the first instruction it is for
 * @base_fp: the CFA counts from FP, not from SP
 * @outermost: the return address is undefined
 * @mangled: the return address is signed
 * @cfa: CFA = base + cfa
 * @ra: the return address is at CFA + ra; 0: it is in the link register. Means
 *	nothing where code_sframe_fixed_ra says it for all rows.
 * @fp: the caller's FP is at CFA + fp; 0: FP still has the caller's value.
 *	Where rows have @ra, they have either both or none.
 * @nr_words: of a flexible row: number of @words, which stand for all the above
 * @words: control and offset words as they are in the section
 */
struct row {
	__u32 start;
	bool base_fp;
	bool outermost;
	bool mangled;
	__s32 cfa;
	__s32 ra;
	__s32 fp;
	__u8 nr_words;
	__s32 words[MAX_WORDS];
};

/**
 * struct insn - what is true in front of an instruction
 * @offset: of the instruction in its function
 * @sp_to_cfa: CFA - SP
 * @framed: a walk by frame pointers is right here
 * @unsettled: what a walk is to find depends on what the function did before
 * @spin: the spin in front of the instruction whose state this is
 */
struct insn {
	__u32 offset;
	__s32 sp_to_cfa;
	bool framed;
	bool unsettled;
	bool spin;
};

/**
 * struct function - a function: its text, its rows, the truth
 * @start: first byte
 * @size: in bytes
 * @rep_size: size of the repeated block of a PC-mask FDE, else 0
 * @signal: a signal frame
 * @pauth_key_b: return addresses are signed with key B, if at all
 * @flexible: rows are flexible
 * @no_rows: the FDE has no rows: outermost
 * @own_stack: return addresses are on a stack of the language's own, which
 *	code_frame_reg() points to: it takes SP's place in all that is said here
 * @native: no area describes it: it is walked by frame pointers
 * @nr_rows: number of @rows
 * @rows: in order
 * @nr_insns: number of @insns
 * @insns: in order
 * @return_offset: offset that its callee, or its signal handler, returns to
 * @call_depth: CFA - SP at its call, which makes the callee's CFA
 */
struct function {
	__u64 start;
	__u32 size;
	__u8 rep_size;
	bool signal;
	bool pauth_key_b;
	bool flexible;
	bool no_rows;
	bool own_stack;
	bool native;
	unsigned int nr_rows;
	struct row rows[MAX_ROWS];
	unsigned int nr_insns;
	struct insn insns[MAX_INSNS];
	__u32 return_offset;
	__s32 call_depth;
};

/* A function gets this much room for its text, spins included. */
#define CODE_SLOT	1024

/* What a function's frame looks like. */
enum shape {
	SHAPE_SP,	/* SP-based; FP is a general register */
	SHAPE_SP_2,	/* the same, offsets need 2-byte data words */
	SHAPE_SP_4,	/* the same, offsets need 4-byte data words */
	SHAPE_DYNAMIC,	/* SP-based, SP moves in the body; two epilogues */
	SHAPE_FP,	/* FP-based, as compilers make it */
	SHAPE_REALIGNED, /* the stack is realigned; needs flexible rows (DRAP) */
	SHAPE_SIGNED_A,	/* SP-based, the return address is signed, key A */
	SHAPE_SIGNED_B,	/* the same, key B */
	SHAPE_LEAF,	/* no frame at all; calls nothing */
};

/**
 * code_emit - make a function
 * @fn: set to what was made
 * @at: where, with room for CODE_SLOT bytes
 * @shape: its frame
 * @callee: the function it calls while the counter in the first argument
 *	register is not 0; the counter is one less for the callee
 * @spin: turns to spin in front of each instruction; 0: no spins
 */
void code_emit(struct function *fn, void *at, enum shape shape,
	       const void *callee, __u32 spin);

/* The shapes with a fixed frame that calls others, as this machine has them. */
extern const enum shape code_shapes[];
extern const unsigned int code_nr_shapes;

/* What a function has to look like that a walk is to reach from native code. */
extern const enum shape code_calls_native;

/* Whether signatures of return addresses show in them. */
bool code_signs_return_addresses(void);

/*
 * Special functions. Each takes the counter as above, and calls @callee if it
 * is not 0, unless said otherwise.
 */

/* FP-based with code_frame_reg() in place of FP; FP is left alone. */
void code_emit_frame_reg(struct function *fn, void *at, const void *callee,
			 __u32 spin);
/*
 * Return addresses on a stack apart from the native one. The first enters: it
 * has a native frame, and its second argument is where that stack starts. It
 * and the second call functions made by the second.
 */
void code_emit_enter_own_stack(struct function *fn, void *at,
			       const void *callee, __u32 spin);
void code_emit_own_stack(struct function *fn, void *at, const void *callee,
			 __u32 spin);
/* Blocks of one pattern, as a procedure linkage table has them; leaf. */
void code_emit_blocks(struct function *fn, void *at, unsigned int nr_blocks,
		      __u32 spin);
/*
 * As code_emit() makes it, but it calls nothing, and traps with SIGILL in front
 * of its nth instruction and that one's spin. False if it has none such.
 */
bool code_emit_trapping(struct function *fn, void *at, enum shape shape,
			unsigned int nth, __u32 spin);
/* A signal handler for the above: steps over the trap, spins before. */
void code_emit_handler(struct function *fn, void *at, __u32 spin);
/* What a signal handler returns to. *entry: the address for sa_restorer. */
void code_emit_sigreturn(struct function *fn, void *at, __u64 *entry);
/* A leaf that loads from the address in the second argument register. */
void code_emit_touch(struct function *fn, void *at);
/*
 * A leaf that makes a system call: the second argument register has the address
 * of four words, its number and three arguments.
 */
void code_emit_syscall(struct function *fn, void *at);

/*
 * Handle a signal with code made here, on the alternate stack if there is one;
 * 0 or -1 with errno.
 */
int code_set_handler(int signal, __u64 handler, __u64 restorer);

/* The DWARF number of the register code_emit_frame_reg() uses. */
unsigned int code_frame_reg(void);

/*
 * Calls entry(counter, address) with the stack pointer at stack_top, which is
 * the callee's CFA, and with a frame pointer that ends a walk. Its frame is the
 * last of every walk.
 */
void code_call_on_stack(__u64 entry, __u64 counter, __u64 address,
			__u64 stack_top);
extern const char code_call_on_stack_return[];

/* Registers that samples carry: sample_regs_user, and where each lands. */
#define CODE_NR_REGS	2
extern const __u64 code_regs_mask;
extern const unsigned int code_reg_sp, code_reg_frame;

/* Byte offsets in the registers a BPF perf_event program sees. */
extern const unsigned int code_bpf_ip, code_bpf_sp;

/* sfh_abi_arch, sfh_cfa_fixed_fp_offset, sfh_cfa_fixed_ra_offset */
extern const __u8 code_sframe_abi;
extern const __s8 code_sframe_fixed_fp, code_sframe_fixed_ra;

/* DWARF numbers of registers that no area may have as its frame register. */
extern const unsigned int code_bad_frame_regs[];
extern const unsigned int code_nr_bad_frame_regs;

/* prctl() by the 32-bit entry; false if there is none. */
bool code_compat_prctl(long option, long op, long *ret);

#endif
