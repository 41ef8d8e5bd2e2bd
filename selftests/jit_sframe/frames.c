// SPDX-License-Identifier: GPL-2.0
/*
 * A JIT that copies templates.
 */
#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "frames.h"

/* Nanoseconds from sample to sample, and from drain to drain. */
#define PERIOD			20000
#define SLICE			8000000

#define STUBS_AREA_SIZE		(64UL << 10)
#define STUBS_CAPACITY		16

static_assert(sizeof(struct template_row) == 32, "of RULE");
static_assert(sizeof(struct template_place) == 12, "of PLACE");
static_assert(sizeof(struct template) == 56, "of END");

static bool same_rule(const struct row *a, const struct row *b)
{
	return a->outermost == b->outermost && a->nr_words == b->nr_words &&
	       !memcmp(a->words, b->words, sizeof(a->words));
}

static void append_row(struct function *fn, const struct template_row *from)
{
	struct row row = {
		.start = fn->size + from->start,
		.outermost = !from->nr_words,
		.nr_words = (__u8)from->nr_words,
	};

	memcpy(row.words, from->words, sizeof(row.words));
	if (fn->nr_rows && same_rule(&fn->rows[fn->nr_rows - 1], &row))
		return;
	assert(fn->nr_rows < JIT_SFRAME_MAX_LIVE_ROWS);
	fn->rows[fn->nr_rows++] = row;
}

static void append_place(struct function *fn,
			 const struct template_place *from, __u32 offset)
{
	struct insn insn = {
		.offset = offset + from->offset,
		.spin = from->spin,
	};

	assert(fn->nr_insns < MAX_INSNS);
	fn->insns[fn->nr_insns++] = insn;
}

void frames_append(struct function *fn, const struct template *from,
		   __u64 hole0, __u64 hole1, __u64 hole2)
{
	const __u64 words[MAX_HOLES] = { hole0, hole1, hole2 };
	__u8 *at = (__u8 *)fn->start + fn->size;
	unsigned int i;

	assert(fn->size + from->size <= CODE_SLOT);
	memcpy(at, from->text, from->size);
	for (i = 0; i < MAX_HOLES && from->holes[i]; i++)
		memcpy(at + from->holes[i], &words[i], sizeof(words[i]));
	for (i = 0; i < from->nr_rows; i++)
		append_row(fn, &from->rows[i]);
	for (i = 0; i < from->nr_places; i++)
		append_place(fn, &from->places[i], fn->size);
	if (from->return_offset)
		fn->return_offset = fn->size + from->return_offset;
	fn->size += from->size;
}

void frames_keep_side(struct function *fn, const struct template *from,
		      __u32 side)
{
	unsigned int i;

	fn->nr_insns = 0;
	for (i = 0; i < from->nr_places; i++) {
		if (from->places[i].side == side)
			append_place(fn, &from->places[i], 0);
	}
}

static int init_stubs(struct frames *frames, __u32 flags)
{
	struct jit_sframe_register text = {
		.text_start = WORD(jit_native_slot(&frames->jit, 0)),
		.text_size = NATIVE_TEXT_SIZE,
		.flags = flags & ~JIT_SFRAME_FRAME_REG,
	};

	return area_init(&frames->stubs, STUBS_AREA_SIZE, STUBS_CAPACITY,
			 &text);
}

int frames_init(struct frames *frames, __u32 flags, unsigned int frame_reg)
{
	int ret = jit_init(&frames->jit, flags);

	if (ret)
		return ret;
	frames->jit.area.head->frame_reg = frame_reg;
	frames->nr_fns = 0;
	frames->next[WINDOW_CODE] = jit_slot(&frames->jit, 0);
	frames->next[WINDOW_STUBS] = jit_native_slot(&frames->jit, 0);
	ret = init_stubs(frames, flags);
	if (ret)
		jit_destroy(&frames->jit);
	return ret;
}

void frames_destroy(struct frames *frames)
{
	area_destroy(&frames->stubs);
	jit_destroy(&frames->jit);
}

struct function *frames_next(struct frames *frames, enum window window)
{
	struct function *fn = &frames->fns[frames->nr_fns++];

	assert(frames->nr_fns <= MAX_FRAMES_FUNCTIONS);
	memset(fn, 0, sizeof(*fn));
	fn->start = WORD(frames->next[window]);
	fn->flexible = true;
	frames->next[window] = (__u8 *)frames->next[window] + CODE_SLOT;
	return fn;
}

static struct area *area_of(struct frames *frames, const struct function *fn)
{
	return fn->start < WORD(jit_native_slot(&frames->jit, 0)) ?
	       &frames->jit.area : &frames->stubs;
}

void frames_make_calls(struct frames *frames, enum window window,
		       const struct template *const *from, unsigned int nr,
		       __u64 callee, const struct function **made)
{
	while (nr--) {
		struct function *fn = frames_next(frames, window);

		frames_append(fn, from[nr], callee, 0, 0);
		made[nr] = fn;
		callee = fn->start;
	}
}

int frames_publish(struct frames *frames)
{
	struct jit_sframe_register stubs = area_registration(&frames->stubs);
	unsigned int i;
	int ret;

	for (i = 0; i < frames->nr_fns; i++) {
		struct function *fn = &frames->fns[i];

		__builtin___clear_cache((char *)fn->start,
					(char *)fn->start + fn->size);
		ret = area_append(area_of(frames, fn), fn);
		if (ret)
			return ret;
	}
	ret = jit_register(&frames->jit);
	return ret ? ret : jit_sframe_register(&stubs);
}

