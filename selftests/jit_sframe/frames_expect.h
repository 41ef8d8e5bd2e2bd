/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sampling a JIT of templates, and what is expected of it; after
 * kselftest_harness.h.
 */
#ifndef _JIT_SFRAME_FRAMES_EXPECT_H
#define _JIT_SFRAME_FRAMES_EXPECT_H

#include "frames.h"
#include "expect.h"

#define FRAMES_SAMPLES		(1000ULL * jit_share() / 100)
#define FRAMES_SECONDS		60

/* Enough samples, in every state of every frame, and each exact. */
static inline void expect_frames_exact(struct __test_metadata *_metadata,
				       struct frames *frames,
				       struct verdicts *verdicts,
				       unsigned int nr_verdicts, bool deferred)
{
	struct frames_sample sample = {
		.verdicts = verdicts,
		.nr_verdicts = nr_verdicts,
		.deferred = deferred,
		.enough = FRAMES_SAMPLES,
		/* A share of the samples is too few for that. */
		.all = jit_share() == 100,
	};
	unsigned int i;

	ASSERT_EQ(0, frames_sample(frames, &sample, FRAMES_SECONDS));
	for (i = 0; i < nr_verdicts; i++)
		expect_exact(_metadata, &verdicts[i], 1);
	EXPECT_LE(FRAMES_SAMPLES, sample.samples);
	if (sample.all)
		EXPECT_EQ(0, sample.missed);
}

#endif
