/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What most tests need: text with a chain of functions in it, an area that
 * describes it, samplers of both contexts.
 */
#ifndef _JIT_SFRAME_JIT_H
#define _JIT_SFRAME_JIT_H

#include "area.h"
#include "chain.h"
#include "code.h"
#include "sampler.h"

#define MAX_FUNCTIONS	16

/* Text described by the area, and text behind it that stands for native code. */
#define JIT_TEXT_SIZE		(64UL << 10)
#define NATIVE_TEXT_SIZE	(16UL << 10)

/**
 * struct jit - a small JIT
 * @text: JIT_TEXT_SIZE + NATIVE_TEXT_SIZE bytes
 * @area: describes the first JIT_TEXT_SIZE bytes
 * @fns: the functions, fns[i] at jit_slot(jit, i)
 * @nr_fns: number of them
 * @chain: of all functions
 * @quiet: stacks are not meant to be exact: print none
 */
struct jit {
	__u8 *text;
	struct area area;
	struct function fns[MAX_FUNCTIONS];
	unsigned int nr_fns;
	struct chain chain;
	bool quiet;
};

/* Map text, area and stack; register nothing. 0 or a negative errno. */
int jit_init(struct jit *jit, __u32 flags);
void jit_destroy(struct jit *jit);

/* Where function i goes; the functions' order is that of their addresses. */
void *jit_slot(const struct jit *jit, unsigned int i);
void *jit_native_slot(const struct jit *jit, unsigned int i);

/* Emit functions that call one another in a ring, and plan the chain. */
void jit_emit(struct jit *jit, const enum shape *shapes, unsigned int nr,
	      unsigned int nr_levels, __u32 spin);
/* Publish all functions that are not native, by append. */
int jit_publish(struct jit *jit);
/* Register the area. 0 or a negative errno. */
int jit_register(struct jit *jit);

/* Why the tests cannot run on this kernel; NULL if they can. */
const char *jit_missing(void);

/* What share of the work to do, in percent: JIT_SFRAME_SHARE in environment. */
unsigned int jit_share(void);

__u64 now_ns(void);

/* Write a setting, as a shell's ">" does; false if it cannot be. */
bool write_file(const char *path, const char *value);

/* Run the chain again and again, for as long or a little longer. */
void jit_run(const struct jit *jit, __u64 ns);

/*
 * Run the chain under a sampler of this thread until so many samples have been
 * judged, or until the time is up. 0 or a negative errno.
 */
int jit_sample(struct jit *jit, struct verdicts *verdicts, bool deferred,
	       __u64 samples, unsigned int seconds);

#endif
