// SPDX-License-Identifier: GPL-2.0
/*
 * A signal handler is sampled that interrupted a function between any two of
 * its instructions: before the frame is there, while it is made, in the body,
 * while it is taken down, and in a function that never makes one. The handler
 * runs on the stack it found or on one of its own, below that one or above it.
 *
 *	level 4  handler: all the time is spent here
 *	level 3  sigreturn, a signal frame; flexible
 *	level 2  interrupted by SIGILL in front of its nth instruction
 *	level 1, 0
 */
#include <signal.h>

#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

/* Long enough for most samples to be taken there, not on the way. */
#define SPIN		20000
#define SAMPLES		(1000ULL * jit_share() / 100)
#define SECONDS		120
#define HANDLER		4
#define SIGNAL_STACK	65536

enum signal_stack { INTERRUPTED, BELOW, ABOVE };

FIXTURE(signals) {
	struct jit jit;
	struct verdicts verdicts;
};

FIXTURE_VARIANT(signals) {
	enum signal_stack stack;
	bool deferred;
};

FIXTURE_VARIANT_ADD(signals, interrupted_stack_immediate) {
	.stack = INTERRUPTED, .deferred = false,
};

FIXTURE_VARIANT_ADD(signals, interrupted_stack_deferred) {
	.stack = INTERRUPTED, .deferred = true,
};

FIXTURE_VARIANT_ADD(signals, stack_below_immediate) {
	.stack = BELOW, .deferred = false,
};

FIXTURE_VARIANT_ADD(signals, stack_below_deferred) {
	.stack = BELOW, .deferred = true,
};

FIXTURE_VARIANT_ADD(signals, stack_above_immediate) {
	.stack = ABOVE, .deferred = false,
};

FIXTURE_VARIANT_ADD(signals, stack_above_deferred) {
	.stack = ABOVE, .deferred = true,
};

FIXTURE_SETUP(signals)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(signals)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	sigaltstack(&none, NULL);
	if (self->jit.text)
		jit_destroy(&self->jit);
}

/* Cut the handler's stack from one end of the chain's: they are neighbours. */
static int set_stack(struct jit *jit, enum signal_stack where)
{
	struct chain *chain = &jit->chain;
	stack_t stack = { .ss_sp = chain->stack, .ss_size = SIGNAL_STACK };

	if (where == INTERRUPTED)
		return 0;
	if (where == ABOVE) {
		chain->stack_top -= SIGNAL_STACK;
		stack.ss_sp = (void *)chain->stack_top;
	}
	return sigaltstack(&stack, NULL);
}

/* All but the function that is interrupted. 0 or a negative errno. */
static int prepare(struct jit *jit, enum signal_stack where)
{
	static const enum shape callers[] = { SHAPE_SP, SHAPE_SP_2 };
	__u64 entry;
	int ret;

	ret = jit_init(jit, JIT_SFRAME_NO_FP_FALLBACK);
	if (ret)
		return ret;
	jit_emit(jit, callers, 2, 2, 0);
	code_emit(&jit->fns[1], jit_slot(jit, 1), SHAPE_SP_2, jit_slot(jit, 2),
		  0);
	code_emit_sigreturn(&jit->fns[3], jit_slot(jit, 3), &entry);
	code_emit_handler(&jit->fns[HANDLER], jit_slot(jit, HANDLER), SPIN);
	jit->nr_fns = HANDLER + 1;
	jit->fns[3].return_offset = (__u32)(entry - jit->fns[3].start);
	if (set_stack(jit, where) ||
	    code_set_handler(SIGILL, jit->fns[HANDLER].start, entry))
		return -errno;
	return jit_register(jit);
}

/* Publish it all anew, with the function that is interrupted. */
static int publish(struct jit *jit)
{
	const struct function *fns[HANDLER + 1];
	unsigned int i;

	for (i = 0; i <= HANDLER; i++)
		fns[i] = &jit->fns[i];
	chain_plan(&jit->chain, jit->fns, HANDLER + 1, HANDLER + 1);
	/* Here that depends on what realigning takes. */
	if (jit->fns[2].flexible)
		jit->chain.levels[2].cfa = 0;
	/* The kernel decides how far below the interrupted frame they are. */
	jit->chain.levels[3].cfa = 0;
	jit->chain.levels[HANDLER].cfa = 0;
	return area_flip(&jit->area, fns, HANDLER + 1);
}

