/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the test static_elf and the program it samples, static_elf_program.
 */
#ifndef _JIT_SFRAME_STATIC_ELF_H
#define _JIT_SFRAME_STATIC_ELF_H

#include <linux/types.h>

/* The descriptor that the program inherits the shared page by. */
#define STATIC_ELF_FD		3

enum { THREAD_MAIN, THREAD_CLONED, NR_THREADS };

/*
 * Functions of a thread, the outermost first, which the assembler code calls. It
 * has called the next one for good when there is anything to sample.
 */
enum static_elf_function {
	FN_START,
	FN_LOOP,
	FN_REGISTERS,
	FN_EARLY_RETURN,
	FN_LARGE,
	FN_VARIABLE,
	FN_ALIGNED,
	FN_LEAF,
	NR_FUNCTIONS,
};

/* What the program has come to. */
enum static_elf_state {
	STATIC_ELF_STARTING,
	STATIC_ELF_NO_SFRAME,		/* no segment for it, or an older version */
	STATIC_ELF_REFUSED,		/* by the kernel: @error */
	STATIC_ELF_RUNNING,
};

/**
 * struct static_elf_thread - a thread of the program
 * @tid: its number
 * @rounds: how often it has been through all functions
 * @return_to: where each function returns to, as it saw itself
 */
struct static_elf_thread {
	__s32 tid;
	__u64 rounds;
	__u64 return_to[NR_FUNCTIONS];
};

/**
 * struct static_elf_shared - a page that both have mapped
 * @state: an enum static_elf_state, stored last
 * @error: a negative errno
 * @threads: the threads
 */
struct static_elf_shared {
	__u32 state;
	__s32 error;
	struct static_elf_thread threads[NR_THREADS];
};

/* arch/<machine>/static_elf_program.S */
long program_syscall(long nr, long a, long b, long c, long d, long e, long f);
long program_spawn(unsigned long flags, void *stack_top);

/* Called by it, once each. */
void program_main_start(const unsigned long *stack);
void program_cloned_start(void);

/* And what they call, one another in this order. */
void program_loop(struct static_elf_thread *thread);
unsigned long program_registers(struct static_elf_thread *thread,
				unsigned long n);
unsigned long program_early_return(struct static_elf_thread *thread,
				   unsigned long n);
unsigned long program_large(struct static_elf_thread *thread, unsigned long n);
unsigned long program_variable(struct static_elf_thread *thread,
			       unsigned long n);
unsigned long program_aligned(struct static_elf_thread *thread, unsigned long n,
			      long c, long d, long e, long f, long g, long h,
			      long i);
unsigned long program_leaf(struct static_elf_thread *thread, unsigned long n);

#endif
