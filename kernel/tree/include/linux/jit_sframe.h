/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_JIT_SFRAME_H
#define _LINUX_JIT_SFRAME_H

#include <linux/mm_types.h>

#ifdef CONFIG_JIT_SFRAME

/**
 * jit_sframe_active - does a process have areas?
 * @mm: the process's, not NULL
 *
 * One load: what a process that registers nothing pays for a user stack that
 * is taken in an interrupt, and once for a deferred one. The answer may be out of
 * date at once; it only picks the unwinder.
 *
 * Return: whether any is registered.
 */
static __always_inline bool jit_sframe_active(const struct mm_struct *mm)
{
	return rcu_access_pointer(mm->jit_sframe);
}

static inline void jit_sframe_mm_init(struct mm_struct *mm)
{
	RCU_INIT_POINTER(mm->jit_sframe, NULL);
}

void jit_sframe_mm_dup(struct mm_struct *mm, struct mm_struct *oldmm);
void jit_sframe_mm_exit(struct mm_struct *mm);
int jit_sframe_prctl(unsigned long op, void __user *arg, size_t size);

#else /* !CONFIG_JIT_SFRAME */

static __always_inline bool jit_sframe_active(const struct mm_struct *mm)
{
	return false;
}

static inline void jit_sframe_mm_init(struct mm_struct *mm) {}
static inline void jit_sframe_mm_dup(struct mm_struct *mm,
				     struct mm_struct *oldmm) {}
static inline void jit_sframe_mm_exit(struct mm_struct *mm) {}

static inline int jit_sframe_prctl(unsigned long op, void __user *arg,
				   size_t size)
{
	return -EINVAL;
}

#endif /* !CONFIG_JIT_SFRAME */

#endif /* _LINUX_JIT_SFRAME_H */
