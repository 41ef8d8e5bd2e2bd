/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a test expects of its samples; after kselftest_harness.h.
 */
#ifndef _JIT_SFRAME_EXPECT_H
#define _JIT_SFRAME_EXPECT_H

#include "chain.h"

/* All judged samples were exact, and there were enough of them. */
static inline void expect_exact(struct __test_metadata *_metadata,
				const struct verdicts *verdicts, __u64 at_least)
{
	EXPECT_EQ(0, verdicts->astray);
	EXPECT_EQ(0, verdicts->wrong);
	EXPECT_EQ(0, verdicts->shorter);
	EXPECT_LE(at_least, verdicts->samples);
}

#endif
