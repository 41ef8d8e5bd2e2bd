// SPDX-License-Identifier: GPL-2.0
/*
 * What most tests need: a chain of functions, an area, samplers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "jit.h"

#define AREA_SIZE	(256UL << 10)
#define AREA_CAPACITY	1024

/* Nanoseconds of CPU time from sample to sample. */
#define PERIOD		20000
#define SLICE		20000000

int jit_init(struct jit *jit, __u32 flags)
{
	struct jit_sframe_register text = {
		.text_size = JIT_TEXT_SIZE,
		.flags = flags,
		.frame_reg = flags & JIT_SFRAME_FRAME_REG ? code_frame_reg() : 0,
	};
	int ret;

	memset(jit, 0, sizeof(*jit));
	jit->text = mmap(NULL, JIT_TEXT_SIZE + NATIVE_TEXT_SIZE,
			 PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (jit->text == MAP_FAILED)
		return -errno;
	text.text_start = (__u64)jit->text;
	ret = area_init(&jit->area, AREA_SIZE, AREA_CAPACITY, &text);
	if (ret)
		return ret;
	return chain_init(&jit->chain);
}

void jit_destroy(struct jit *jit)
{
	chain_destroy(&jit->chain);
	area_destroy(&jit->area);
	munmap(jit->text, JIT_TEXT_SIZE + NATIVE_TEXT_SIZE);
}

void *jit_slot(const struct jit *jit, unsigned int i)
{
	return jit->text + i * CODE_SLOT;
}

void *jit_native_slot(const struct jit *jit, unsigned int i)
{
	return jit->text + JIT_TEXT_SIZE + i * CODE_SLOT;
}

void jit_emit(struct jit *jit, const enum shape *shapes, unsigned int nr,
	      unsigned int nr_levels, __u32 spin)
{
	unsigned int i;

	jit->nr_fns = nr;
	for (i = 0; i < nr; i++)
		code_emit(&jit->fns[i], jit_slot(jit, i), shapes[i],
			  jit_slot(jit, (i + 1) % nr), spin);
	chain_plan(&jit->chain, jit->fns, nr, nr_levels);
}

int jit_publish(struct jit *jit)
{
	unsigned int i;
	int ret;

	for (i = 0; i < jit->nr_fns; i++) {
		if (jit->fns[i].native)
			continue;
		ret = area_append(&jit->area, &jit->fns[i]);
		if (ret)
			return ret;
	}
	return 0;
}

int jit_register(struct jit *jit)
{
	struct jit_sframe_register reg = area_registration(&jit->area);

	return jit_sframe_register(&reg);
}

const char *jit_missing(void)
{
	struct jit_sframe_query query = {};

	switch (jit_sframe_query(&query)) {
	case 0:
		return NULL;
	case -EINVAL:
		return "kernel without PR_JIT_SFRAME";
	case -EPERM:
		return "prctl(PR_JIT_SFRAME) is filtered";
	default:
		/* A fault of what is to be tested is for a test to report. */
		return NULL;
	}
}

unsigned int jit_share(void)
{
	const char *share = getenv("JIT_SFRAME_SHARE");
	int percent = share ? atoi(share) : 100;

	return percent > 0 && percent <= 100 ? percent : 100;
}

bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	bool done = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

__u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

void jit_run(const struct jit *jit, __u64 ns)
{
	__u64 end = now_ns() + ns;
	unsigned int i;

	/* Where the clock is not in the vDSO, reading it takes a system call. */
	do {
		for (i = 0; i < 32; i++)
			chain_run(&jit->chain);
	} while (now_ns() < end);
}

int jit_sample(struct jit *jit, struct verdicts *verdicts, bool deferred,
	       __u64 samples, unsigned int seconds)
{
	__u64 end = now_ns() + seconds * 1000000000ULL;
	struct sampler *sampler = malloc(sizeof(*sampler));
	int ret;

	if (!sampler)
		return -ENOMEM;
	verdicts_init(verdicts, &jit->chain,
		      deferred ? "deferred" : "immediate");
	if (jit->quiet)
		verdicts->shown = MAX_SHOWN;
	sampler_raise_limits();
	ret = sampler_open(sampler, 0, TRIGGER_CLOCK, PERIOD, deferred);
	if (ret)
		goto free;
	while (verdicts->samples < samples && now_ns() < end) {
		sampler_start(sampler);
		jit_run(jit, SLICE);
		sampler_stop(sampler);
		sampler_drain(sampler, verdicts_judge, verdicts);
		sampler_adapt(sampler, SLICE);
	}
	verdicts_print(verdicts);
	if (sampler->lost || sampler->unmatched || sampler->throttled)
		printf("# %s: %llu lost, %llu without a stack, throttled %llu times\n",
		       verdicts->context, sampler->lost, sampler->unmatched,
		       sampler->throttled);
	fflush(stdout);
	sampler_close(sampler);
free:
	free(sampler);
	return ret;
}
