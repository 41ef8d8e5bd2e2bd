// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks are exact at each instruction of prologue, body and epilogue.
 *
 * In front of every instruction the thread spins with the frame in just the
 * state that the instruction finds it in. The test ends when each of these
 * places has been sampled in each context, and every sample was exact.
 */
#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

#define SPIN		100
#define SAMPLES		800
#define SECONDS		60
#define MAX_ROUNDS	20

FIXTURE(every_instruction) {
	struct jit jit;
	struct verdicts verdicts;
	bool hit[2][MAX_INSNS];
};

FIXTURE_VARIANT(every_instruction) {
	enum shape shape;
};

FIXTURE_VARIANT_ADD(every_instruction, sp_based) {
	.shape = SHAPE_SP,
};

FIXTURE_VARIANT_ADD(every_instruction, sp_based_2_byte_words) {
	.shape = SHAPE_SP_2,
};

FIXTURE_VARIANT_ADD(every_instruction, sp_based_4_byte_words) {
	.shape = SHAPE_SP_4,
};

FIXTURE_VARIANT_ADD(every_instruction, moving_sp_two_epilogues) {
	.shape = SHAPE_DYNAMIC,
};

FIXTURE_VARIANT_ADD(every_instruction, frame_pointer) {
	.shape = SHAPE_FP,
};

FIXTURE_VARIANT_ADD(every_instruction, signed_with_key_a) {
	.shape = SHAPE_SIGNED_A,
};

FIXTURE_VARIANT_ADD(every_instruction, signed_with_key_b) {
	.shape = SHAPE_SIGNED_B,
};

FIXTURE_VARIANT_ADD(every_instruction, leaf) {
	.shape = SHAPE_LEAF,
};

FIXTURE_VARIANT_ADD(every_instruction, realigned_stack) {
	.shape = SHAPE_REALIGNED,
};

FIXTURE_SETUP(every_instruction)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
	if ((variant->shape == SHAPE_SIGNED_A ||
	     variant->shape == SHAPE_SIGNED_B) && !code_signs_return_addresses())
		SKIP(return, "the machine signs no return addresses");
	ASSERT_EQ(0, jit_init(&self->jit, 0));
}

FIXTURE_TEARDOWN(every_instruction)
{
	if (self->jit.text)
		jit_destroy(&self->jit);
}

/* The function under test is outermost and calls a function of another shape. */
static void emit(struct jit *jit, enum shape shape)
{
	const enum shape shapes[] = { shape, SHAPE_SP };

	jit_emit(jit, shapes, 2, 1, SPIN);
}

static void note_hits(struct _test_data_every_instruction *self)
{
	unsigned int level, i, fn;

	for (level = 0; level < self->jit.chain.nr_levels; level++) {
		fn = level % 2;
		for (i = 0; i < self->jit.fns[fn].nr_insns; i++)
			self->hit[fn][i] |= self->verdicts.hits[level][i];
	}
}

static bool missed(const struct _test_data_every_instruction *self,
		   unsigned int i)
{
	return self->jit.fns[0].insns[i].spin && !self->hit[0][i];
}

static unsigned int count_missed(const struct _test_data_every_instruction *self)
{
	unsigned int i, nr = 0;

	for (i = 0; i < self->jit.fns[0].nr_insns; i++)
		nr += missed(self, i);
	return nr;
}

static void print_missed(const struct _test_data_every_instruction *self)
{
	const struct function *fn = &self->jit.fns[0];
	unsigned int i;

	for (i = 0; i < fn->nr_insns; i++) {
		if (missed(self, i))
			printf("# not sampled: offset %#x\n", fn->insns[i].offset);
	}
}

/* As the last frame, and as a caller: both ways through a function. */
static void sample_both_ways(struct __test_metadata *_metadata,
			     struct _test_data_every_instruction *self,
			     unsigned int max_levels, bool deferred)
{
	unsigned int levels;

	for (levels = 1; levels <= max_levels; levels++) {
		chain_plan(&self->jit.chain, self->jit.fns, 2, levels);
		ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts, deferred,
					SAMPLES, SECONDS));
		expect_exact(_metadata, &self->verdicts, SAMPLES);
		note_hits(self);
	}
}

/*
 * A sample's own time decides when the next one is taken: on a busy machine
 * they can stay in step with the function, and miss a place for long.
 */
static void sample_all(struct __test_metadata *_metadata,
		       struct _test_data_every_instruction *self,
		       unsigned int max_levels, bool deferred)
{
	unsigned int rounds = 0;

	memset(self->hit, 0, sizeof(self->hit));
	do {
		sample_both_ways(_metadata, self, max_levels, deferred);
	} while (count_missed(self) && ++rounds < MAX_ROUNDS);
	print_missed(self);
	EXPECT_EQ(0, count_missed(self));
}

TEST_F_TIMEOUT(every_instruction, all_sampled_all_exact, 600)
{
	bool leaf = variant->shape == SHAPE_LEAF;
	unsigned int i, spins = 0;

	emit(&self->jit, variant->shape);
	ASSERT_EQ(0, jit_publish(&self->jit));
	ASSERT_EQ(0, jit_register(&self->jit));
	for (i = 0; i < self->jit.fns[0].nr_insns; i++)
		spins += self->jit.fns[0].insns[i].spin;
	printf("# %u states, %u rows\n", spins, self->jit.fns[0].nr_rows);
	sample_all(_metadata, self, leaf ? 1 : 2, false);
	sample_all(_metadata, self, leaf ? 1 : 2, true);
}

TEST_HARNESS_MAIN
