// SPDX-License-Identifier: GPL-2.0
/*
 * prctl(PR_JIT_SFRAME): every operation, every errno, every predicate.
 */
#include <sys/prctl.h>

#include "jit.h"
#include "kselftest_harness.h"

#define FAR_TEXT	0x10000000ULL

FIXTURE(abi) {
	struct jit jit;
	struct jit_sframe_register reg;
	long page;
};

FIXTURE_SETUP(abi)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, jit_init(&self->jit, 0));
	self->reg = area_registration(&self->jit.area);
	self->page = sysconf(_SC_PAGESIZE);
}

FIXTURE_TEARDOWN(abi)
{
	if (self->jit.text)
		jit_destroy(&self->jit);
}

static long call(unsigned long op, const void *arg, unsigned long size)
{
	return prctl(PR_JIT_SFRAME, op, arg, size, 0) ? -errno : 0;
}

static unsigned int nr_areas(void)
{
	struct jit_sframe_query query = {};

	return jit_sframe_query(&query) ? ~0U : query.nr_areas;
}

TEST_F(abi, query_tells_what_there_is)
{
	struct jit_sframe_query query;

	memset(&query, 0xff, sizeof(query));
	query.areas_capacity = 0;
	query.areas = 0;
	EXPECT_EQ(-EINVAL, jit_sframe_query(&query));
	query.reserved = 0;
	ASSERT_EQ(0, jit_sframe_query(&query));
	EXPECT_EQ(JIT_SFRAME_ABI_VERSION, query.abi_version);
	EXPECT_EQ(0, query.nr_areas);
	EXPECT_EQ(JIT_SFRAME_MAX_AREAS, query.max_areas);
	EXPECT_EQ(JIT_SFRAME_MAX_LIVE_ROWS, query.max_live_rows);
	EXPECT_EQ(JIT_SFRAME_MAX_STATIC_ROWS, query.max_static_rows);
	EXPECT_EQ(JIT_SFRAME_FEATURE_LIVE | JIT_SFRAME_FEATURE_STATIC |
		  JIT_SFRAME_FEATURE_FLEXIBLE | JIT_SFRAME_FEATURE_FRAME_REG,
		  query.features);
}

TEST_F(abi, unknown_operations)
{
	EXPECT_EQ(-EINVAL, call(0, &self->reg, sizeof(self->reg)));
	EXPECT_EQ(-EINVAL, call(4, &self->reg, sizeof(self->reg)));
	EXPECT_EQ(-EINVAL, call(~0UL, &self->reg, sizeof(self->reg)));
}

