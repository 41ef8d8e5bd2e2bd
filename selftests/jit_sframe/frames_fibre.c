// SPDX-License-Identifier: GPL-2.0
/*
 * Fibres: code that runs on a stack from the heap, and switches to and from it in
 * the middle of a function.
 *
 * A walk that starts on a fibre ends at the fibre's base, by an outermost mark:
 * the frame pointer there leads to what looks like one frame more, and guessing
 * is allowed. In the switch, the stack is the old one up to the instruction that
 * sets SP, and the new one behind it.
 *
 *	fixed -> fibre_outside -> switch_out    | switch_back -> back outside
 *	base -> fixed -> fibre_inside           | the same, from inside
 */
#include <stdlib.h>

#include "kselftest_harness.h"
#include "frames_expect.h"

#define STACK_SIZE	(64UL << 10)

/* Where a switch is entered from, and which stack it is on. */
enum part {
	OUT_OLD,	/* switch_out on the native stack */
	OUT_NEW,	/* switch_out on the fibre's */
	BACK_OLD,	/* switch_back on the fibre's */
	BACK_NEW,	/* switch_back on the native stack */
	NR_PARTS,
};

/* The functions outside of the fibre, and in it. */
struct functions {
	const struct function *outer, *outside;
	const struct function *base, *middle, *inside;
	const struct function *switch_out, *switch_back;
};

FIXTURE(frames_fibre) {
	struct frames frames;
	struct functions fns;
	struct chain chains[NR_PARTS];
	struct verdicts verdicts[NR_PARTS];
	/* What is judged of a function in a chain, where that is not all of it. */
	struct function parts[NR_PARTS];
	struct function callers[6];
	unsigned int nr_callers;
	__u8 *stacks;
	__u64 native_sp, fibre_sp, unused_sp;
};

FIXTURE_VARIANT(frames_fibre) {
	bool deferred;
	bool below;	/* the fibre's stack is below the native one */
	bool anew;	/* each switch starts a fibre; else one goes on */
};

FIXTURE_VARIANT_ADD(frames_fibre, below_anew_immediate) {
	.below = true, .anew = true, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_fibre, below_anew_deferred) {
	.below = true, .anew = true, .deferred = true,
};

FIXTURE_VARIANT_ADD(frames_fibre, below_resumed_immediate) {
	.below = true, .anew = false, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_fibre, below_resumed_deferred) {
	.below = true, .anew = false, .deferred = true,
};

FIXTURE_VARIANT_ADD(frames_fibre, above_anew_immediate) {
	.below = false, .anew = true, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_fibre, above_anew_deferred) {
	.below = false, .anew = true, .deferred = true,
};

FIXTURE_VARIANT_ADD(frames_fibre, above_resumed_immediate) {
	.below = false, .anew = false, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_fibre, above_resumed_deferred) {
	.below = false, .anew = false, .deferred = true,
};

/*
 * What the first switch to a fibre finds on its stack, below a record that a walk
 * by frame pointers would take for the base's. Returns the stack pointer.
 */
static __u64 prepare_stack(__u8 *top, __u64 entry)
{
	__u64 *record = (__u64 *)(top - 64);
	__u64 *sp = record - 8 - frames_switch_words;

	/* 16 bytes aligned where the switch has it. */
	sp = (__u64 *)(WORD(sp) & ~15UL);
	record[0] = 0;
	record[1] = entry;
	sp[frames_switch_ra] = entry;
	sp[frames_switch_fp] = WORD(record);
	return WORD(sp);
}

static const struct function *make(struct frames *frames,
				   const struct template *from, __u64 callee,
				   __u64 hole1, __u64 hole2)
{
	struct function *fn = frames_next(frames, WINDOW_CODE);

	frames_append(fn, from, callee, hole1, hole2);
	return fn;
}

static void make_functions(struct _test_data_frames_fibre *self, bool anew,
			   __u8 *fibre_top)
{
	struct frames *frames = &self->frames;
	struct functions *fns = &self->fns;

	fns->switch_out = make(frames, &fibre_switch, WORD(&self->native_sp),
			       WORD(&self->fibre_sp), 0);
	fns->switch_back = make(frames, &fibre_switch, WORD(&self->fibre_sp),
				WORD(&self->native_sp), 0);
	fns->inside = make(frames, &fibre_inside, fns->switch_back->start, 0, 0);
	fns->middle = make(frames, &fixed, fns->inside->start, 0, 0);
	fns->base = make(frames, &fibre_base, fns->middle->start, 0, 0);
	self->fibre_sp = prepare_stack(fibre_top,
				       fns->base->start + fibre_base.entry);
	fns->outside = make(frames, &fibre_outside, fns->switch_out->start,
			    WORD(anew ? &self->fibre_sp : &self->unused_sp),
			    self->fibre_sp);
	fns->outer = make(frames, &fixed, fns->outside->start, 0, 0);
}

/* A level of which nothing is judged here: another chain has its places. */
static void add_caller(struct _test_data_frames_fibre *self,
		       struct chain *chain, const struct function *fn)
{
	struct function *caller = &self->callers[self->nr_callers++];

	*caller = *fn;
	caller->nr_insns = 0;
	frames_add_level(chain, caller);
}

/* The switch is the last level of each chain; one part of it is judged there. */
static void add_switch(struct _test_data_frames_fibre *self, enum part part)
{
	bool out = part == OUT_OLD || part == OUT_NEW;
	__u32 side = part == OUT_NEW || part == BACK_NEW;

	self->parts[part] = out ? *self->fns.switch_out : *self->fns.switch_back;
	frames_keep_side(&self->parts[part], &fibre_switch, side);
	frames_add_level(&self->chains[part], &self->parts[part]);
}

