// SPDX-License-Identifier: GPL-2.0
/*
 * JIT SFrame areas: which memory describes which text, for each process.
 */
#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/compat.h>
#include <linux/jit_sframe.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "jit_sframe.h"
#include "sframe.h"

#define JIT_SFRAME_REGISTER_SIZE_VER0	40
#define JIT_SFRAME_UNREGISTER_SIZE_VER0	8
#define JIT_SFRAME_QUERY_SIZE_VER0	48

static_assert(sizeof(struct jit_sframe_register) == JIT_SFRAME_REGISTER_SIZE_VER0);
static_assert(sizeof(struct jit_sframe_unregister) == JIT_SFRAME_UNREGISTER_SIZE_VER0);
static_assert(sizeof(struct jit_sframe_query) == JIT_SFRAME_QUERY_SIZE_VER0);
static_assert(sizeof(struct jit_sframe_area) == 128);
static_assert(offsetof(struct jit_sframe_area, live) == 8);

static atomic64_t jit_sframe_last_id = ATOMIC64_INIT(0);

static struct jit_sframe_registry *registry_alloc(u32 nr)
{
	struct jit_sframe_registry *registry;

	registry = kvmalloc(struct_size(registry, entries, nr),
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
 * Not kvfree_rcu(), and not lazily: both gather for seconds what a process with
 * many areas gives up at 192 KiB a registration.
 */
static void registry_put(struct jit_sframe_registry *registry)
{
	if (registry && refcount_dec_and_test(&registry->refs))
		call_rcu_hurry(&registry->rcu, registry_free_rcu);
}

/* The first area whose text ends above pc; registry->nr if there is none. */
static u32 registry_search(const struct jit_sframe_registry *registry, u64 pc)
{
	u32 low = 0, high = registry->nr;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		const struct jit_sframe_register *area = &registry->entries[mid].reg;

		if (area->text_start + area->text_size <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct jit_sframe_entry *
jit_sframe_registry_find(const struct jit_sframe_registry *registry, u64 pc)
{
	u32 i = registry_search(registry, pc);

	if (i == registry->nr || pc < registry->entries[i].reg.text_start)
		return NULL;
	return &registry->entries[i];
}

static int registry_index_of(const struct jit_sframe_registry *registry,
			     u64 area)
{
	u32 i;

	for (i = 0; registry && i < registry->nr; i++) {
		if (registry->entries[i].reg.area == area)
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
		if (at < nr && old->entries[at].reg.text_start <
			       area->text_start + area->text_size)
			return ERR_PTR(-EBUSY);
		if (registry_index_of(old, area->area) >= 0)
			return ERR_PTR(-EBUSY);
	}
	if (nr >= JIT_SFRAME_MAX_AREAS)
		return ERR_PTR(-ENOSPC);

	new = registry_alloc(nr + 1);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->entries[at].reg = *area;
	new->entries[at].id = atomic64_inc_return(&jit_sframe_last_id);
	if (old) {
		memcpy(new->entries, old->entries, at * sizeof(*old->entries));
		memcpy(new->entries + at + 1, old->entries + at,
		       (nr - at) * sizeof(*old->entries));
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
	memcpy(new->entries, old->entries, index * sizeof(*old->entries));
	memcpy(new->entries + index, old->entries + index + 1,
	       (nr - index) * sizeof(*old->entries));
	return new;
}

/* A reference, so that it may be used where the caller sleeps. */
static struct jit_sframe_registry *mm_registry_get(struct mm_struct *mm)
{
	struct jit_sframe_registry *registry;

	guard(rcu)();
	do {
		registry = rcu_dereference(mm->jit_sframe);
	} while (registry && !refcount_inc_not_zero(&registry->refs));
	return registry;
}

/*
 * Put @new in the place of @old, of which the caller has a reference, so that no
 * other registry can have come to lie at its address meanwhile. Writers are
 * rare: one that loses makes its registry anew, and nobody waits.
 *
 * Return: whether @old was still there. Both references are used up.
 */
static bool mm_registry_replace(struct mm_struct *mm,
				struct jit_sframe_registry *old,
				struct jit_sframe_registry *new)
{
	bool same = unrcu_pointer(cmpxchg(&mm->jit_sframe,
					  RCU_INITIALIZER(old),
					  RCU_INITIALIZER(new))) == old;

	registry_put(old);
	/* Of the one that is in the process no more, or never was. */
	registry_put(same ? old : new);
	return same;
}

/**
 * jit_sframe_mm_dup - give a forked process its parent's areas
 * @mm: the child's, nobody else sees it yet
 * @oldmm: the parent's, its threads may be registering
 *
 * The child has a copy of the parent's memory, areas and text included. Called
 * when all of it has been write-protected, with @oldmm's mmap lock still held: an
 * area that is registered now has been mapped before the copy was made, and
 * whoever wants to put the memory of one that is not to another use has to wait.
 */
void jit_sframe_mm_dup(struct mm_struct *mm, struct mm_struct *oldmm)
{
	mmap_assert_write_locked(oldmm);
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
 * @entry: set if there is one: a copy, since the caller may fault
 *
 * Context: Any, NMI included.
 * Return: whether there is one.
 */
bool jit_sframe_find_area(u64 pc, struct jit_sframe_entry *entry)
{
	const struct jit_sframe_entry *found;
	const struct jit_sframe_registry *registry;

	guard(rcu)();
	registry = rcu_dereference(current->mm->jit_sframe);
	if (!registry)
		return false;
	found = jit_sframe_registry_find(registry, pc);
	if (found)
		*entry = *found;
	return found;
}

/**
 * jit_sframe_area_stays - was the area there while it was read?
 * @pc: the address it was looked up for
 * @entry: what jit_sframe_find_area() found before it was read
 *
 * Another thread may have taken the area away meanwhile, and put its memory to
 * another use, even that of another area.
 *
 * Context: Any, NMI included.
 * Return: whether it is still registered, and has been all the time.
 */
bool jit_sframe_area_stays(u64 pc, const struct jit_sframe_entry *entry)
{
	struct jit_sframe_entry again;

	/*
	 * Pairs with the barrier in jit_sframe_unregister(): whoever read a
	 * byte written after that returned finds the area gone.
	 */
	smp_rmb();
	return jit_sframe_find_area(pc, &again) && again.id == entry->id;
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
	struct jit_sframe_registry *old, *new;
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

	do {
		old = mm_registry_get(current->mm);
		new = jit_sframe_registry_insert(old, &area);
		if (IS_ERR(new)) {
			registry_put(old);
			return PTR_ERR(new);
		}
	} while (!mm_registry_replace(current->mm, old, new));
	return 0;
}

static int jit_sframe_unregister(void __user *arg, size_t size)
{
	struct jit_sframe_unregister unregister;
	struct jit_sframe_registry *old, *new;
	int ret, index;

	if (size < JIT_SFRAME_UNREGISTER_SIZE_VER0)
		return -EINVAL;
	ret = copy_struct_from_user(&unregister, sizeof(unregister), arg, size);
	if (ret)
		return ret;

	do {
		old = mm_registry_get(current->mm);
		index = registry_index_of(old, unregister.area);
		new = index < 0 ? ERR_PTR(index) :
				  jit_sframe_registry_remove(old, index);
		if (IS_ERR(new)) {
			registry_put(old);
			return PTR_ERR(new);
		}
	} while (!mm_registry_replace(current->mm, old, new));
	/* Pairs with jit_sframe_area_stays(): the memory may be written now. */
	smp_mb();
	return 0;
}

static int query_areas(const struct jit_sframe_query *query,
		       const struct jit_sframe_registry *registry)
{
	u32 nr = min(query->areas_capacity, query->nr_areas);
	u64 element = query->areas;
	u32 i;
	int ret;

	if (!query->areas)
		return 0;
	if (query->area_struct_size < JIT_SFRAME_REGISTER_SIZE_VER0)
		return -EINVAL;
	if (query->area_struct_size > JIT_SFRAME_MAX_STRUCT_SIZE)
		return -E2BIG;
	for (i = 0; i < nr; i++, element += query->area_struct_size) {
		ret = copy_struct_to_user(u64_to_user_ptr(element),
					  query->area_struct_size,
					  &registry->entries[i].reg,
					  sizeof(registry->entries[i].reg), NULL);
		if (ret)
			return ret;
		cond_resched();
	}
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
	if (query.reserved)
		return -EINVAL;

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
	if (size > JIT_SFRAME_MAX_STRUCT_SIZE)
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
