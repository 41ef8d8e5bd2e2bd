// SPDX-License-Identifier: GPL-2.0
/*
 * JIT SFrame areas: which memory describes which text, for each process.
 */
#include <linux/cleanup.h>
#include <linux/compat.h>
#include <linux/jit_sframe.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "jit_sframe.h"
#include "sframe.h"

#define JIT_SFRAME_REGISTER_SIZE_VER0	40
#define JIT_SFRAME_UNREGISTER_SIZE_VER0	8
#define JIT_SFRAME_QUERY_SIZE_VER0	40

static_assert(sizeof(struct jit_sframe_register) == JIT_SFRAME_REGISTER_SIZE_VER0);
static_assert(sizeof(struct jit_sframe_unregister) == JIT_SFRAME_UNREGISTER_SIZE_VER0);
static_assert(sizeof(struct jit_sframe_query) == JIT_SFRAME_QUERY_SIZE_VER0);
static_assert(sizeof(struct jit_sframe_area) == 128);
static_assert(offsetof(struct jit_sframe_area, live) == 8);

/*
 * Serialises the writers of all processes: they are rare, short and hold it
 * across an allocation only. Readers take no lock.
 */
static DEFINE_MUTEX(jit_sframe_mutex);

static struct jit_sframe_registry *registry_alloc(u32 nr)
{
	struct jit_sframe_registry *registry;

	registry = kvmalloc(struct_size(registry, areas, nr),
			    GFP_KERNEL_ACCOUNT);
	if (!registry)
		return NULL;
	refcount_set(&registry->refs, 1);
	registry->nr = nr;
	return registry;
}

static void registry_free_rcu(struct rcu_head *rcu)
{
	kvfree(container_of(rcu, struct jit_sframe_registry, rcu));
}

/*
 * Not kvfree_rcu(): that gathers for seconds what a process with many areas
 * gives up at 160 KiB a registration.
 */
static void registry_put(struct jit_sframe_registry *registry)
{
	if (registry && refcount_dec_and_test(&registry->refs))
		call_rcu(&registry->rcu, registry_free_rcu);
}