TEST_F(abi, last_argument_must_be_zero)
{
	struct jit_sframe_query query = {};

	EXPECT_EQ(-1, prctl(PR_JIT_SFRAME, JIT_SFRAME_QUERY, &query,
			    sizeof(query), 1));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(abi, register_and_unregister)
{
	struct jit_sframe_register got = {};
	struct jit_sframe_query query = {
		.areas_capacity = 1,
		.areas = (__u64)&got,
		.area_struct_size = sizeof(got),
	};

	ASSERT_EQ(0, jit_sframe_register(&self->reg));
	ASSERT_EQ(0, jit_sframe_query(&query));
	EXPECT_EQ(1, query.nr_areas);
	EXPECT_EQ(0, memcmp(&got, &self->reg, sizeof(got)));
	EXPECT_EQ(0, jit_sframe_unregister(self->jit.area.head));
	EXPECT_EQ(0, nr_areas());
	EXPECT_EQ(-ENOENT, jit_sframe_unregister(self->jit.area.head));
	EXPECT_EQ(0, jit_sframe_register(&self->reg));
}

/* Each differs from a registration that works in one respect. */
TEST_F(abi, register_einval)
{
	const struct jit_sframe_register good = self->reg;
	struct jit_sframe_register reg;
	unsigned int i;

#define EXPECT_EINVAL(change)						\
do {									\
	reg = good;							\
	change;								\
	EXPECT_EQ(-EINVAL, jit_sframe_register(&reg))			\
		TH_LOG("%s", #change);					\
} while (0)

	for (i = 4; i < 32; i++)
		EXPECT_EINVAL(reg.flags = 1U << i);
	EXPECT_EINVAL(reg.flags = JIT_SFRAME_TEXT_RELATIVE);
	EXPECT_EINVAL(reg.frame_reg = code_frame_reg());
	for (i = 0; i < code_nr_bad_frame_regs; i++)
		EXPECT_EINVAL(reg.flags = JIT_SFRAME_FRAME_REG;
			      reg.frame_reg = code_bad_frame_regs[i]);

	EXPECT_EINVAL(reg.area += 8);
	EXPECT_EINVAL(reg.area += self->page / 2);
	EXPECT_EINVAL(reg.area_size -= 8);
	EXPECT_EINVAL(reg.area_size = 0);
	EXPECT_EINVAL(reg.area_size = JIT_SFRAME_MAX_AREA_SIZE + self->page);
	EXPECT_EINVAL(reg.area = -(__u64)self->page; reg.area_size = self->page);
	EXPECT_EINVAL(reg.area = -(__u64)self->page;
		      reg.area_size = 2 * self->page);
	EXPECT_EINVAL(reg.area = 1ULL << 63);

	EXPECT_EINVAL(reg.text_size = 0);
	EXPECT_EINVAL(reg.text_start = -16ULL; reg.text_size = 32);
	EXPECT_EINVAL(reg.text_start = -16ULL; reg.text_size = 16);
	EXPECT_EINVAL(reg.text_start = 1ULL << 63);
	EXPECT_EINVAL(reg.text_size = ~0ULL);

	EXPECT_EINVAL(reg.flags = JIT_SFRAME_STATIC; reg.area += 2);
	EXPECT_EINVAL(reg.flags = JIT_SFRAME_STATIC; reg.area_size = 27);
	/* A live area's head is no section. */
	EXPECT_EINVAL(reg.flags = JIT_SFRAME_STATIC);
#undef EXPECT_EINVAL
	EXPECT_EQ(0, nr_areas());
	EXPECT_EQ(0, jit_sframe_register(&good));
}

/* The head is looked at when the area is registered. */
TEST_F(abi, register_checks_the_head)
{
	struct jit_sframe_area *head = self->jit.area.head;

	head->magic++;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&self->reg));
	head->magic--;
	head->version++;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&self->reg));
	head->version--;
	head->header_size -= 8;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&self->reg));
	head->header_size += 16;
	EXPECT_EQ(0, jit_sframe_register(&self->reg));
}

TEST_F(abi, register_checks_the_section)
{
	struct section sec = {
		.base = (__u8 *)self->jit.area.head,
		.size = 4096,
		.capacity = 4,
	};

	self->reg.flags = JIT_SFRAME_STATIC;
	section_begin(&sec);
	section_header(&sec)->magic ^= 0xff;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&self->reg));
	section_header(&sec)->magic ^= 0xff;
	section_header(&sec)->version--;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&self->reg));
	section_header(&sec)->version++;
	section_header(&sec)->abi_arch ^= 7;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&self->reg));
	section_header(&sec)->abi_arch ^= 7;
	EXPECT_EQ(0, jit_sframe_register(&self->reg));
}

TEST_F(abi, efault)
{
	struct jit_sframe_query query = {
		.areas_capacity = 1,
		.areas = 8,
		.area_struct_size = sizeof(self->reg),
	};
	void *nothing = mmap(NULL, self->page, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, nothing);
	EXPECT_EQ(-EFAULT, call(JIT_SFRAME_REGISTER, NULL, sizeof(self->reg)));
	EXPECT_EQ(-EFAULT, call(JIT_SFRAME_REGISTER, nothing,
				sizeof(self->reg)));
	EXPECT_EQ(-EFAULT, call(JIT_SFRAME_UNREGISTER, nothing,
				sizeof(struct jit_sframe_unregister)));
	EXPECT_EQ(-EFAULT, call(JIT_SFRAME_QUERY, nothing, sizeof(query)));

	ASSERT_EQ(0, jit_sframe_register(&self->reg));
	EXPECT_EQ(-EFAULT, jit_sframe_query(&query));

	/* The area itself, live and static. */
	self->reg.area = (__u64)nothing;
	self->reg.area_size = self->page;
	self->reg.text_start = FAR_TEXT;
	EXPECT_EQ(-EFAULT, jit_sframe_register(&self->reg));
	self->reg.flags = JIT_SFRAME_STATIC;
	EXPECT_EQ(-EFAULT, jit_sframe_register(&self->reg));
	EXPECT_EQ(1, nr_areas());
}