static void plan_native_side(struct _test_data_frames_fibre *self)
{
	struct chain *chain = &self->chains[OUT_OLD];

	frames_add_level(chain, self->fns.outer);
	frames_add_level(chain, self->fns.outside);
	add_switch(self, OUT_OLD);

	chain = &self->chains[BACK_NEW];
	add_caller(self, chain, self->fns.outer);
	add_caller(self, chain, self->fns.outside);
	add_switch(self, BACK_NEW);
}

/* A level that is left for good when it has called. */
static void add_left(struct _test_data_frames_fibre *self, struct chain *chain,
		     const struct function *fn)
{
	struct function *left = &self->callers[self->nr_callers++];

	*left = *fn;
	while (left->insns[left->nr_insns - 1].offset >= left->return_offset)
		left->nr_insns--;
	frames_add_level(chain, left);
}

/* Each switch away is from a fibre that has just begun, and the last of it. */
static void plan_fibre_anew(struct _test_data_frames_fibre *self)
{
	struct chain *chain = &self->chains[OUT_NEW];

	add_caller(self, chain, self->fns.base);
	chain->levels[0].return_to = self->fns.base->start + fibre_base.entry;
	add_switch(self, OUT_NEW);

	chain = &self->chains[BACK_OLD];
	add_left(self, chain, self->fns.base);
	add_left(self, chain, self->fns.middle);
	add_left(self, chain, self->fns.inside);
	add_switch(self, BACK_OLD);
}

/* The fibre's outer functions have called, once and for all. */
static void plan_fibre_resumed(struct _test_data_frames_fibre *self)
{
	struct chain *chain = &self->chains[OUT_NEW];

	add_caller(self, chain, self->fns.base);
	add_caller(self, chain, self->fns.middle);
	self->chains[BACK_OLD] = *chain;
	add_caller(self, chain, self->fns.inside);
	add_switch(self, OUT_NEW);

	frames_add_level(&self->chains[BACK_OLD], self->fns.inside);
	add_switch(self, BACK_OLD);
}

FIXTURE_SETUP(frames_fibre)
{
	const char *missing = jit_missing();
	struct chain *run = &self->frames.jit.chain;
	__u8 *native_top, *fibre_top;

	if (missing)
		SKIP(return, "%s", missing);
	/* Frame pointers may be followed where no row says anything. */
	ASSERT_EQ(0, frames_init(&self->frames, 0, 0));
	self->stacks = aligned_alloc(64, 2 * STACK_SIZE);
	ASSERT_NE(NULL, self->stacks);
	fibre_top = self->stacks + (variant->below ? 1 : 2) * STACK_SIZE;
	native_top = self->stacks + (variant->below ? 2 : 1) * STACK_SIZE;

	make_functions(self, variant->anew, fibre_top);
	plan_native_side(self);
	self->chains[OUT_OLD].last = -1;
	self->chains[BACK_NEW].last = -1;
	if (variant->anew)
		plan_fibre_anew(self);
	else
		plan_fibre_resumed(self);
	ASSERT_EQ(0, frames_publish(&self->frames));

	frames_add_level(run, self->fns.outer);
	run->stack_top = WORD(native_top - 256);
	/* A fibre that is to go on has to be there. */
	if (!variant->anew)
		chain_run(run);
}

FIXTURE_TEARDOWN(frames_fibre)
{
	if (self->frames.jit.text)
		frames_destroy(&self->frames);
	free(self->stacks);
}

static void begin_verdicts(struct _test_data_frames_fibre *self, bool deferred)
{
	static const char *const contexts[NR_PARTS][2] = {
		[OUT_OLD] = { "outside, immediate", "outside, deferred" },
		[OUT_NEW] = { "to the fibre, immediate", "to the fibre, deferred" },
		[BACK_OLD] = { "inside, immediate", "inside, deferred" },
		[BACK_NEW] = { "back outside, immediate", "back outside, deferred" },
	};
	enum part part;

	for (part = 0; part < NR_PARTS; part++)
		verdicts_init(&self->verdicts[part], &self->chains[part],
			      contexts[part][deferred]);
}

/* All four parts, at each instruction of the switch. */
TEST_F_TIMEOUT(frames_fibre, walk_ends_at_the_base, 300)
{
	begin_verdicts(self, variant->deferred);
	expect_frames_exact(_metadata, &self->frames, self->verdicts, NR_PARTS,
			    variant->deferred);
}

/* The judge can tell: without the mark, the walk goes on to what is no frame. */
TEST_F_TIMEOUT(frames_fibre, unmarked_base_is_guessed, 300)
{
	struct frames_sample sample = {
		.verdicts = self->verdicts,
		.nr_verdicts = NR_PARTS,
		.deferred = variant->deferred,
		.enough = 200,
	};
	struct verdicts *inside = &self->verdicts[BACK_OLD];

	ASSERT_EQ(0, area_retire(&self->frames.jit.area, self->fns.base->start));
	begin_verdicts(self, variant->deferred);
	inside->shown = MAX_SHOWN;
	self->verdicts[OUT_NEW].shown = MAX_SHOWN;
	ASSERT_EQ(0, frames_sample(&self->frames, &sample, FRAMES_SECONDS));
	EXPECT_EQ(0, self->verdicts[OUT_OLD].wrong);
	EXPECT_LT(0, inside->samples);
	EXPECT_LT(inside->samples / 2, inside->wrong);
}

TEST_HARNESS_MAIN