void frames_add_level(struct chain *chain, const struct function *fn)
{
	struct level *level = &chain->levels[chain->nr_levels++];

	assert(chain->nr_levels <= MAX_LEVELS);
	level->fn = fn;
	level->cfa = 0;
	level->return_to = fn->start + fn->return_offset;
}

/* No sample is taken to be in it. */
static const struct function native = { .native = true };

static void add_native_level(struct chain *chain, __u64 return_to)
{
	frames_add_level(chain, &native);
	chain->levels[chain->nr_levels - 1].return_to = return_to;
}

static unsigned int places_missed(const struct verdicts *verdicts,
				  unsigned int level, bool print)
{
	const struct function *fn = verdicts->chain->levels[level].fn;
	unsigned int i, missed = 0;

	for (i = 0; i < fn->nr_insns; i++) {
		if (!fn->insns[i].spin || verdicts->hits[level][i])
			continue;
		missed++;
		if (print)
			printf("# %s: not sampled: level %u, offset %#x\n",
			       verdicts->context, level, fn->insns[i].offset);
	}
	return missed;
}

static void count(struct frames_sample *sample, bool print)
{
	unsigned int i, level;

	sample->samples = 0;
	sample->missed = 0;
	for (i = 0; i < sample->nr_verdicts; i++) {
		const struct verdicts *verdicts = &sample->verdicts[i];

		sample->samples += verdicts->samples;
		for (level = 0; level < verdicts->chain->nr_levels; level++)
			sample->missed += places_missed(verdicts, level, print);
	}
}

static void judge(const struct sample *sample, void *arg)
{
	struct frames_sample *samples = arg;
	unsigned int i;

	for (i = 0; i < samples->nr_verdicts; i++)
		verdicts_judge(sample, &samples->verdicts[i]);
}

/*
 * From one to four times the sampler's own period, another one each round: samples
 * must not keep time with the chain.
 */
static void vary_period(const struct sampler *sampler, unsigned int round)
{
	__u64 period = sampler->period * (13 + round * 5 % 37) / 13;

	ioctl(sampler->fd, PERF_EVENT_IOC_PERIOD, &period);
}

/* Enough, of each chain some, and if so wanted in every state. */
static bool taken(struct frames_sample *sample)
{
	unsigned int i;

	count(sample, false);
	for (i = 0; i < sample->nr_verdicts; i++) {
		if (!sample->verdicts[i].samples)
			return false;
	}
	return sample->samples >= sample->enough &&
	       !(sample->all && sample->missed);
}

static void take(struct frames *frames, struct frames_sample *sample,
		 struct sampler *sampler, unsigned int seconds)
{
	__u64 end = now_ns() + seconds * 1000000000ULL;
	unsigned int round = 0;

	do {
		vary_period(sampler, round);
		/* Frames of variable size get other sizes. */
		frames->jit.chain.counter = round++;
		sampler_start(sampler);
		jit_run(&frames->jit, SLICE);
		sampler_stop(sampler);
		sampler_drain(sampler, judge, sample);
		sampler_adapt(sampler, SLICE);
	} while (!taken(sample) && now_ns() < end);
}

int frames_sample(struct frames *frames, struct frames_sample *sample,
		  unsigned int seconds)
{
	struct sampler *sampler = malloc(sizeof(*sampler));
	unsigned int i;
	int ret;

	if (!sampler)
		return -ENOMEM;
	sampler_raise_limits();
	ret = sampler_open(sampler, 0, TRIGGER_CLOCK, PERIOD, sample->deferred);
	if (!ret) {
		take(frames, sample, sampler, seconds);
		sampler_close(sampler);
		for (i = 0; i < sample->nr_verdicts; i++)
			verdicts_print(&sample->verdicts[i]);
		count(sample, sample->all);
	}
	free(sampler);
	return ret;
}

/* Where the two native functions are returned to, as they saw it. */
static __u64 return_to_outer, return_to_inner;

static void note_return(__u64 unused, struct stacks *stacks)
{
	return_to_inner = WORD(__builtin_return_address(0));
}

static __u64 *inner(struct nesting *nesting, __u64 *data, __u64 *control)
{
	struct stacks stacks = { data, control };

	return_to_outer = WORD(__builtin_return_address(0));
	if (nesting->enter)
		nesting->enter(0, &stacks);
	return stacks.data;
}

typedef __u64 *native_fn(struct nesting *nesting, __u64 *data, __u64 *control);

/* A call that the compiler cannot see through: the function is to have a frame. */
static native_fn *not_inlined(native_fn *fn)
{
	asm("" : "+r" (fn));
	return fn;
}

__u64 *frames_native(struct nesting *nesting, __u64 *data, __u64 *control)
{
	__u64 *top = not_inlined(inner)(nesting, data, control);

	nesting->calls++;
	return top;
}

void frames_add_native_levels(struct chain *chain)
{
	struct nesting nesting = { .enter = note_return };

	not_inlined(frames_native)(&nesting, NULL, NULL);
	add_native_level(chain, return_to_outer);
	add_native_level(chain, return_to_inner);
}
