// SPDX-License-Identifier: GPL-2.0
/*
 * Whatever an area holds, the kernel neither warns nor hangs.
 *
 * A page fault of the JIT code makes exactly one sample in each context, so each
 * mutation of the tables is walked by both unwinders.
 */
#include <pthread.h>

#include "jit.h"
#include "kselftest_harness.h"

#define LEVELS		6
#define SPIN		0
#define MUTATIONS	(12000 * jit_share() / 100)
#define SCRIBBLE_NS	(2000000000ULL * jit_share() / 100)
/* One walk, under an emulator and a debug kernel. */
#define TOO_LONG	2000000000ULL

FIXTURE(hostile) {
	struct jit jit;
	struct verdicts verdicts;
	struct sampler *samplers[2];
	__u8 *page;
	__u8 *pristine;
	size_t used;
	__u64 random;
	__u64 longest;
	__u64 stacks[2];
	unsigned long taint;
	bool stop;
};

FIXTURE_VARIANT(hostile) {
	__u32 flags;
};

FIXTURE_VARIANT_ADD(hostile, live) {
	.flags = 0,
};

FIXTURE_VARIANT_ADD(hostile, live_with_frame_register) {
	.flags = JIT_SFRAME_FRAME_REG,
};

FIXTURE_VARIANT_ADD(hostile, section) {
	.flags = JIT_SFRAME_STATIC,
};

static unsigned long taint(void)
{
	unsigned long value = 0;
	FILE *file = fopen("/proc/sys/kernel/tainted", "r");

	if (file) {
		if (fscanf(file, "%lu", &value) != 1)
			value = 0;
		fclose(file);
	}
	return value;
}

static __u32 pick(__u64 *random, __u32 below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (__u32)(*random >> 33) % below;
}

static struct section *section(struct _test_data_hostile *self)
{
	return &self->jit.area.slots[0];
}

static int register_area(struct _test_data_hostile *self, __u32 flags)
{
	struct jit_sframe_register reg = area_registration(&self->jit.area);

	reg.flags = flags;
	if (flags & JIT_SFRAME_STATIC) {
		reg.area = (__u64)section(self)->base;
		reg.area_size = section(self)->size;
	}
	return jit_sframe_register(&reg);
}

FIXTURE_SETUP(hostile)
{
	const enum shape shapes[] = {
		SHAPE_SP, SHAPE_DYNAMIC, SHAPE_SP_2, SHAPE_FP, SHAPE_SP_4,
	};
	const char *missing = jit_missing();
	struct jit *jit = &self->jit;
	int i;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, jit_init(jit, variant->flags & JIT_SFRAME_FRAME_REG));
	jit_emit(jit, shapes, 5, 5, SPIN);
	code_emit(&jit->fns[4], jit_slot(jit, 4), SHAPE_SP_4, jit_slot(jit, 5),
		  SPIN);
	code_emit_touch(&jit->fns[5], jit_slot(jit, 5));
	jit->nr_fns = LEVELS;
	chain_plan(&jit->chain, jit->fns, LEVELS, LEVELS);
	self->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	jit->chain.address = (__u64)self->page;

	jit->area.slots[0].capacity = LEVELS;
	ASSERT_EQ(0, jit_publish(jit));
	ASSERT_EQ(0, register_area(self, variant->flags));
	self->used = section(self)->base - (__u8 *)jit->area.head +
		     section_len(section(self));
	self->pristine = malloc(self->used);
	ASSERT_NE(NULL, self->pristine);
	memcpy(self->pristine, jit->area.head, self->used);

	for (i = 0; i < 2; i++) {
		self->samplers[i] = calloc(1, sizeof(struct sampler));
		ASSERT_EQ(0, sampler_open(self->samplers[i], 0,
					  TRIGGER_PAGE_FAULT, 1, i));
	}
	self->random = 88172645463325252ULL + variant->flags;
	self->taint = taint();
}

FIXTURE_TEARDOWN(hostile)
{
	int i;

	for (i = 0; i < 2 && self->samplers[i]; i++)
		sampler_close(self->samplers[i]);
	EXPECT_EQ(self->taint, taint());
}

static void count_stack(const struct sample *sample, void *arg)
{
	++*(__u64 *)arg;
}

static void walk_in(struct _test_data_hostile *self, int context)
{
	__u64 before, took;

	madvise(self->page, 4096, MADV_DONTNEED);
	sampler_start(self->samplers[context]);
	before = now_ns();
	chain_run(&self->jit.chain);
	took = now_ns() - before;
	sampler_stop(self->samplers[context]);
	sampler_drain(self->samplers[context], count_stack,
		      &self->stacks[context]);
	if (took > self->longest)
		self->longest = took;
}

