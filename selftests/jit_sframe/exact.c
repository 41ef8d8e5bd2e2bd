// SPDX-License-Identifier: GPL-2.0
/*
 * perf's stacks of JIT code without frame pointers, in both contexts, equal the
 * true call chain, frame for frame.
 *
 * What runs is a recursion through functions of every frame shape; FP is a
 * general register in most of them, and holds something that looks like a frame
 * pointer. arch/<machine>/code.c shows the instructions and their rows.
 */
#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

#define LEVELS		20
#define SPIN		20
#define SAMPLES		(2000 * jit_share() / 100)

FIXTURE(exact) {
	struct jit jit;
	struct verdicts verdicts;
};

FIXTURE_VARIANT(exact) {
	bool deferred;
};

FIXTURE_VARIANT_ADD(exact, immediate) {
	.deferred = false,
};

FIXTURE_VARIANT_ADD(exact, deferred) {
	.deferred = true,
};

FIXTURE_SETUP(exact)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, jit_init(&self->jit, 0));
	jit_emit(&self->jit, code_shapes, code_nr_shapes, LEVELS, SPIN);
}

FIXTURE_TEARDOWN(exact)
{
	if (self->jit.text)
		jit_destroy(&self->jit);
}

TEST_F_TIMEOUT(exact, published_before_registration, 300)
{
	struct verdicts *v = &self->verdicts;

	ASSERT_EQ(0, jit_publish(&self->jit));
	ASSERT_EQ(0, jit_register(&self->jit));
	ASSERT_EQ(0, jit_sample(&self->jit, v, variant->deferred, SAMPLES, 20));
	expect_exact(_metadata, v, SAMPLES);
}

TEST_F_TIMEOUT(exact, published_after_registration, 300)
{
	struct verdicts *v = &self->verdicts;

	ASSERT_EQ(0, jit_register(&self->jit));
	ASSERT_EQ(0, jit_publish(&self->jit));
	ASSERT_EQ(0, jit_sample(&self->jit, v, variant->deferred, SAMPLES, 20));
	expect_exact(_metadata, v, SAMPLES);
}

/*
 * The judge can tell: with nothing published, a stack of frames that keep no
 * frame pointer is not exact.
 */
TEST_F_TIMEOUT(exact, unpublished_is_not, 300)
{
	struct verdicts *v = &self->verdicts;

	ASSERT_EQ(0, jit_register(&self->jit));
	self->jit.quiet = true;
	ASSERT_EQ(0, jit_sample(&self->jit, v, variant->deferred, 200, 20));
	EXPECT_EQ(0, v->astray);
	EXPECT_LE(200, v->samples);
	EXPECT_LT(v->exact, v->samples / 2);
}

TEST_HARNESS_MAIN