/* An argument that cannot be written is found out without doing anything. */
TEST_F(abi, efault_read_only_query)
{
	void *page = mmap(NULL, self->page, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(-EFAULT, call(JIT_SFRAME_QUERY, page,
				sizeof(struct jit_sframe_query)));
}

/* Structs grow at their ends: what is behind the known part must be 0. */
TEST_F(abi, extensible_structs)
{
	struct {
		union {
			struct jit_sframe_register reg;
			struct jit_sframe_unregister unregister;
			struct jit_sframe_query query;
			__u8 bytes[64];
		};
	} arg = {};
	static const struct {
		unsigned long op, size;
	} ops[] = {
		{ JIT_SFRAME_REGISTER, sizeof(struct jit_sframe_register) },
		{ JIT_SFRAME_UNREGISTER, sizeof(struct jit_sframe_unregister) },
		{ JIT_SFRAME_QUERY, sizeof(struct jit_sframe_query) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		EXPECT_EQ(-EINVAL, call(ops[i].op, &arg, 0));
		EXPECT_EQ(-EINVAL, call(ops[i].op, &arg, ops[i].size - 1));
		EXPECT_EQ(-EINVAL, call(ops[i].op, &arg, ops[i].size - 8));
	}
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		memset(&arg, 0, sizeof(arg));
		if (ops[i].op == JIT_SFRAME_REGISTER)
			arg.reg = self->reg;
		if (ops[i].op == JIT_SFRAME_UNREGISTER)
			arg.unregister.area = self->reg.area;
		arg.bytes[63] = 1;
		EXPECT_EQ(-E2BIG, call(ops[i].op, &arg, 64));
		arg.bytes[63] = 0;
		EXPECT_EQ(0, call(ops[i].op, &arg, 64));
	}
	EXPECT_EQ(0, nr_areas());
}

/* However many zeroes follow, no more than so many of them are looked at. */
TEST_F(abi, no_struct_beyond_a_limit)
{
	size_t most = JIT_SFRAME_MAX_STRUCT_SIZE;
	void *zeroes = mmap(NULL, 2 * most, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, zeroes);
	EXPECT_EQ(0, call(JIT_SFRAME_QUERY, zeroes, most));
	memset(zeroes, 0, most);
	EXPECT_EQ(-E2BIG, call(JIT_SFRAME_QUERY, zeroes, most + 1));
	EXPECT_EQ(-E2BIG, call(JIT_SFRAME_REGISTER, zeroes, most + 1));
	EXPECT_EQ(-E2BIG, call(JIT_SFRAME_UNREGISTER, zeroes, most + 1));
	munmap(zeroes, 2 * most);
}

TEST_F(abi, text_that_overlaps)
{
	struct jit_sframe_register reg = self->reg;
	struct jit other;
	static const struct {
		__s64 start;	/* from the registered text's start */
		__u64 size;
		int ret;
	} cases[] = {
		{ 0, 0x1000, -EBUSY },
		{ 0, 1, -EBUSY },
		{ 0xfff, 1, -EBUSY },
		{ 0xfff, 2, -EBUSY },
		{ -1, 2, -EBUSY },
		{ -0x1000, 0x1001, -EBUSY },
		{ -0x1000, 0x4000, -EBUSY },
		{ 0x100, 0x100, -EBUSY },
		{ 0x1000, 1, 0 },
		{ -1, 1, 0 },
	};
	unsigned int i;

	ASSERT_EQ(0, jit_init(&other, 0));
	reg.text_start = FAR_TEXT;
	reg.text_size = 0x1000;
	ASSERT_EQ(0, jit_sframe_register(&reg));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jit_sframe_register next = area_registration(&other.area);

		next.text_start = FAR_TEXT + cases[i].start;
		next.text_size = cases[i].size;
		EXPECT_EQ(cases[i].ret, jit_sframe_register(&next))
			TH_LOG("case %u", i);
		if (!cases[i].ret)
			EXPECT_EQ(0, jit_sframe_unregister(other.area.head));
	}
	/* The same area for another text. */
	reg.text_start += 0x100000;
	EXPECT_EQ(-EBUSY, jit_sframe_register(&reg));
	jit_destroy(&other);
}

