// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that are not a plain function's: outermost ones, signal frames,
 * PC-mask and flexible FDEs, a frame register of the code's own, functions that
 * no table speaks of, native code between JIT code.
 */
#include <signal.h>

#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

#define SPIN		20
#define SAMPLES		400
#define SECONDS		60

FIXTURE(special_frames) {
	struct jit jit;
	struct verdicts verdicts;
};

FIXTURE_VARIANT(special_frames) {
	bool deferred;
};

FIXTURE_VARIANT_ADD(special_frames, immediate) {
	.deferred = false,
};

FIXTURE_VARIANT_ADD(special_frames, deferred) {
	.deferred = true,
};

FIXTURE_SETUP(special_frames)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(special_frames)
{
	if (self->jit.text)
		jit_destroy(&self->jit);
}

static const enum shape three[] = { SHAPE_SP, SHAPE_DYNAMIC, SHAPE_SP_2 };

#define BEGIN(flags)							\
do {									\
	ASSERT_EQ(0, jit_init(&self->jit, flags));			\
	jit_emit(&self->jit, three, 3, 3, SPIN);			\
	ASSERT_EQ(0, jit_register(&self->jit));				\
} while (0)

/* Every sample of the chain is exact in the variant's context. */
#define EXPECT_ALL_EXACT()						\
do {									\
	ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts,		\
				variant->deferred, SAMPLES, SECONDS));	\
	expect_exact(_metadata, &self->verdicts, SAMPLES);				\
} while (0)

/* An FDE without rows: the walk ends there, frame pointers or not. */
TEST_F_TIMEOUT(special_frames, outermost_without_rows, 300)
{
	BEGIN(0);
	self->jit.fns[1].no_rows = true;
	ASSERT_EQ(0, jit_publish(&self->jit));
	self->jit.chain.last = 1;
	EXPECT_ALL_EXACT();
}

/* Rows without data words: the return address is undefined. */
TEST_F_TIMEOUT(special_frames, outermost_by_rows, 300)
{
	unsigned int i;

	BEGIN(0);
	for (i = 0; i < self->jit.fns[1].nr_rows; i++)
		self->jit.fns[1].rows[i].outermost = true;
	ASSERT_EQ(0, jit_publish(&self->jit));
	self->jit.chain.last = 1;
	EXPECT_ALL_EXACT();
}

TEST_F_TIMEOUT(special_frames, no_frame_pointer_fallback, 300)
{
	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	ASSERT_EQ(0, area_append(&self->jit.area, &self->jit.fns[0]));
	ASSERT_EQ(0, area_append(&self->jit.area, &self->jit.fns[2]));
	self->jit.chain.last = 1;
	EXPECT_ALL_EXACT();
}

TEST_F_TIMEOUT(special_frames, retired, 300)
{
	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	ASSERT_EQ(0, jit_publish(&self->jit));
	ASSERT_EQ(0, area_retire(&self->jit.area, self->jit.fns[1].start));
	self->jit.chain.last = 1;
	EXPECT_ALL_EXACT();
}

TEST_F_TIMEOUT(special_frames, retired_and_made_again, 300)
{
	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	ASSERT_EQ(0, jit_publish(&self->jit));
	ASSERT_EQ(0, area_retire(&self->jit.area, self->jit.fns[1].start));
	code_emit(&self->jit.fns[1], jit_slot(&self->jit, 1), SHAPE_SP_4,
		  jit_slot(&self->jit, 2), SPIN);
	ASSERT_EQ(0, area_retarget(&self->jit.area, &self->jit.fns[1]));
	chain_plan(&self->jit.chain, self->jit.fns, 3, 3);
	EXPECT_ALL_EXACT();
}

/* In registered text, but described by nothing: frame pointers are tried. */
TEST_F_TIMEOUT(special_frames, fallback_to_frame_pointers, 300)
{
	const enum shape shapes[] = { code_calls_native, SHAPE_FP, SHAPE_SP_2 };

	BEGIN(0);
	jit_emit(&self->jit, shapes, 3, 9, SPIN);
	self->jit.fns[1].native = true;
	ASSERT_EQ(0, jit_publish(&self->jit));
	EXPECT_ALL_EXACT();
}

/*
 * JIT code calls native code calls JIT code: FP holds garbage in JIT code, and
 * what was saved of it must not be taken for a frame.
 */
TEST_F_TIMEOUT(special_frames, native_between, 300)
{
	struct jit *jit = &self->jit;

	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	code_emit(&jit->fns[0], jit_slot(jit, 0), code_calls_native,
		  jit_native_slot(jit, 0), SPIN);
	code_emit(&jit->fns[1], jit_native_slot(jit, 0), SHAPE_FP,
		  jit_slot(jit, 2), SPIN);
	jit->fns[1].native = true;
	chain_plan(&jit->chain, jit->fns, 3, 9);
	ASSERT_EQ(0, jit_publish(jit));
	EXPECT_ALL_EXACT();
}

/* The offset in a block decides between rows that repeat for each block. */
TEST_F_TIMEOUT(special_frames, pc_mask, 300)
{
	struct jit *jit = &self->jit;

	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	code_emit_blocks(&jit->fns[2], jit_slot(jit, 2), 24, SPIN);
	chain_plan(&jit->chain, jit->fns, 3, 3);
	ASSERT_EQ(0, jit_publish(jit));
	EXPECT_ALL_EXACT();
}