/* The first area whose text ends above pc; registry->nr if there is none. */
static u32 registry_search(const struct jit_sframe_registry *registry, u64 pc)
{
	u32 low = 0, high = registry->nr;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		const struct jit_sframe_register *area = &registry->areas[mid];

		if (area->text_start + area->text_size <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct jit_sframe_register *
jit_sframe_registry_find(const struct jit_sframe_registry *registry, u64 pc)
{
	u32 i = registry_search(registry, pc);

	if (i == registry->nr || pc < registry->areas[i].text_start)
		return NULL;
	return &registry->areas[i];
}

static int registry_index_of(const struct jit_sframe_registry *registry,
			     u64 area)
{
	u32 i;

	for (i = 0; registry && i < registry->nr; i++) {
		if (registry->areas[i].area == area)
			return i;
	}
	return -ENOENT;
}

/**
 * jit_sframe_registry_insert - a registry with one area more
 * @old: the registry to start from, or NULL
 * @area: the area, valid by itself
 *
 * Return: the new registry; -EBUSY if the text overlaps that of another area
 * or the area is in use already, -ENOSPC if there are too many, -ENOMEM.
 */
struct jit_sframe_registry *
jit_sframe_registry_insert(const struct jit_sframe_registry *old,
			   const struct jit_sframe_register *area)
{
	struct jit_sframe_registry *new;
	u32 nr = old ? old->nr : 0;
	u32 at = 0;

	if (old) {
		at = registry_search(old, area->text_start);
		if (at < nr &&
		    old->areas[at].text_start < area->text_start + area->text_size)
			return ERR_PTR(-EBUSY);
		if (registry_index_of(old, area->area) >= 0)
			return ERR_PTR(-EBUSY);
	}
	if (nr >= JIT_SFRAME_MAX_AREAS)
		return ERR_PTR(-ENOSPC);

	new = registry_alloc(nr + 1);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->areas[at] = *area;
	if (old) {
		memcpy(new->areas, old->areas, at * sizeof(*area));
		memcpy(new->areas + at + 1, old->areas + at,
		       (nr - at) * sizeof(*area));
	}
	return new;
}

/**
 * jit_sframe_registry_remove - a registry with one area less
 * @old: the registry to start from
 * @index: which area goes
 *
 * Return: the new registry, NULL if it is empty, -ENOMEM.
 */
struct jit_sframe_registry *
jit_sframe_registry_remove(const struct jit_sframe_registry *old, u32 index)
{
	struct jit_sframe_registry *new;
	u32 nr = old->nr - 1;

	if (!nr)
		return NULL;
	new = registry_alloc(nr);
	if (!new)
		return ERR_PTR(-ENOMEM);
	memcpy(new->areas, old->areas, index * sizeof(*old->areas));
	memcpy(new->areas + index, old->areas + index + 1,
	       (nr - index) * sizeof(*old->areas));
	return new;
}

static struct jit_sframe_registry *mm_registry(struct mm_struct *mm)
{
	return rcu_dereference_protected(mm->jit_sframe,
					 lockdep_is_held(&jit_sframe_mutex));
}

/* Readers may still be in the old registry: they have it under RCU. */
static void mm_registry_replace(struct mm_struct *mm,
				struct jit_sframe_registry *new)
{
	struct jit_sframe_registry *old = mm_registry(mm);

	rcu_assign_pointer(mm->jit_sframe, new);
	registry_put(old);
}

/* A reference, so that it may be read where the caller sleeps. */
static struct jit_sframe_registry *mm_registry_get(struct mm_struct *mm)
{
	struct jit_sframe_registry *registry;

	guard(rcu)();
	do {
		registry = rcu_dereference(mm->jit_sframe);
	} while (registry && !refcount_inc_not_zero(&registry->refs));
	return registry;
}

/**
 * jit_sframe_mm_dup - give a forked process its parent's areas
 * @mm: the child's, nobody else sees it yet
 * @oldmm: the parent's, its threads may be registering
 *
 * The child has a copy of the parent's memory, areas and text included.
 */
void jit_sframe_mm_dup(struct mm_struct *mm, struct mm_struct *oldmm)
{
	RCU_INIT_POINTER(mm->jit_sframe, mm_registry_get(oldmm));
}

/**
 * jit_sframe_mm_exit - forget the areas of a process that is gone
 * @mm: no task runs on it any more
 */
void jit_sframe_mm_exit(struct mm_struct *mm)
{
	registry_put(rcu_replace_pointer(mm->jit_sframe, NULL, true));
}

/**
 * jit_sframe_find_area - the current process's area for an address
 * @pc: the address
 * @area: set if there is one: a copy, since the caller may fault
 *
 * Context: Any, NMI included.
 * Return: whether there is one.
 */
bool jit_sframe_find_area(u64 pc, struct jit_sframe_register *area)
{
	const struct jit_sframe_register *found;
	const struct jit_sframe_registry *registry;

	guard(rcu)();
	registry = rcu_dereference(current->mm->jit_sframe);
	if (!registry)
		return false;
	found = jit_sframe_registry_find(registry, pc);
	if (found)
		*area = *found;
	return found;
}

static bool user_range_ok(u64 start, u64 size)
{
	u64 end;

	return size && !check_add_overflow(start, size, &end) &&
	       end <= TASK_SIZE_MAX;
}

static int check_flags(const struct jit_sframe_register *area)
{
	if (area->flags & ~JIT_SFRAME_FLAGS)
		return -EINVAL;
	if ((area->flags & JIT_SFRAME_TEXT_RELATIVE) &&
	    !(area->flags & JIT_SFRAME_STATIC))
		return -EINVAL;
	if (!(area->flags & JIT_SFRAME_FRAME_REG))
		return area->frame_reg ? -EINVAL : 0;
	return unwind_user_frame_reg_ok(area->frame_reg) ? 0 : -EINVAL;
}

static int check_ranges(const struct jit_sframe_register *area)
{
	if (!user_range_ok(area->area, area->area_size) ||
	    !user_range_ok(area->text_start, area->text_size))
		return -EINVAL;
	if (area->area_size > JIT_SFRAME_MAX_AREA_SIZE)
		return -EINVAL;
	if (area->flags & JIT_SFRAME_STATIC)
		return IS_ALIGNED(area->area, 4) &&
		       area->area_size >= sizeof(struct sframe_header) ? 0 : -EINVAL;
	return PAGE_ALIGNED(area->area) && PAGE_ALIGNED(area->area_size) ?
	       0 : -EINVAL;
}

static int jit_sframe_register(void __user *arg, size_t size)
{
	struct mm_struct *mm = current->mm;
	struct jit_sframe_registry *new;
	struct jit_sframe_register area;
	int ret;

	if (size < JIT_SFRAME_REGISTER_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&area, sizeof(area), arg, size);
	if (ret)
		return ret;
	ret = check_flags(&area) ?: check_ranges(&area);
	if (ret)
		return ret;
	ret = jit_sframe_check_area(&area);
	if (ret)
		return ret;

	scoped_cond_guard(mutex_kill, return -EINTR, &jit_sframe_mutex) {
		new = jit_sframe_registry_insert(mm_registry(mm), &area);
		if (IS_ERR(new))
			return PTR_ERR(new);
		mm_registry_replace(mm, new);
	}
	return 0;
}

static int jit_sframe_unregister(void __user *arg, size_t size)
{
	struct mm_struct *mm = current->mm;
	struct jit_sframe_unregister unregister;
	struct jit_sframe_registry *new;
	int ret, index;

	if (size < JIT_SFRAME_UNREGISTER_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&unregister, sizeof(unregister), arg, size);
	if (ret)
		return ret;

	scoped_cond_guard(mutex_kill, return -EINTR, &jit_sframe_mutex) {
		index = registry_index_of(mm_registry(mm), unregister.area);
		if (index < 0)
			return index;
		new = jit_sframe_registry_remove(mm_registry(mm), index);
		if (IS_ERR(new))
			return PTR_ERR(new);
		mm_registry_replace(mm, new);
	}
	return 0;
}

static int query_areas(const struct jit_sframe_query *query,
		       const struct jit_sframe_registry *registry)
{
	u32 nr = min(query->areas_capacity, query->nr_areas);

	if (!query->areas || !nr)
		return 0;
	if (copy_to_user(u64_to_user_ptr(query->areas), registry->areas,
			 nr * sizeof(*registry->areas)))
		return -EFAULT;
	return 0;
}

static int jit_sframe_query(void __user *arg, size_t size)
{
	struct jit_sframe_registry *registry;
	struct jit_sframe_query query;
	int ret;

	if (size < JIT_SFRAME_QUERY_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&query, sizeof(query), arg, size);
	if (ret)
		return ret;

	registry = mm_registry_get(current->mm);
	query.abi_version = JIT_SFRAME_ABI_VERSION;
	query.features = JIT_SFRAME_FEATURE_LIVE | JIT_SFRAME_FEATURE_STATIC |
			 JIT_SFRAME_FEATURE_FLEXIBLE |
			 JIT_SFRAME_FEATURE_FRAME_REG;
	query.nr_areas = registry ? registry->nr : 0;
	query.max_areas = JIT_SFRAME_MAX_AREAS;
	query.max_live_rows = JIT_SFRAME_MAX_LIVE_ROWS;
	query.max_static_rows = JIT_SFRAME_MAX_STATIC_ROWS;

	ret = query_areas(&query, registry);
	registry_put(registry);
	if (ret)
		return ret;
	return copy_struct_to_user(arg, size, &query, sizeof(query), NULL);
}

/**
 * jit_sframe_prctl - prctl(PR_JIT_SFRAME)
 * @op: JIT_SFRAME_REGISTER, _UNREGISTER or _QUERY
 * @arg: the operation's struct
 * @size: its size, as the caller knows it
 *
 * Return: 0 or an error that include/uapi/linux/jit_sframe.h names.
 */
int jit_sframe_prctl(unsigned long op, void __user *arg, size_t size)
{
	if (in_compat_syscall())
		return -EOPNOTSUPP;
	/* All of what a caller knows beyond us is looked at: bound that. */
	if (size > PAGE_SIZE)
		return -E2BIG;

	switch (op) {
	case JIT_SFRAME_REGISTER:
		return jit_sframe_register(arg, size);
	case JIT_SFRAME_UNREGISTER:
		return jit_sframe_unregister(arg, size);
	case JIT_SFRAME_QUERY:
		return jit_sframe_query(arg, size);
	default:
		return -EINVAL;
	}
}
