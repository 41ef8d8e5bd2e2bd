// SPDX-License-Identifier: GPL-2.0
/*
 * A program without a C library, so that all of its code has been assembled with
 * SFrame V3, and without frame pointers. It finds its own .sframe, as a loader
 * would, hands it over to the kernel, and runs two threads until it is killed.
 *
 * Each thread is a chain of functions, each of which is called from one place and
 * notes where it returns to. They are not static: a compiler would tailor them to
 * that place, under another name. Built with -fno-inline and
 * -fno-optimize-sibling-calls: every one of them has a frame.
 */
#include <stdalign.h>
#include <stddef.h>
#include <linux/auxvec.h>
#include <linux/elf.h>
#include <linux/jit_sframe.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <asm/unistd.h>

#include "static_elf.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME		0x6474e554
#endif

/* The first three bytes of a section: magic and version. */
#define SFRAME_V3		0x03dee2

#define THREAD_STACK_SIZE	65536

static struct static_elf_shared *shared;
static alignas(16) __u8 thread_stack[THREAD_STACK_SIZE];

#define NOTE(thread, function)						\
	((thread)->return_to[function] =				\
	 (unsigned long)__builtin_return_address(0))

/* All of an array may be read by somebody. */
#define ESCAPE(array)	({ asm volatile("" : : "r" (array) : "memory"); })

/* Something to be sampled in. */
static unsigned long work(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < 50; i++)
		asm volatile("" : "+r" (n));
	return n;
}

unsigned long program_leaf(struct static_elf_thread *thread, unsigned long n)
{
	unsigned long i;

	NOTE(thread, FN_LEAF);
	for (i = 0; i < 50; i++)
		asm volatile("" : "+r" (n));
	return n;
}

/* Aligned to more than the stack is, with arguments above that. */
unsigned long program_aligned(struct static_elf_thread *thread, unsigned long n,
			      long c, long d, long e, long f, long g, long h,
			      long i)
{
	alignas(64) unsigned long array[8];

	NOTE(thread, FN_ALIGNED);
	ESCAPE(array);
	n += program_leaf(thread, work(n)) + c + d + e + f + g + h + i;
	ESCAPE(array);
	return work(n);
}

unsigned long program_variable(struct static_elf_thread *thread, unsigned long n)
{
	unsigned long array[(n & 31) + 1];

	NOTE(thread, FN_VARIABLE);
	ESCAPE(array);
	n += program_aligned(thread, work(n), n, n, n, n, n, n, n);
	ESCAPE(array);
	return work(n);
}

/* Offsets of more than two bytes. */
unsigned long program_large(struct static_elf_thread *thread, unsigned long n)
{
	unsigned long array[5000];

	NOTE(thread, FN_LARGE);
	ESCAPE(array);
	n += program_variable(thread, work(n));
	ESCAPE(array);
	return work(n);
}

unsigned long program_early_return(struct static_elf_thread *thread,
				   unsigned long n)
{
	NOTE(thread, FN_EARLY_RETURN);
	if (n & 1)
		return work(n);
	n += program_large(thread, work(n));
	return work(n);
}

/* More variables than a call leaves alone without saving registers for them. */
unsigned long program_registers(struct static_elf_thread *thread, unsigned long n)
{
	unsigned long a = work(n), b = work(a), c = work(b);
	unsigned long d = work(c), e = work(d), f = work(e);

	NOTE(thread, FN_REGISTERS);
	n = program_early_return(thread, f);
	return work(n) + a + b + c + d + e + f;
}

void program_loop(struct static_elf_thread *thread)
{
	unsigned long n;

	NOTE(thread, FN_LOOP);
	for (n = 0;; n++) {
		program_registers(thread, n);
		thread->rounds++;
	}
}

static long map_shared(void)
{
	return program_syscall(__NR_mmap, 0, sizeof(*shared),
			       PROT_READ | PROT_WRITE, MAP_SHARED,
			       STATIC_ELF_FD, 0);
}

static const unsigned long *find_auxv(const unsigned long *stack)
{
	const unsigned long *at = stack + 1 + stack[0] + 1;

	while (*at)
		at++;
	return at + 1;
}

static unsigned long find_aux(const unsigned long *auxv, unsigned long type)
{
	for (; *auxv; auxv += 2) {
		if (*auxv == type)
			return auxv[1];
	}
	return 0;
}

static const struct elf64_phdr *find_segment(const unsigned long *auxv,
					     __u32 type, __u32 flags)
{
	const struct elf64_phdr *segment = (void *)find_aux(auxv, AT_PHDR);
	unsigned long i, nr = find_aux(auxv, AT_PHNUM);

	for (i = 0; i < nr; i++, segment++) {
		if (segment->p_type == type &&
		    (segment->p_flags & flags) == flags)
			return segment;
	}
	return NULL;
}

/* The program is linked to where it runs. */
static enum static_elf_state hand_over(const unsigned long *auxv)
{
	const struct elf64_phdr *text = find_segment(auxv, PT_LOAD, PF_X);
	const struct elf64_phdr *sframe = find_segment(auxv, PT_GNU_SFRAME, 0);
	struct jit_sframe_register area = {
		.flags = JIT_SFRAME_STATIC | JIT_SFRAME_NO_FP_FALLBACK,
	};

	if (!text || !sframe || sframe->p_memsz < 4 ||
	    (*(__u32 *)sframe->p_vaddr & 0xffffff) != SFRAME_V3)
		return STATIC_ELF_NO_SFRAME;
	area.area = sframe->p_vaddr;
	area.area_size = sframe->p_memsz;
	area.text_start = text->p_vaddr;
	area.text_size = text->p_memsz;
	shared->error = (__s32)program_syscall(__NR_prctl, PR_JIT_SFRAME,
					       JIT_SFRAME_REGISTER, (long)&area,
					       sizeof(area), 0, 0);
	return shared->error ? STATIC_ELF_REFUSED : STATIC_ELF_RUNNING;
}

static void start(const unsigned long *stack)
{
	enum static_elf_state state = hand_over(find_auxv(stack));
	struct static_elf_thread *threads = shared->threads;

	threads[THREAD_MAIN].tid =
		(__s32)program_syscall(__NR_gettid, 0, 0, 0, 0, 0, 0);
	threads[THREAD_CLONED].tid =
		(__s32)program_spawn(CLONE_VM | CLONE_FS | CLONE_FILES |
				     CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
				     thread_stack + THREAD_STACK_SIZE);
	__atomic_store_n(&shared->state, state, __ATOMIC_RELEASE);
}

void program_main_start(const unsigned long *stack)
{
	long address = map_shared();

	if (address < 0 && address > -4096)
		program_syscall(__NR_exit_group, 1, 0, 0, 0, 0, 0);
	shared = (struct static_elf_shared *)address;
	NOTE(&shared->threads[THREAD_MAIN], FN_START);
	start(stack);
	program_loop(&shared->threads[THREAD_MAIN]);
}

void program_cloned_start(void)
{
	NOTE(&shared->threads[THREAD_CLONED], FN_START);
	program_loop(&shared->threads[THREAD_CLONED]);
}