static __u64 handler_samples(const struct verdicts *verdicts)
{
	__u64 samples = 0;
	unsigned int i;

	for (i = 0; i < MAX_INSNS; i++)
		samples += verdicts->hits[HANDLER][i];
	return samples;
}

/* How many instructions the shape has to interrupt it in front of. */
static unsigned int count_places(const struct jit *jit, enum shape shape)
{
	struct function fn;
	unsigned int nr = 0;

	while (code_emit_trapping(&fn, jit_slot(jit, 2), shape, nr, 0))
		nr++;
	return nr;
}

/* So many samples in the handler, with the function interrupted in one place. */
static __u64 sample_handler(struct __test_metadata *_metadata,
			    struct _test_data_signals *self, bool deferred,
			    __u64 samples)
{
	__u64 end = now_ns() + SECONDS * 1000000000ULL, taken = 0;

	do {
		if (jit_sample(&self->jit, &self->verdicts, deferred,
			       samples + samples / 8 + 2, SECONDS))
			break;
		expect_exact(_metadata, &self->verdicts, 1);
		taken += handler_samples(&self->verdicts);
	} while (taken < samples && now_ns() < end);
	return taken;
}

/* Interrupts each of the shapes in front of each of its instructions. */
static void interrupt_everywhere(struct __test_metadata *_metadata,
				 struct _test_data_signals *self, bool deferred,
				 const enum shape *shapes, unsigned int nr_shapes)
{
	struct jit *jit = &self->jit;
	unsigned int i, nth, nr = 0;
	__u64 samples, taken = 0;

	for (i = 0; i < nr_shapes; i++)
		nr += count_places(jit, shapes[i]);
	samples = (SAMPLES + nr - 1) / nr;
	for (i = 0; i < nr_shapes; i++) {
		for (nth = 0; code_emit_trapping(&jit->fns[2], jit_slot(jit, 2),
						 shapes[i], nth, 0); nth++) {
			__u64 here;

			ASSERT_EQ(0, publish(jit));
			here = sample_handler(_metadata, self, deferred, samples);
			EXPECT_LE(samples, here)
				TH_LOG("shape %u, place %u", shapes[i], nth);
			taken += here;
		}
	}
	printf("# interrupted in %u places, %llu samples in the handler\n", nr,
	       taken);
	EXPECT_LE(SAMPLES, taken);
}

TEST_F_TIMEOUT(signals, leaf, 600)
{
	static const enum shape shapes[] = { SHAPE_LEAF };

	ASSERT_EQ(0, prepare(&self->jit, variant->stack));
	interrupt_everywhere(_metadata, self, variant->deferred, shapes, 1);
}

TEST_F_TIMEOUT(signals, prologue_to_epilogue, 600)
{
	static const enum shape shapes[] = { SHAPE_SP, SHAPE_FP };

	ASSERT_EQ(0, prepare(&self->jit, variant->stack));
	interrupt_everywhere(_metadata, self, variant->deferred, shapes, 2);
}

/* Rows that name registers which only the signal frame still has. */
TEST_F_TIMEOUT(signals, realigned_stack, 600)
{
	static const enum shape shapes[] = { SHAPE_REALIGNED };

	ASSERT_EQ(0, prepare(&self->jit, variant->stack));
	interrupt_everywhere(_metadata, self, variant->deferred, shapes, 1);
}

/* The link register of the interrupted frame is signed, too. */
TEST_F_TIMEOUT(signals, signed_return_address, 600)
{
	static const enum shape shapes[] = { SHAPE_SIGNED_A, SHAPE_SIGNED_B };

	if (!code_signs_return_addresses())
		SKIP(return, "the machine signs no return addresses");
	ASSERT_EQ(0, prepare(&self->jit, variant->stack));
	interrupt_everywhere(_metadata, self, variant->deferred, shapes, 2);
}

TEST_HARNESS_MAIN
