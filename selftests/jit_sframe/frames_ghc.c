// SPDX-License-Identifier: GPL-2.0
/*
 * Frames in the style of GHC: the frame pointer's register points to a stack of
 * continuations instead, on the heap; SP is the native stack's and stays as it is.
 * Native code is called from a C frame made for it, and enters such code again.
 *
 * A walk by frame pointers takes a continuation's frame for one of its own, and
 * goes astray: nothing but the rows says where that stack ends.
 */
#include "kselftest_harness.h"
#include "frames_expect.h"

#define NESTINGS	3
#define CASES		3
#define STACK_WORDS	128

FIXTURE(frames_ghc) {
	struct frames frames;
	struct verdicts verdicts;
	struct nesting nestings[NESTINGS];
	struct stacks stacks;
	__u64 control[STACK_WORDS];
};

FIXTURE_VARIANT(frames_ghc) {
	bool deferred;
};

FIXTURE_VARIANT_ADD(frames_ghc, immediate) {
	.deferred = false,
};

FIXTURE_VARIANT_ADD(frames_ghc, deferred) {
	.deferred = true,
};

/* What the innermost function of a nesting is: native code, or the end. */
static const struct function *make_last(struct _test_data_frames_ghc *self,
					unsigned int nesting)
{
	struct frames *frames = &self->frames;
	struct function *fn;

	if (nesting == NESTINGS - 1) {
		fn = frames_next(frames, WINDOW_CODE);
		frames_append(fn, &ghc_return, 0, 0, 0);
	} else {
		fn = frames_next(frames, WINDOW_STUBS);
		frames_append(fn, &ghc_native, WORD(&self->nestings[nesting]),
			      WORD(frames_native), 0);
	}
	return fn;
}

/* enter, cases, and what make_last() says. */
static void add_nesting(struct _test_data_frames_ghc *self, unsigned int nesting)
{
	const struct template *const cases[CASES] = {
		&ghc_case, &ghc_case, &ghc_case,
	};
	struct chain *chain = &self->frames.jit.chain;
	const struct function *last = make_last(self, nesting);
	const struct function *made[CASES];
	struct function *enter;
	unsigned int i;

	frames_make_calls(&self->frames, WINDOW_CODE, cases, CASES, last->start,
			  made);
	enter = frames_next(&self->frames, WINDOW_STUBS);
	frames_append(enter, &ghc_enter, made[0]->start, 0, 0);

	frames_add_level(chain, enter);
	for (i = 0; i < CASES; i++)
		frames_add_level(chain, made[i]);
	frames_add_level(chain, last);
	if (nesting < NESTINGS - 1)
		frames_add_native_levels(chain);
	if (nesting)
		self->nestings[nesting - 1].enter = (void *)enter->start;
}

FIXTURE_SETUP(frames_ghc)
{
	const char *missing = jit_missing();
	unsigned int i;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, frames_init(&self->frames, JIT_SFRAME_FRAME_REG |
				 JIT_SFRAME_NO_FP_FALLBACK, frames_fp));
	for (i = 0; i < NESTINGS; i++)
		add_nesting(self, i);
	ASSERT_EQ(0, frames_publish(&self->frames));
	self->stacks.control = self->control + STACK_WORDS;
	self->frames.jit.chain.address = WORD(&self->stacks);
}

FIXTURE_TEARDOWN(frames_ghc)
{
	if (self->frames.jit.text)
		frames_destroy(&self->frames);
}

TEST_F_TIMEOUT(frames_ghc, continuations_through_native_code, 300)
{
	verdicts_init(&self->verdicts, &self->frames.jit.chain,
		      variant->deferred ? "deferred" : "immediate");
	expect_frames_exact(_metadata, &self->frames, &self->verdicts, 1,
			    variant->deferred);
	EXPECT_LT(0, self->nestings[NESTINGS - 2].calls);
}

TEST_HARNESS_MAIN
