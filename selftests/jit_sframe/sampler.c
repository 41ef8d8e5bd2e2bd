// SPDX-License-Identifier: GPL-2.0
/*
 * A process that samples its own threads through perf_event_open().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler.h"

#define RING_PAGES	512

/* How long sampler_adapt() tries a period for, in nanoseconds. */
#define PACE		60000000ULL
/*
 * One sample in so many that were due: fewer are too few, more leave time. Not
 * all the time is the sampled thread's own, even if no sample cost any.
 */
#define STARVED		16
#define IDLE		4
#define MIN_PERIOD	20000
#define MAX_PERIOD	640000

static void write_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return;
	/* What the machine does not grant shows in the number of samples. */
	if (write(fd, value, strlen(value)) < 0)
		errno = 0;
	close(fd);
}

static bool is_set(const char *path, const char *value)
{
	char now[16] = {};
	int fd = open(path, O_RDONLY);
	bool same = fd >= 0 && read(fd, now, sizeof(now) - 1) > 0 &&
		    !strncmp(now, value, strlen(value));

	if (fd >= 0)
		close(fd);
	return same;
}

#define MAX_PERCENT	"/proc/sys/kernel/perf_cpu_time_max_percent"
#define MAX_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"

void sampler_raise_limits(void)
{
	/* Each time it is written, the kernel says so in its log. */
	if (is_set(MAX_PERCENT, "0\n") && is_set(MAX_RATE, "100000\n"))
		return;
	/* The rate cannot be written while the CPU time limit is off. */
	write_sysctl(MAX_PERCENT, "25");
	write_sysctl(MAX_RATE, "100000");
	write_sysctl(MAX_PERCENT, "0");
}

int sampler_open(struct sampler *sampler, pid_t tid, enum trigger trigger,
		 __u64 period, bool deferred)
{
	long page_size = sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = trigger == TRIGGER_CLOCK ? PERF_COUNT_SW_CPU_CLOCK :
						     PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_REGS_USER,
		.sample_regs_user = code_regs_mask,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
		.defer_callchain = deferred,
		.defer_output = deferred,
	};

	memset(sampler, 0, sizeof(*sampler));
	sampler->deferred = deferred;
	sampler->period = period;
	sampler->fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
				   PERF_FLAG_FD_CLOEXEC);
	if (sampler->fd < 0)
		return -errno;
	sampler->ring_size = RING_PAGES * page_size;
	sampler->page = mmap(NULL, page_size + sampler->ring_size,
			     PROT_READ | PROT_WRITE, MAP_SHARED, sampler->fd, 0);
	if (sampler->page == MAP_FAILED) {
		int ret = -errno;

		close(sampler->fd);
		return ret;
	}
	return 0;
}

void sampler_close(struct sampler *sampler)
{
	munmap(sampler->page, sysconf(_SC_PAGESIZE) + sampler->ring_size);
	close(sampler->fd);
}

void sampler_start(struct sampler *sampler)
{
	ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void sampler_stop(struct sampler *sampler)
{
	ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
}

void sampler_adapt(struct sampler *sampler, __u64 ns)
{
	__u64 due, samples;

	sampler->paced += ns;
	if (sampler->paced < PACE)
		return;
	due = sampler->paced / sampler->period;
	samples = sampler->samples - sampler->paced_from;
	sampler->paced = 0;
	sampler->paced_from = sampler->samples;
	if (samples < due / STARVED && sampler->period < MAX_PERIOD)
		sampler->period *= 2;
	else if (samples > due / IDLE && sampler->period > MIN_PERIOD)
		sampler->period /= 2;
	else
		return;
	ioctl(sampler->fd, PERF_EVENT_IOC_PERIOD, &sampler->period);
}

static void ring_copy(const struct sampler *sampler, __u64 at, void *to,
		      size_t len)
{
	const __u8 *ring = (const __u8 *)sampler->page +
			   sampler->page->data_offset;
	size_t from = at % sampler->ring_size;
	size_t first = sampler->ring_size - from;

	if (first > len)
		first = len;
	memcpy(to, ring + from, first);
	memcpy((__u8 *)to + first, ring, len - first);
}

/* Keep the user part of a callchain, or the cookie it is promised under. */
static void take_chain(struct sample *sample, const __u64 *ips, __u64 nr)
{
	__u64 i;

	sample->nr = 0;
	sample->cookie = 0;
	for (i = 0; i < nr; i++) {
		if (ips[i] == PERF_CONTEXT_USER_DEFERRED && i + 1 < nr)
			sample->cookie = ips[++i];
		else if (ips[i] < PERF_CONTEXT_MAX && sample->nr < MAX_STACK)
			sample->ips[sample->nr++] = ips[i];
	}
}

/* { ip, nr, ips[nr], abi, regs[] } */
static void take_sample(struct sampler *sampler, const __u64 *words,
			sampler_fn fn, void *arg)
{
	struct sample *sample = &sampler->pending[sampler->nr_pending];

	sampler->samples++;
	sample->ip = words[0];
	take_chain(sample, words + 2, words[1]);
	memset(sample->regs, 0, sizeof(sample->regs));
	if (words[2 + words[1]])
		memcpy(sample->regs, words + 3 + words[1],
		       sizeof(sample->regs));
	if (!sample->cookie) {
		fn(sample, arg);
		return;
	}
	if (++sampler->nr_pending < MAX_PENDING)
		return;
	/* The oldest has waited for longer than any stack takes. */
	sampler->unmatched++;
	memmove(sampler->pending, sampler->pending + 1,
		--sampler->nr_pending * sizeof(*sample));
}

/* { cookie, nr, ips[nr] } */
static void take_deferred(struct sampler *sampler, const __u64 *words,
			  sampler_fn fn, void *arg)
{
	unsigned int i, kept = 0;

	for (i = 0; i < sampler->nr_pending; i++) {
		struct sample *sample = &sampler->pending[i];

		if (sample->cookie == words[0]) {
			take_chain(sample, words + 2, words[1]);
			fn(sample, arg);
		} else if (kept++ != i) {
			sampler->pending[kept - 1] = *sample;
		}
	}
	sampler->nr_pending = kept;
}

static void take_record(struct sampler *sampler, const __u64 *record,
			sampler_fn fn, void *arg)
{
	const struct perf_event_header *header = (const void *)record;

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(sampler, record + 1, fn, arg);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		take_deferred(sampler, record + 1, fn, arg);
		break;
	case PERF_RECORD_LOST:
		sampler->lost += record[2];
		break;
	case PERF_RECORD_THROTTLE:
		sampler->throttled++;
		break;
	default:
		break;
	}
}

void sampler_drain(struct sampler *sampler, sampler_fn fn, void *arg)
{
	__u64 head = __atomic_load_n(&sampler->page->data_head,
				     __ATOMIC_ACQUIRE);
	__u64 tail = sampler->page->data_tail;
	struct perf_event_header header;
	__u64 record[8192];

	while (tail < head) {
		ring_copy(sampler, tail, &header, sizeof(header));
		ring_copy(sampler, tail, record, header.size);
		take_record(sampler, record, fn, arg);
		tail += header.size;
	}
	/* After the reads: the kernel may write there now. */
	__atomic_store_n(&sampler->page->data_tail, tail, __ATOMIC_RELEASE);
}
