/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A JIT that copies templates: code that was assembled with its rows and places
 * (frames_template.S) and is strung together at run time.
 *
 * Every function has one caller, so that an address alone says what the stack
 * above it is. That is the truth samples are judged by.
 */
#ifndef _JIT_SFRAME_FRAMES_H
#define _JIT_SFRAME_FRAMES_H

#include "jit.h"

#define MAX_HOLES	3

/* Left by the macro RULE: a flexible row. */
struct template_row {
	__u32 start;
	__u32 nr_words;
	__s32 words[MAX_WORDS];
};

/* Left by PLACE: an instruction, whether it spins, and which stack is in use. */
struct template_place {
	__u32 offset;
	__u32 spin;
	__u32 side;
};

/**
 * struct template - code to be copied; made by the macro END
 * @text: @size bytes, a multiple of 8
 * @rows: @nr_rows of them
 * @places: @nr_places of them
 * @entry: offset at which it is entered
 * @return_offset: offset that its callee returns to; 0: it calls nothing
 * @holes: offsets of words to be filled in; 0: no more of them
 */
struct template {
	const __u8 *text;
	const struct template_row *rows;
	const struct template_place *places;
	__u32 size, nr_rows, nr_places;
	__u32 entry, return_offset;
	__u32 holes[MAX_HOLES];
};

/* arch/<machine>/frames.S */
extern const struct template forth_enter, forth_begin, forth_end, forth_call,
			     forth_call_r, forth_literal, forth_dup, forth_drop,
			     forth_add, forth_multiply, forth_to_r,
			     forth_r_from, forth_native;
extern const struct template ghc_enter, ghc_case, ghc_return, ghc_native;
extern const struct template moving_fp, moving_slot, moving_reg, moving_aligned;
extern const struct template fixed, leaf;
extern const struct template fibre_outside, fibre_switch, fibre_base,
			     fibre_inside;

/* DWARF numbers: a callee-saved register that is no frame pointer, and FP. */
extern const __u32 frames_callee_saved, frames_fp;

/*
 * What fibre_switch finds on the stack it switches to: words in all, and which of
 * them are the return address and FP.
 */
extern const __u32 frames_switch_words, frames_switch_ra, frames_switch_fp;

/* An argument for a hole. */
#define WORD(value)	((__u64)(unsigned long)(value))

/* Copy a template behind what there is, and fill in its holes in order. */
void frames_append(struct function *fn, const struct template *from,
		   __u64 hole0, __u64 hole1, __u64 hole2);

/* Of a function of one template: forget the places that are not on this side. */
void frames_keep_side(struct function *fn, const struct template *from,
		      __u32 side);

#define MAX_FRAMES_FUNCTIONS	24

/**
 * struct frames - a JIT with two windows of code
 * @jit: its area describes what keeps its return addresses in a way of its own,
 *	or addresses its frames by a register of its own
 * @stubs: describes the way in and the way out, behind the text of @jit
 * @fns: the functions, of either window
 * @nr_fns: number of them
 * @next: where the next function of each window goes
 */
struct frames {
	struct jit jit;
	struct area stubs;
	struct function fns[MAX_FRAMES_FUNCTIONS];
	unsigned int nr_fns;
	void *next[2];
};

enum window { WINDOW_CODE, WINDOW_STUBS };

/* 0 or a negative errno; @frame_reg: of WINDOW_CODE, with the flag for it. */
int frames_init(struct frames *frames, __u32 flags, unsigned int frame_reg);
void frames_destroy(struct frames *frames);
/* The next function of a window, of no code yet; its start is set. */
struct function *frames_next(struct frames *frames, enum window window);
/*
 * Functions of one template each, the first of which calls the second and so on,
 * and the last one @callee. @made: set to them.
 */
void frames_make_calls(struct frames *frames, enum window window,
		       const struct template *const *from, unsigned int nr,
		       __u64 callee, const struct function **made);
/* Publish all functions, of both windows, and register both. */
int frames_publish(struct frames *frames);
/* One level more, called by the last one. */
void frames_add_level(struct chain *chain, const struct function *fn);

/**
 * struct frames_sample - samples to be taken
 * @verdicts: one for each chain that samples are judged by
 * @nr_verdicts: number of them
 * @deferred: the context
 * @enough: samples to take in all, at least one for each chain
 * @all: go on until every spin of every level has been sampled
 * @samples: set to what was judged in all
 * @missed: set to the number of spins that have not been sampled
 */
struct frames_sample {
	struct verdicts *verdicts;
	unsigned int nr_verdicts;
	bool deferred;
	__u64 enough;
	bool all;
	__u64 samples;
	unsigned int missed;
};

/* Run the chain of @frames under a sampler. 0 or a negative errno. */
int frames_sample(struct frames *frames, struct frames_sample *sample,
		  unsigned int seconds);

/**
 * struct stacks - a language's own stacks
 * @data: top of that for operands
 * @control: top of that for return addresses
 */
struct stacks {
	__u64 *data;
	__u64 *control;
};

/**
 * struct nesting - what native code that JIT code called is to call in turn
 * @enter: the way into JIT code; 0: nothing to call
 * @calls: times it was called
 */
struct nesting {
	void (*enter)(__u64 unused, struct stacks *stacks);
	__u64 calls;
};

/*
 * Native code with frame pointers, two functions deep: enters JIT code on the
 * same stacks, below what is on them. Returns the top of the operands.
 */
__u64 *frames_native(struct nesting *nesting, __u64 *data, __u64 *control);

/* The levels of frames_native(): where the two functions are returned to. */
void frames_add_native_levels(struct chain *chain);

#endif