/* A realigned stack: CFA=*(FP-8), and in another register while topmost. */
TEST_F_TIMEOUT(special_frames, flexible, 300)
{
	struct jit *jit = &self->jit;

	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	code_emit(&jit->fns[0], jit_slot(jit, 0), SHAPE_REALIGNED,
		  jit_slot(jit, 1), SPIN);
	chain_plan(&jit->chain, jit->fns, 3, 3);
	ASSERT_EQ(0, jit_publish(jit));
	EXPECT_ALL_EXACT();
}

/* Another register than FP, carried from frame to frame. */
TEST_F_TIMEOUT(special_frames, frame_register, 300)
{
	struct jit *jit = &self->jit;
	unsigned int i;

	BEGIN(JIT_SFRAME_FRAME_REG | JIT_SFRAME_NO_FP_FALLBACK);
	for (i = 0; i < 3; i++)
		code_emit_frame_reg(&jit->fns[i], jit_slot(jit, i),
				    jit_slot(jit, (i + 1) % 3), SPIN);
	chain_plan(&jit->chain, jit->fns, 3, 9);
	ASSERT_EQ(0, jit_publish(jit));
	EXPECT_ALL_EXACT();
}

/*
 * Return addresses on a stack of the language's own, native code below it: the
 * way back to the native stack is that SP did not change meanwhile.
 */
TEST_F_TIMEOUT(special_frames, own_return_stack, 300)
{
	struct jit *jit = &self->jit;
	__u64 stack[64];
	unsigned int i;

	BEGIN(JIT_SFRAME_FRAME_REG | JIT_SFRAME_NO_FP_FALLBACK);
	code_emit_enter_own_stack(&jit->fns[0], jit_slot(jit, 0),
				  jit_slot(jit, 1), SPIN);
	code_emit_own_stack(&jit->fns[1], jit_slot(jit, 1), jit_slot(jit, 2),
			    SPIN);
	code_emit_own_stack(&jit->fns[2], jit_slot(jit, 2), jit_slot(jit, 1),
			    SPIN);
	chain_plan(&jit->chain, jit->fns, 3, 8);
	for (i = 1; i < 8; i++) {
		const struct function *fn = &jit->fns[2 - i % 2];

		jit->chain.levels[i].fn = fn;
		jit->chain.levels[i].cfa = (__u64)(stack + i - 1);
		jit->chain.levels[i].return_to = fn->start + fn->return_offset;
	}
	jit->chain.counter = 6;
	jit->chain.address = (__u64)stack;
	ASSERT_EQ(0, jit_publish(jit));
	EXPECT_ALL_EXACT();
}

/* A function with one row too many is not described; with one fewer it is. */
TEST_F_TIMEOUT(special_frames, too_many_rows, 300)
{
	struct function *fn = &self->jit.fns[1];
	unsigned int spare;

	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	/* Rows that say once more what the last one says. */
	spare = JIT_SFRAME_MAX_LIVE_ROWS - fn->nr_rows;
	while (fn->nr_rows < JIT_SFRAME_MAX_LIVE_ROWS) {
		fn->rows[fn->nr_rows] = fn->rows[fn->nr_rows - 1];
		fn->nr_rows++;
	}
	ASSERT_LT(0, spare);
	ASSERT_EQ(0, jit_publish(&self->jit));
	EXPECT_ALL_EXACT();

	fn->rows[fn->nr_rows] = fn->rows[fn->nr_rows - 1];
	fn->nr_rows++;
	ASSERT_EQ(0, area_retarget(&self->jit.area, fn));
	self->jit.chain.last = 1;
	EXPECT_ALL_EXACT();
}

/*
 * A signal comes in at the first instruction of a function. The address it
 * interrupted is looked up as it is: one less would be the function before,
 * whose CFA is elsewhere.
 *
 *	level 4  handler
 *	level 3  sigreturn, a signal frame; flexible
 *	level 2  trap, at its first instruction
 *	level 1, 0
 */
TEST_F_TIMEOUT(special_frames, signal_frame, 300)
{
	struct jit *jit = &self->jit;
	struct function before = { .size = 16, .nr_rows = 1 };
	__u8 *trap;
	__u64 entry;

	BEGIN(JIT_SFRAME_NO_FP_FALLBACK);
	trap = (__u8 *)jit_slot(jit, 2) + 512;
	before.start = (__u64)trap - before.size;
	before.rows[0].cfa = 64;
	code_emit(&jit->fns[1], jit_slot(jit, 1), SHAPE_SP_2, trap, SPIN);
	ASSERT_TRUE(code_emit_trapping(&jit->fns[2], trap, SHAPE_SP, 0, SPIN));
	code_emit_sigreturn(&jit->fns[3], jit_slot(jit, 3), &entry);
	code_emit_handler(&jit->fns[4], jit_slot(jit, 4), SPIN);
	jit->nr_fns = 5;

	ASSERT_EQ(0, area_append(&jit->area, &jit->fns[0]));
	ASSERT_EQ(0, area_append(&jit->area, &jit->fns[1]));
	ASSERT_EQ(0, area_append(&jit->area, &before));
	ASSERT_EQ(0, area_append(&jit->area, &jit->fns[2]));
	ASSERT_EQ(0, area_append(&jit->area, &jit->fns[3]));
	ASSERT_EQ(0, area_append(&jit->area, &jit->fns[4]));

	chain_plan(&jit->chain, jit->fns, 5, 5);
	jit->chain.levels[3].return_to = entry;
	jit->chain.levels[3].cfa = 0;
	jit->chain.levels[4].cfa = 0;
	ASSERT_EQ(0, code_set_handler(SIGILL, jit->fns[4].start, entry));
	EXPECT_ALL_EXACT();
}

TEST_HARNESS_MAIN