/* Plain sections, 28 bytes apart: as many areas as there may be. */
static void *make_sections(unsigned int nr)
{
	__u8 *base = mmap(NULL, nr * 28 + 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct section sec = { .capacity = 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sec.base = base + i * 28;
		section_begin(&sec);
	}
	return base;
}

static struct jit_sframe_register section_registration(void *base,
						       unsigned int i)
{
	struct jit_sframe_register reg = {
		.area = (__u64)base + i * 28,
		.area_size = 28,
		.text_start = FAR_TEXT + i * 0x1000,
		.text_size = 0x1000,
		.flags = JIT_SFRAME_STATIC,
	};

	return reg;
}

TEST_F(abi, as_many_areas_as_there_may_be)
{
	const unsigned int max = JIT_SFRAME_MAX_AREAS;
	void *base = make_sections(max + 1);
	struct jit_sframe_register reg;
	unsigned int i;

	for (i = 0; i < max; i++) {
		reg = section_registration(base, i);
		ASSERT_EQ(0, jit_sframe_register(&reg));
	}
	reg = section_registration(base, max);
	EXPECT_EQ(-ENOSPC, jit_sframe_register(&reg));
	EXPECT_EQ(max, nr_areas());
	EXPECT_EQ(0, jit_sframe_unregister(base));
	EXPECT_EQ(0, jit_sframe_register(&reg));
	EXPECT_EQ(-ENOSPC, jit_sframe_register(&self->reg));
}

/* A section whose every walk would fail is not registered to begin with. */
TEST_F(abi, static_section_that_no_walk_could_use)
{
	void *base = make_sections(1);
	struct section sec = { .base = base };
	struct jit_sframe_register reg = section_registration(base, 0);
	struct sframe_header *header = section_header(&sec);
	__u8 flags = header->flags;

	header->flags = flags & ~SFRAME_F_SORTED;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&reg));
	header->flags = flags | 0x80;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&reg));

	reg.flags |= JIT_SFRAME_TEXT_RELATIVE;
	header->flags = SFRAME_F_SORTED | SFRAME_F_PCREL;
	EXPECT_EQ(-EINVAL, jit_sframe_register(&reg));
	header->flags = SFRAME_F_SORTED;
	EXPECT_EQ(0, jit_sframe_register(&reg));
}

#define NR_SOME	61

TEST_F(abi, any_order)
{
	void *base = make_sections(NR_SOME);
	struct jit_sframe_register regs[NR_SOME], reg;
	struct jit_sframe_query query = {
		.areas_capacity = NR_SOME,
		.areas = (__u64)regs,
		.area_struct_size = sizeof(reg),
	};
	unsigned int i;

	/* 23 has no factor in common with 61: each once, in no order. */
	for (i = 0; i < NR_SOME; i++) {
		reg = section_registration(base, i * 23 % NR_SOME);
		ASSERT_EQ(0, jit_sframe_register(&reg));
	}
	ASSERT_EQ(0, jit_sframe_query(&query));
	EXPECT_EQ(NR_SOME, query.nr_areas);
	for (i = 0; i < NR_SOME; i++)
		EXPECT_EQ(FAR_TEXT + i * 0x1000, regs[i].text_start);
	for (i = 0; i < NR_SOME; i++)
		EXPECT_EQ(0, jit_sframe_unregister(base + i * 31 % NR_SOME * 28));
	EXPECT_EQ(0, nr_areas());
}

