/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that samples its own threads through perf_event_open().
 *
 * Immediate: the stack is in the sample, unwound in interrupt context.
 * Deferred: the sample carries a cookie; the stack follows in a record of its
 * own, unwound before the return to user space.
 */
#ifndef _JIT_SFRAME_SAMPLER_H
#define _JIT_SFRAME_SAMPLER_H

#include <sys/types.h>

#include "code.h"

#define MAX_STACK	128

/* Samples whose deferred stack has not come yet. */
#define MAX_PENDING	64

struct sample {
	__u64 ip;
	__u64 regs[CODE_NR_REGS];
	__u64 cookie;
	__u64 nr;
	__u64 ips[MAX_STACK];
};

enum trigger {
	TRIGGER_CLOCK,		/* cpu-clock: an interrupt */
	TRIGGER_PAGE_FAULT,	/* each page fault of the sampled thread */
};

/**
 * struct sampler - an event and its ring
 * @deferred: stacks come in records of their own
 * @period: in nanoseconds, or in page faults
 * @paced: nanoseconds that @period has been tried for
 * @paced_from: @samples when it was set
 * @samples: samples seen, in JIT code or not
 * @lost: records that the ring had no room for
 * @unmatched: deferred: samples whose stack never came
 * @throttled: times the kernel held the event back
 */
struct sampler {
	int fd;
	bool deferred;
	struct perf_event_mmap_page *page;
	size_t ring_size;
	unsigned int nr_pending;
	struct sample pending[MAX_PENDING];
	__u64 period, paced, paced_from;
	__u64 samples, lost, unmatched, throttled;
};

/* Let samples come as fast as they can. Needs privilege; else a slow pace. */
void sampler_raise_limits(void);

/* 0 or a negative errno; @period in nanoseconds, or in page faults. */
int sampler_open(struct sampler *sampler, pid_t tid, enum trigger trigger,
		 __u64 period, bool deferred);
void sampler_close(struct sampler *sampler);
void sampler_start(struct sampler *sampler);
void sampler_stop(struct sampler *sampler);

/*
 * After @ns nanoseconds of sampling by the clock and a drain. If the next
 * interrupt is due before the last one has been dealt with, hardly any hits user
 * space: let them come half as often, and twice as often when there is time.
 */
void sampler_adapt(struct sampler *sampler, __u64 ns);

typedef void (*sampler_fn)(const struct sample *sample, void *arg);

/* Take all samples from the ring. May run while samples are being written. */
void sampler_drain(struct sampler *sampler, sampler_fn fn, void *arg);

#endif
