// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the registry of JIT SFrame areas.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/prandom.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "jit_sframe.h"
#include "sframe.h"

#define PAGE(n)		((u64)(n) << 12)
#define AREA(n)		(0x10000000ULL + PAGE(n))

static struct jit_sframe_register area_for(u64 n, u64 text_start, u64 text_size)
{
	return (struct jit_sframe_register) {
		.area = AREA(n),
		.area_size = PAGE(1),
		.text_start = text_start,
		.text_size = text_size,
	};
}

/* Replace *registry, which no reader can have, by one with an area more. */
static int insert(struct jit_sframe_registry **registry, u64 n, u64 text_start,
		  u64 text_size)
{
	struct jit_sframe_register area = area_for(n, text_start, text_size);
	struct jit_sframe_registry *new;

	new = jit_sframe_registry_insert(*registry, &area);
	if (IS_ERR(new))
		return PTR_ERR(new);
	kvfree(*registry);
	*registry = new;
	return 0;
}

static int remove_at(struct jit_sframe_registry **registry, u32 index)
{
	struct jit_sframe_registry *new;

	new = jit_sframe_registry_remove(*registry, index);
	if (IS_ERR(new))
		return PTR_ERR(new);
	kvfree(*registry);
	*registry = new;
	return 0;
}

static void test_sorted_whatever_the_order(struct kunit *test)
{
	static const u32 order[] = { 3, 1, 4, 0, 2 };
	struct jit_sframe_registry *registry = NULL;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		KUNIT_ASSERT_EQ(test, insert(&registry, order[i],
					     PAGE(10 * order[i] + 1), PAGE(5)), 0);
	KUNIT_ASSERT_EQ(test, registry->nr, ARRAY_SIZE(order));
	for (i = 0; i < registry->nr; i++)
		KUNIT_EXPECT_EQ(test, registry->entries[i].reg.area, AREA(i));
	kvfree(registry);
}

static void test_find_at_the_edges(struct kunit *test)
{
	struct jit_sframe_registry *registry = NULL;
	const struct jit_sframe_entry *found;

	KUNIT_ASSERT_EQ(test, insert(&registry, 1, PAGE(10), PAGE(2)), 0);
	KUNIT_ASSERT_EQ(test, insert(&registry, 2, PAGE(12), PAGE(1)), 0);

	KUNIT_EXPECT_NULL(test, jit_sframe_registry_find(registry, PAGE(10) - 1));
	KUNIT_EXPECT_NULL(test, jit_sframe_registry_find(registry, PAGE(13)));
	KUNIT_EXPECT_NULL(test, jit_sframe_registry_find(registry, 0));
	KUNIT_EXPECT_NULL(test, jit_sframe_registry_find(registry, U64_MAX));

	found = jit_sframe_registry_find(registry, PAGE(10));
	KUNIT_ASSERT_NOT_NULL(test, found);
	KUNIT_EXPECT_EQ(test, found->reg.area, AREA(1));
	found = jit_sframe_registry_find(registry, PAGE(12) - 1);
	KUNIT_ASSERT_NOT_NULL(test, found);
	KUNIT_EXPECT_EQ(test, found->reg.area, AREA(1));
	found = jit_sframe_registry_find(registry, PAGE(12));
	KUNIT_ASSERT_NOT_NULL(test, found);
	KUNIT_EXPECT_EQ(test, found->reg.area, AREA(2));
	kvfree(registry);
}

