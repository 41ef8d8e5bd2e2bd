/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A chain of calls through code made at run time, whose every stack is known,
 * and the judgement of what was sampled in it.
 */
#ifndef _JIT_SFRAME_CHAIN_H
#define _JIT_SFRAME_CHAIN_H

#include "area.h"
#include "sampler.h"

#define MAX_LEVELS	40

/* Stacks printed because they are not exact. */
#define MAX_SHOWN	4

/**
 * struct level - a frame of a chain
 * @fn: the function
 * @cfa: its CFA; 0: not known beforehand
 * @return_to: where the next level returns to
 */
struct level {
	const struct function *fn;
	__u64 cfa;
	__u64 return_to;
};

/**
 * struct chain - what calls what, the outermost first
 * @levels: the frames
 * @nr_levels: number of them
 * @last: the level at which a walk is to end; -1: the native caller of all
 * @stack: memory the chain runs on, @stack_size bytes
 * @stack_top: CFA of the outermost level, a multiple of 64
 * @counter: what the outermost level gets as its first argument
 * @address: what the functions get as their second argument
 */
struct chain {
	struct level levels[MAX_LEVELS];
	unsigned int nr_levels;
	int last;
	void *stack;
	size_t stack_size;
	__u64 stack_top;
	__u64 counter;
	__u64 address;
};

/* Map a stack. 0 or a negative errno. */
int chain_init(struct chain *chain);
void chain_destroy(struct chain *chain);

/*
 * fns[0] calls fns[1] and so on, and the last calls the first again, down to
 * nr_levels frames.
 */
void chain_plan(struct chain *chain, const struct function *fns,
		unsigned int nr_fns, unsigned int nr_levels);
void chain_run(const struct chain *chain);

/**
 * struct verdicts - what became of the samples of one context
 * @context: for people
 * @samples: judged; the sum of the next three
 * @exact: equal to the truth, frame for frame
 * @shorter: the truth's first frames, but not all
 * @wrong: anything else
 * @astray: samples in states that the chain cannot be in: the test is broken
 * @hits: judged samples by level and instruction
 * @shown: stacks that were printed because they are not exact
 */
struct verdicts {
	const struct chain *chain;
	const char *context;
	__u64 samples, exact, shorter, wrong, astray;
	__u32 hits[MAX_LEVELS][MAX_INSNS];
	unsigned int shown;
};

void verdicts_init(struct verdicts *verdicts, const struct chain *chain,
		   const char *context);
/* A sampler_fn; arg: struct verdicts. */
void verdicts_judge(const struct sample *sample, void *arg);
void verdicts_judge_stack(struct verdicts *verdicts, __u64 ip, __u64 sp,
			  const __u64 *ips, __u64 nr);
/* "immediate: S samples in JIT code, E exact, H short, W wrong" */
void verdicts_print(const struct verdicts *verdicts);

#endif
