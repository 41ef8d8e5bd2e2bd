/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_UNWIND_JIT_SFRAME_H
#define _KERNEL_UNWIND_JIT_SFRAME_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/unwind_user_types.h>
#include <uapi/linux/jit_sframe.h>

#include "sframe_row.h"

/**
 * struct jit_sframe_entry - a registered area
 * @reg: as it was registered
 * @id: of this registration: no other one of any process ever has the same
 */
struct jit_sframe_entry {
	struct jit_sframe_register reg;
	u64 id;
};

/**
 * struct jit_sframe_registry - the areas of a process, never changed
 * @rcu: for the delayed free
 * @refs: the mms that share it: a fork takes a reference, not a copy
 * @nr: number of @entries
 * @entries: sorted by text_start; their texts do not overlap
 *
 * Registration replaces the whole of it, so that a reader in any context needs
 * one pointer and no lock.
 */
struct jit_sframe_registry {
	struct rcu_head rcu;
	refcount_t refs;
	u32 nr;
	struct jit_sframe_entry entries[] __counted_by(nr);
};

struct jit_sframe_registry *
jit_sframe_registry_insert(const struct jit_sframe_registry *old,
			   const struct jit_sframe_register *area);
struct jit_sframe_registry *
jit_sframe_registry_remove(const struct jit_sframe_registry *old, u32 index);
const struct jit_sframe_entry *
jit_sframe_registry_find(const struct jit_sframe_registry *registry, u64 pc);

bool jit_sframe_find_area(u64 pc, struct jit_sframe_entry *entry);
bool jit_sframe_area_stays(u64 pc, const struct jit_sframe_entry *entry);
int jit_sframe_check_area(const struct jit_sframe_register *area);
int jit_sframe_lookup(const struct jit_sframe_register *area, u64 pc,
		      struct jit_sframe_budget *budget, struct sframe_row *row);

#endif /* _KERNEL_UNWIND_JIT_SFRAME_H */