/* No more is written than there is room for, and the number is true. */
TEST_F(abi, query_with_little_room)
{
	void *base = make_sections(3);
	struct jit_sframe_register regs[3], reg;
	struct jit_sframe_query query = {
		.areas_capacity = 2,
		.areas = (__u64)regs,
		.area_struct_size = sizeof(reg),
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		reg = section_registration(base, i);
		ASSERT_EQ(0, jit_sframe_register(&reg));
	}
	memset(regs, 0xee, sizeof(regs));
	ASSERT_EQ(0, jit_sframe_query(&query));
	EXPECT_EQ(3, query.nr_areas);
	EXPECT_EQ(FAR_TEXT + 0x1000, regs[1].text_start);
	EXPECT_EQ(0xeeeeeeeeeeeeeeeeULL, regs[2].text_start);
}

/* A caller may know a larger element than the kernel, and never a smaller. */
TEST_F(abi, query_with_larger_elements)
{
	struct {
		struct jit_sframe_register reg;
		__u64 more;
	} got[2];
	struct jit_sframe_register reg;
	void *base = make_sections(2);
	struct jit_sframe_query query = {
		.areas_capacity = 2,
		.areas = (__u64)got,
		.area_struct_size = sizeof(got[0]),
	};
	unsigned int i;

	memset(got, 0xee, sizeof(got));
	for (i = 0; i < 2; i++) {
		reg = section_registration(base, i);
		ASSERT_EQ(0, jit_sframe_register(&reg));
	}
	ASSERT_EQ(0, jit_sframe_query(&query));
	for (i = 0; i < 2; i++) {
		reg = section_registration(base, i);
		EXPECT_EQ(0, memcmp(&got[i].reg, &reg, sizeof(reg)));
		EXPECT_EQ(0, got[i].more);
	}
	query.area_struct_size = sizeof(reg) - 1;
	EXPECT_EQ(-EINVAL, jit_sframe_query(&query));
	query.area_struct_size = 0;
	EXPECT_EQ(-EINVAL, jit_sframe_query(&query));
	query.area_struct_size = JIT_SFRAME_MAX_STRUCT_SIZE + 1;
	EXPECT_EQ(-E2BIG, jit_sframe_query(&query));
}

#define FAILSLAB "/sys/kernel/debug/failslab/"

/* Let the nth allocation of this task from here on fail. */
static bool fail_allocation(unsigned int nth)
{
	char value[16];

	snprintf(value, sizeof(value), "%u", nth);
	return write_file("/proc/thread-self/fail-nth", value);
}

/* Whichever allocation fails, the call says so and has changed nothing. */
TEST_F(abi, enomem)
{
	struct jit_sframe_register reg;
	void *base = make_sections(1);
	unsigned int nth;
	long ret;

	/* No report of each failure, and of those that may sleep, too. */
	if (!write_file(FAILSLAB "verbose", "0") ||
	    !write_file(FAILSLAB "ignore-gfp-wait", "N") ||
	    !fail_allocation(0))
		SKIP(return, "no failslab in debugfs (CONFIG_FAILSLAB)");

	reg = section_registration(base, 0);
	ASSERT_EQ(0, jit_sframe_register(&reg));
	for (nth = 1; nth < 16; nth++) {
		ASSERT_TRUE(fail_allocation(nth));
		ret = jit_sframe_register(&self->reg);
		fail_allocation(0);
		if (!ret)
			break;
		EXPECT_EQ(-ENOMEM, ret);
		EXPECT_EQ(1, nr_areas());
	}
	EXPECT_LT(1, nth);
	EXPECT_LT(nth, 16);
	for (nth = 1; nth < 16; nth++) {
		ASSERT_TRUE(fail_allocation(nth));
		ret = jit_sframe_unregister(self->jit.area.head);
		fail_allocation(0);
		if (!ret)
			break;
		EXPECT_EQ(-ENOMEM, ret);
		EXPECT_EQ(2, nr_areas());
	}
	EXPECT_LT(nth, 16);
	EXPECT_EQ(1, nr_areas());
}

TEST_F(abi, compat)
{
	long op, ret;

	for (op = JIT_SFRAME_REGISTER; op <= JIT_SFRAME_QUERY; op++) {
		if (!code_compat_prctl(PR_JIT_SFRAME, op, &ret))
			SKIP(return, "no 32-bit system calls");
		EXPECT_EQ(-EOPNOTSUPP, ret);
	}
}

TEST_HARNESS_MAIN