static void test_overlap_is_busy(struct kunit *test)
{
	struct jit_sframe_registry *registry = NULL;

	KUNIT_ASSERT_EQ(test, insert(&registry, 1, PAGE(10), PAGE(4)), 0);
	KUNIT_EXPECT_EQ(test, insert(&registry, 2, PAGE(10), PAGE(4)), -EBUSY);
	KUNIT_EXPECT_EQ(test, insert(&registry, 2, PAGE(11), 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, insert(&registry, 2, PAGE(9), PAGE(1) + 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, insert(&registry, 2, PAGE(14) - 1, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, insert(&registry, 2, PAGE(1), PAGE(100)), -EBUSY);
	/* The area itself is in use. */
	KUNIT_EXPECT_EQ(test, insert(&registry, 1, PAGE(20), PAGE(1)), -EBUSY);
	/* Neighbours do not overlap. */
	KUNIT_EXPECT_EQ(test, insert(&registry, 2, PAGE(9), PAGE(1)), 0);
	KUNIT_EXPECT_EQ(test, insert(&registry, 3, PAGE(14), PAGE(1)), 0);
	KUNIT_EXPECT_EQ(test, registry->nr, 3);
	kvfree(registry);
}

static void test_full(struct kunit *test)
{
	struct jit_sframe_registry *registry = NULL;
	u32 i;

	for (i = 0; i < JIT_SFRAME_MAX_AREAS; i++)
		KUNIT_ASSERT_EQ(test, insert(&registry, i, PAGE(2 * i + 1),
					     PAGE(1)), 0);
	KUNIT_EXPECT_EQ(test, insert(&registry, i, PAGE(2 * i + 1), PAGE(1)),
			-ENOSPC);
	KUNIT_ASSERT_EQ(test, remove_at(&registry, 7), 0);
	KUNIT_EXPECT_EQ(test, insert(&registry, i, PAGE(2 * i + 1), PAGE(1)), 0);
	kvfree(registry);
}

static void test_removing_the_last_leaves_nothing(struct kunit *test)
{
	struct jit_sframe_registry *registry = NULL;

	KUNIT_ASSERT_EQ(test, insert(&registry, 1, PAGE(1), PAGE(1)), 0);
	KUNIT_ASSERT_EQ(test, remove_at(&registry, 0), 0);
	KUNIT_EXPECT_NULL(test, registry);
}

/* A plain array of which page belongs to which area, and the same questions */
#define MODEL_PAGES	256

static void check_against_model(struct kunit *test,
				const struct jit_sframe_registry *registry,
				const u32 *owner)
{
	u32 page;

	for (page = 0; page < MODEL_PAGES; page++) {
		const struct jit_sframe_entry *found = NULL;

		if (registry)
			found = jit_sframe_registry_find(registry, PAGE(page) + 123);
		KUNIT_ASSERT_EQ(test, found ? found->reg.area : 0,
				owner[page] ? AREA(owner[page]) : 0);
	}
}

static bool model_insert(u32 *owner, u32 n, u32 start, u32 pages)
{
	u32 i;

	for (i = start; i < start + pages; i++) {
		if (owner[i])
			return false;
	}
	for (i = start; i < start + pages; i++)
		owner[i] = n;
	return true;
}

static void test_random_against_a_plain_array(struct kunit *test)
{
	struct jit_sframe_registry *registry = NULL;
	struct rnd_state rnd;
	u32 *owner, i, n;

	owner = kunit_kcalloc(test, MODEL_PAGES, sizeof(*owner), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, owner);
	prandom_seed_state(&rnd, 20260701);

	for (n = 1; n <= 500; n++) {
		u32 start = prandom_u32_state(&rnd) % (MODEL_PAGES - 16);
		u32 pages = 1 + prandom_u32_state(&rnd) % 16;
		int ret;

		if (registry && prandom_u32_state(&rnd) % 3 == 0) {
			u32 index = prandom_u32_state(&rnd) % registry->nr;
			u64 gone = registry->entries[index].reg.area;

			KUNIT_ASSERT_EQ(test, remove_at(&registry, index), 0);
			for (i = 0; i < MODEL_PAGES; i++) {
				if (owner[i] && AREA(owner[i]) == gone)
					owner[i] = 0;
			}
		}
		ret = insert(&registry, n, PAGE(start), PAGE(pages));
		KUNIT_ASSERT_EQ(test, ret, model_insert(owner, n, start, pages) ?
				0 : -EBUSY);
		check_against_model(test, registry, owner);
	}
	kvfree(registry);
}

/* The same area registered twice is two registrations. */
static void test_each_registration_has_its_own_id(struct kunit *test)
{
	struct jit_sframe_registry *registry = NULL;
	u64 first, second;

	KUNIT_ASSERT_EQ(test, insert(&registry, 1, PAGE(10), PAGE(1)), 0);
	KUNIT_ASSERT_EQ(test, insert(&registry, 2, PAGE(20), PAGE(1)), 0);
	first = registry->entries[0].id;
	second = registry->entries[1].id;
	KUNIT_EXPECT_NE(test, first, second);

	KUNIT_ASSERT_EQ(test, remove_at(&registry, 0), 0);
	KUNIT_EXPECT_EQ(test, registry->entries[0].id, second);
	KUNIT_ASSERT_EQ(test, insert(&registry, 1, PAGE(10), PAGE(1)), 0);
	KUNIT_EXPECT_NE(test, registry->entries[0].id, first);
	KUNIT_EXPECT_EQ(test, registry->entries[1].id, second);
	kvfree(registry);
}

#define TEXT		0x400000ULL
#define NR_ROWS		100

/* A static section that describes one function of NR_ROWS equal rows. */
struct long_section {
	struct sframe_header header;
	struct sframe_func_desc_idx index;
	struct sframe_func_desc_attr attr;
	u8 rows[NR_ROWS][3];
} __packed;

static void fill_long_section(struct long_section *section)
{
	u8 i;

	*section = (struct long_section) {
		.header = {
			.sfp_magic = SFRAME_MAGIC,
			.sfp_version = SFRAME_VERSION_3,
			.sfp_flags = SFRAME_F_FDE_SORTED,
			.sfh_abi_arch = UNWIND_USER_SFRAME_ABI,
			.sfh_cfa_fixed_ra_offset = -8,
			.sfh_num_fdes = 1,
			.sfh_num_fres = NR_ROWS,
			.sfh_fre_len = sizeof(section->attr) +
				       sizeof(section->rows),
			.sfh_freoff = sizeof(section->index),
		},
		.index.sfdi_func_size = NR_ROWS,
		.attr.sfda_func_num_fres = NR_ROWS,
	};
	for (i = 0; i < NR_ROWS; i++) {
		section->rows[i][0] = i;
		section->rows[i][1] = 1 << 1 | SFRAME_FRE_CFA_BASE_SP;
		section->rows[i][2] = 16;
	}
}

/* User memory that a section was copied to. */
static struct jit_sframe_register make_long_area(struct kunit *test)
{
	struct long_section *section;
	unsigned long user;

	section = kunit_kmalloc(test, sizeof(*section), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, section);
	fill_long_section(section);
	user = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(user) || !user);
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)user, section,
					   sizeof(*section)), 0);
	return (struct jit_sframe_register) {
		.area = user,
		.area_size = sizeof(*section),
		.text_start = TEXT,
		.text_size = NR_ROWS,
		.flags = JIT_SFRAME_STATIC | JIT_SFRAME_TEXT_RELATIVE,
	};
}

