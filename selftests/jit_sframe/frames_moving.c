// SPDX-License-Identifier: GPL-2.0
/*
 * Frames whose size is not known before they are made: realigned stacks (DRAP)
 * and variable-size arrays (alloca). The CFA is found by the frame pointer, in a
 * slot of the frame, at the end of the frame, or in a callee-saved register.
 *
 * Each function calls the next one from frames of two sizes, which are different
 * ones each time it is called.
 */
#include "kselftest_harness.h"
#include "frames_expect.h"

#define MAX_FUNCTIONS_CHAINED	8

FIXTURE(frames_moving) {
	struct frames frames;
	struct verdicts verdicts;
};

FIXTURE_VARIANT(frames_moving) {
	bool deferred;
	bool saved_register;
	const struct template *fns[MAX_FUNCTIONS_CHAINED];
};

#define FRAME_POINTER							\
	{ &moving_fp, &moving_fp, &fixed, &moving_fp, &leaf }
#define SLOT								\
	{ &moving_slot, &moving_slot, &fixed, &moving_slot, &leaf }
#define REALIGNED							\
	{ &moving_aligned, &moving_aligned, &fixed, &moving_aligned, &leaf }
#define SAVED_REGISTER							\
	{ &fixed, &moving_reg, &moving_reg, &fixed, &moving_reg, &leaf }
#define MIXED								\
	{ &fixed, &moving_aligned, &moving_slot, &moving_fp, &leaf }

FIXTURE_VARIANT_ADD(frames_moving, frame_pointer_immediate) {
	.fns = FRAME_POINTER, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_moving, frame_pointer_deferred) {
	.fns = FRAME_POINTER, .deferred = true,
};

FIXTURE_VARIANT_ADD(frames_moving, slot_immediate) {
	.fns = SLOT, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_moving, slot_deferred) {
	.fns = SLOT, .deferred = true,
};

FIXTURE_VARIANT_ADD(frames_moving, realigned_immediate) {
	.fns = REALIGNED, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_moving, realigned_deferred) {
	.fns = REALIGNED, .deferred = true,
};

FIXTURE_VARIANT_ADD(frames_moving, saved_register_immediate) {
	.fns = SAVED_REGISTER, .saved_register = true, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_moving, saved_register_deferred) {
	.fns = SAVED_REGISTER, .saved_register = true, .deferred = true,
};

FIXTURE_VARIANT_ADD(frames_moving, mixed_immediate) {
	.fns = MIXED, .deferred = false,
};

FIXTURE_VARIANT_ADD(frames_moving, mixed_deferred) {
	.fns = MIXED, .deferred = true,
};

FIXTURE_SETUP(frames_moving)
{
	const struct function *made[MAX_FUNCTIONS_CHAINED];
	__u32 flags = JIT_SFRAME_NO_FP_FALLBACK;
	const char *missing = jit_missing();
	unsigned int i, nr = 0;

	if (missing)
		SKIP(return, "%s", missing);
	if (variant->saved_register)
		flags |= JIT_SFRAME_FRAME_REG;
	ASSERT_EQ(0, frames_init(&self->frames, flags,
				 variant->saved_register ? frames_callee_saved : 0));
	while (nr < MAX_FUNCTIONS_CHAINED && variant->fns[nr])
		nr++;
	frames_make_calls(&self->frames, WINDOW_CODE, variant->fns, nr, 0, made);
	for (i = 0; i < nr; i++)
		frames_add_level(&self->frames.jit.chain, made[i]);
	ASSERT_EQ(0, frames_publish(&self->frames));
}

FIXTURE_TEARDOWN(frames_moving)
{
	if (self->frames.jit.text)
		frames_destroy(&self->frames);
}

TEST_F_TIMEOUT(frames_moving, frames_of_any_size, 300)
{
	verdicts_init(&self->verdicts, &self->frames.jit.chain,
		      variant->deferred ? "deferred" : "immediate");
	expect_frames_exact(_metadata, &self->frames, &self->verdicts, 1,
			    variant->deferred);
}

TEST_HARNESS_MAIN