/*
 * One walk in each context. Not at once: the software events that a page fault
 * counts for share one callchain, whose kind the first of them decides.
 */
static void walk(struct _test_data_hostile *self)
{
	walk_in(self, 0);
	walk_in(self, 1);
}

static void restore(struct _test_data_hostile *self)
{
	memcpy(self->jit.area.head, self->pristine, self->used);
}

/* Values at which something ends, overflows or changes its sign. */
static __u64 interesting(__u64 *random, __u64 old, unsigned int width)
{
	static const __u64 values[] = {
		0, 1, 7, 8, 0x1f, 0x3f, 0x40, 0x41, 0x7f, 0x80, 0xff, 0x100,
		0x3ff, 0x400, 0x401, 0x7fff, 0x8000, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffff0,
		0xffffffffffffffff,
	};

	switch (pick(random, 8)) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	case 2:
		return old ^ 1ULL << pick(random, width * 8);
	case 3:
		return (__u64)pick(random, 0x7fffffff) << 32 | *random >> 32;
	case 4:
		return old + 8 * pick(random, 16) - 64;
	default:
		return values[pick(random, ARRAY_SIZE(values))];
	}
}

static void mutate_field(__u64 *random, void *field, unsigned int width)
{
	__u64 value = 0;

	memcpy(&value, field, width);
	value = interesting(random, value, width);
	memcpy(field, &value, width);
}

static void mutate_live(struct _test_data_hostile *self)
{
	struct jit_sframe_area *head = self->jit.area.head;
	__u32 size = (__u32)self->jit.area.size, offset;

	switch (pick(&self->random, 4)) {
	case 0:
		mutate_field(&self->random, &head->live, 8);
		return;
	case 1:	/* the section is cut off by the area's end */
		offset = size - 4 * pick(&self->random, 32);
		break;
	case 2:	/* within what is a section elsewhere */
		offset = pick(&self->random, (__u32)self->used);
		break;
	default:
		offset = 8 * pick(&self->random, size / 8);
		break;
	}
	head->live = JIT_SFRAME_LIVE(pick(&self->random, 16), offset);
}

static void mutate_header(struct _test_data_hostile *self)
{
	static const struct {
		__u8 at, width;
	} fields[] = {
		{ 0, 2 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 5, 1 }, { 6, 1 },
		{ 7, 1 }, { 8, 4 }, { 12, 4 }, { 16, 4 }, { 20, 4 }, { 24, 4 },
	};
	unsigned int i = pick(&self->random, ARRAY_SIZE(fields));

	mutate_field(&self->random, section(self)->base + fields[i].at,
		     fields[i].width);
}

static struct sframe_index *any_index(struct _test_data_hostile *self)
{
	return section_index(section(self), pick(&self->random, LEVELS));
}

static void mutate_index(struct _test_data_hostile *self)
{
	struct sframe_index *entry = any_index(self);

	switch (pick(&self->random, 4)) {
	case 0:
		mutate_field(&self->random, &entry->start, 8);
		break;
	case 1:
		mutate_field(&self->random, &entry->word, 4);
		break;
	case 2:
		mutate_field(&self->random, (__u8 *)&entry->word + 4, 4);
		break;
	default:
		*entry = *any_index(self);
		break;
	}
}

/* The first bytes of some function's attribute and rows. */
static void mutate_rows(struct _test_data_hostile *self)
{
	struct section *sec = section(self);
	__u8 *rows = (__u8 *)section_index(sec, sec->capacity);
	__u32 len = (__u32)(self->used - (rows - (__u8 *)self->jit.area.head));
	__u32 attr = (__u32)(any_index(self)->word >> 32);
	__u32 at;

	switch (pick(&self->random, 4)) {
	case 0:		/* number of rows */
		at = attr;
		break;
	case 1:		/* info, info2, rep_size */
		at = attr + 2 + pick(&self->random, 3);
		break;
	case 2:		/* starts, info and words of the first rows */
		at = attr + 5 + pick(&self->random, 12);
		break;
	default:
		at = pick(&self->random, len);
		break;
	}
	if (at > len - 4)
		at = pick(&self->random, len - 4);
	mutate_field(&self->random, rows + at, 1 << pick(&self->random, 3));
}

static void mutate(struct _test_data_hostile *self)
{
	switch (pick(&self->random, 8)) {
	case 0:
		mutate_live(self);
		break;
	case 1:
		mutate_header(self);
		break;
	case 2 ... 3:
		mutate_index(self);
		break;
	default:
		mutate_rows(self);
		break;
	}
}