/*
 * KUnit leaves the mm to the end of the thread, which drops one reference of the
 * two that were taken.
 */
static void drop_user_memory(void)
{
	struct mm_struct *mm = current->mm;

	kthread_unuse_mm(mm);
	mmput(mm);
}

/* What one frame's function costs is not there for the next one's. */
static void test_a_walk_reads_so_many_rows(struct kunit *test)
{
	struct jit_sframe_register area = make_long_area(test);
	struct jit_sframe_budget budget = {
		.rows = 2 * (32 + NR_ROWS) + 1,
		.max_static_rows = NR_ROWS,
	};
	struct sframe_row row;

	KUNIT_EXPECT_EQ(test, jit_sframe_lookup(&area, TEXT, &budget, &row), 0);
	KUNIT_EXPECT_EQ(test, budget.rows, 32 + NR_ROWS + 1);
	KUNIT_EXPECT_EQ(test, jit_sframe_lookup(&area, TEXT + NR_ROWS - 1,
						&budget, &row), 0);
	KUNIT_EXPECT_EQ(test, budget.rows, 1);
	KUNIT_EXPECT_EQ(test, jit_sframe_lookup(&area, TEXT, &budget, &row),
			-E2BIG);

	/* An address that no function covers costs the search. */
	budget.rows = 33;
	KUNIT_EXPECT_EQ(test, jit_sframe_lookup(&area, TEXT + NR_ROWS, &budget,
						&row), -ENOENT);
	KUNIT_EXPECT_EQ(test, budget.rows, 1);
	KUNIT_EXPECT_EQ(test, jit_sframe_lookup(&area, TEXT + NR_ROWS, &budget,
						&row), -E2BIG);
	drop_user_memory();
}

static void test_a_function_has_so_many_rows(struct kunit *test)
{
	struct jit_sframe_register area = make_long_area(test);
	struct jit_sframe_budget budget = {
		.rows = 10 * NR_ROWS,
		.max_static_rows = NR_ROWS - 1,
	};
	struct sframe_row row;

	KUNIT_EXPECT_EQ(test, jit_sframe_lookup(&area, TEXT, &budget, &row),
			-E2BIG);
	budget.max_static_rows++;
	KUNIT_EXPECT_EQ(test, jit_sframe_lookup(&area, TEXT, &budget, &row), 0);
	drop_user_memory();
}

static struct kunit_case jit_sframe_cases[] = {
	KUNIT_CASE(test_sorted_whatever_the_order),
	KUNIT_CASE(test_find_at_the_edges),
	KUNIT_CASE(test_overlap_is_busy),
	KUNIT_CASE(test_full),
	KUNIT_CASE(test_removing_the_last_leaves_nothing),
	KUNIT_CASE(test_random_against_a_plain_array),
	KUNIT_CASE(test_each_registration_has_its_own_id),
	KUNIT_CASE(test_a_walk_reads_so_many_rows),
	KUNIT_CASE(test_a_function_has_so_many_rows),
	{}
};

static struct kunit_suite jit_sframe_suite = {
	.name = "jit_sframe",
	.test_cases = jit_sframe_cases,
};

kunit_test_suite(jit_sframe_suite);