static void expect_sound(struct __test_metadata *_metadata,
			 struct _test_data_hostile *self, __u64 walks)
{
	printf("# %llu walks: %llu immediate and %llu deferred stacks, longest %llu us\n",
	       walks, self->stacks[0], self->stacks[1], self->longest / 1000);
	fflush(stdout);
	EXPECT_LE(walks, self->stacks[0]);
	EXPECT_LE(walks, self->stacks[1]);
	EXPECT_GT(TOO_LONG, self->longest);
	EXPECT_EQ(self->taint, taint());
}

TEST_F_TIMEOUT(hostile, mutations, 600)
{
	__u64 i, nr = MUTATIONS;

	for (i = 0; i < nr; i++) {
		unsigned int more = 1 + pick(&self->random, 4);

		restore(self);
		while (more--)
			mutate(self);
		walk(self);
	}
	expect_sound(_metadata, self, nr);
}

/* What a walk may read and a page that it may not: each page in turn. */
TEST_F_TIMEOUT(hostile, pages_taken_away, 300)
{
	__u8 *base = (__u8 *)self->jit.area.head;
	size_t page, nr = self->jit.area.size / 4096;

	for (page = 0; page < nr; page++) {
		mprotect(base + page * 4096, 4096, PROT_NONE);
		walk(self);
		mprotect(base + page * 4096, 4096, PROT_READ | PROT_WRITE);
		madvise(base + page * 4096, 4096, MADV_DONTNEED);
		walk(self);
		restore(self);
	}
	munmap(base + 4096, self->jit.area.size - 4096);
	walk(self);
	munmap(base, 4096);
	walk(self);
	expect_sound(_metadata, self, 2 * nr + 2);
}

/* A mapping of a file that has no such pages: a walk gets the bus error. */
TEST_F_TIMEOUT(hostile, truncated_file, 300)
{
	int fd = memfd_create("jit_sframe", MFD_CLOEXEC);
	size_t size = self->jit.area.size, left;

	if (fd < 0)
		SKIP(return, "no memfd_create()");
	ASSERT_EQ(0, ftruncate(fd, size));
	ASSERT_EQ((ssize_t)self->used, pwrite(fd, self->pristine, self->used, 0));
	ASSERT_EQ(self->jit.area.head,
		  mmap(self->jit.area.head, size, PROT_READ,
		       MAP_SHARED | MAP_FIXED, fd, 0));
	walk(self);
	for (left = 8 * 4096; left; left -= 4096) {
		ASSERT_EQ(0, ftruncate(fd, left - 4096));
		walk(self);
	}
	expect_sound(_metadata, self, 9);
}

/* Every index entry, all rows, counts as large as the area: bounded work. */
TEST_F_TIMEOUT(hostile, huge_counts, 300)
{
	struct section *sec = section(self);
	struct sframe_header *header = section_header(sec);
	__u32 room = (sec->size - 32) / 16;
	unsigned int i, rows;

	header->num_fdes = room - 64;
	header->freoff = 4 + header->num_fdes * 16;
	header->fre_len = 0xffffffff;
	for (i = 0; i < header->num_fdes; i++)
		*section_index(sec, i) = (struct sframe_index){ 0 };
	walk(self);
	restore(self);
	for (i = 0; i < LEVELS; i++) {
		__u8 *attr = (__u8 *)section_index(sec, sec->capacity) +
			     (section_index(sec, i)->word >> 32);

		for (rows = 1; rows < 0x10000; rows *= 2) {
			memcpy(attr, &rows, 2);
			walk(self);
		}
		rows = 0xffff;
		memcpy(attr, &rows, 2);
		walk(self);
	}
	header->fre_len = 0xffffffff;
	walk(self);
	expect_sound(_metadata, self, 2 + LEVELS * 17);
}

static void *scribble(void *arg)
{
	struct _test_data_hostile *self = arg;
	__u64 random = 2463534242ULL;
	__u8 *base = (__u8 *)self->jit.area.head;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		__u32 at = pick(&random, (__u32)self->used - 8);

		if (pick(&random, 8))
			mutate_field(&random, base + at, 1 << pick(&random, 4));
		else
			memcpy(base, self->pristine, self->used);
	}
	return NULL;
}

/* Another thread writes over the tables while they are walked. */
TEST_F_TIMEOUT(hostile, scribbling, 300)
{
	__u64 end = now_ns() + SCRIBBLE_NS, walks = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, self));
	while (now_ns() < end) {
		walk(self);
		walks++;
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_LT(0, walks);
	expect_sound(_metadata, self, walks);
}

TEST_HARNESS_MAIN
