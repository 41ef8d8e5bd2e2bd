// SPDX-License-Identifier: GPL-2.0
/*
 * Reading JIT SFrame areas while the process writes them.
 *
 * Where the caller may not sleep it has disabled page faults, and a page that
 * is not there reads as a fault. The text and the area are the process's own,
 * and so is what it gets out of them: the worst that hostile bytes can do is to
 * make its own stack look wrong.
 */
#include <linux/jit_sframe.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include "jit_sframe.h"

/*
 * The ranges were checked against TASK_SIZE_MAX when they were registered, and
 * the decoder stays in them, so no access_ok() is needed for each byte.
 */
static int read_user(void *dst, u64 address, size_t len)
{
	const void __user *src = u64_to_user_ptr(address);

	return __copy_from_user_inatomic(dst, src, len) ? -EFAULT : 0;
}

/*
 * The barriers make the loads before them acquires: smp_rmb() is enough, since
 * only reads follow.
 */
static int read_user_acquire_u32(u32 *dst, u64 address)
{
	if (__get_user(*dst, (u32 __user *)u64_to_user_ptr(address)))
		return -EFAULT;
	/* Pairs with the writer's store-release of sfh_num_fdes. */
	smp_rmb();
	return 0;
}

static int read_user_acquire_u64(u64 *dst, u64 address)
{
	if (__get_user(*dst, (u64 __user *)u64_to_user_ptr(address)))
		return -EFAULT;
	/* Pairs with that of an entry's {size, fre_off}, or of live. */
	smp_rmb();
	return 0;
}

#define SFRAME_READ(sec, dst, off, len)				\
	read_user(dst, (sec)->base + (off), len)
#define SFRAME_READ_ACQUIRE_U32(sec, dst, off)				\
	read_user_acquire_u32(dst, (sec)->base + (off))
#define SFRAME_READ_ACQUIRE_U64(sec, dst, off)				\
	read_user_acquire_u64(dst, (sec)->base + (off))

#include "sframe_lookup.h"

/* What it takes to find a function, in rows that could be read meanwhile. */
#define LOOKUP_ROWS	32

static u64 live_word_address(const struct jit_sframe_register *area)
{
	return area->area + offsetof(struct jit_sframe_area, live);
}

/* What would end each walk is better refused. */
static int check_static_area(const struct jit_sframe_register *area)
{
	const struct sframe_section section = {
		.abi_arch = UNWIND_USER_SFRAME_ABI,
		.text_relative = !!(area->flags & JIT_SFRAME_TEXT_RELATIVE),
	};
	struct sframe_header header;

	if (copy_from_user(&header, u64_to_user_ptr(area->area), sizeof(header)))
		return -EFAULT;
	return sframe_check_header(&section, &header);
}

/**
 * jit_sframe_check_area - is this an area at all?
 * @area: its ranges have been checked
 *
 * What it holds is not looked at beyond the head: the process can change that
 * at any time, so the readers check it each time.
 *
 * Context: May sleep.
 * Return: 0, -EFAULT if the head cannot be read, -EINVAL if it is not one.
 */
int jit_sframe_check_area(const struct jit_sframe_register *area)
{
	struct jit_sframe_area head;

	if (area->flags & JIT_SFRAME_STATIC)
		return check_static_area(area);
	if (copy_from_user(&head, u64_to_user_ptr(area->area), sizeof(head)))
		return -EFAULT;
	return head.magic == JIT_SFRAME_MAGIC &&
	       head.version == JIT_SFRAME_VERSION &&
	       head.header_size >= sizeof(head) ? 0 : -EINVAL;
}

static int section_lookup(const struct jit_sframe_register *area, u64 offset,
			  u32 max_rows, u64 pc,
			  struct jit_sframe_budget *budget, struct sframe_row *row)
{
	struct sframe_section section = {
		.base = area->area + offset,
		.address = area->area + offset,
		.size = area->area_size - offset,
		.abi_arch = UNWIND_USER_SFRAME_ABI,
		.live = !(area->flags & JIT_SFRAME_STATIC),
	};
	struct sframe_fde fde;
	int ret;

	if (area->flags & JIT_SFRAME_TEXT_RELATIVE) {
		section.address = area->text_start;
		section.text_relative = true;
	}
	if (budget->rows < LOOKUP_ROWS)
		return -E2BIG;
	budget->rows -= LOOKUP_ROWS;
	section.max_rows = min(max_rows, budget->rows);
	ret = sframe_section_open(&section) ?:
	      sframe_find_fde(&section, pc, &fde);
	if (ret)
		return ret;
	/* It has no more than max_rows. */
	budget->rows -= fde.num_rows;
	return sframe_find_row(&section, &fde, pc, row);
}

/* One attempt. What it yields is good only if live did not change. */
static int live_lookup_once(const struct jit_sframe_register *area, u64 live,
			    u64 pc, struct jit_sframe_budget *budget,
			    struct sframe_row *row)
{
	u32 offset = JIT_SFRAME_LIVE_OFFSET(live);

	if (!offset)
		return -ENOENT;
	if (offset < sizeof(struct jit_sframe_area) || !IS_ALIGNED(offset, 8) ||
	    offset >= area->area_size)
		return -EINVAL;
	return section_lookup(area, offset, JIT_SFRAME_MAX_LIVE_ROWS, pc, budget,
			      row);
}

static int live_lookup(const struct jit_sframe_register *area, u64 pc,
		       struct jit_sframe_budget *budget, struct sframe_row *row)
{
	u64 live, again;
	int ret;

	if (read_user_acquire_u64(&live, live_word_address(area)))
		return -EFAULT;
	for (;;) {
		ret = live_lookup_once(area, live, pc, budget, row);
		/*
		 * Pairs with the writer's fence between a flip and the reuse
		 * of what the flip let go: whoever read a rewritten byte above
		 * reads the new live below, errors included.
		 */
		smp_rmb();
		if (read_user_acquire_u64(&again, live_word_address(area)))
			return -EFAULT;
		if (again == live)
			return ret;
		if (!budget->retries)
			return -EAGAIN;
		budget->retries--;
		live = again;
	}
}

/**
 * jit_sframe_lookup - how to leave the frame at an address
 * @area: the area that covers it
 * @pc: the address
 * @budget: of the whole walk
 * @row: set on success
 *
 * Context: Any, with page faults disabled where it may not sleep.
 * Return: 0; -ENOENT if the area says nothing of @pc; another error if it
 * cannot be read, makes no sense, or changed too often.
 */
int jit_sframe_lookup(const struct jit_sframe_register *area, u64 pc,
		      struct jit_sframe_budget *budget, struct sframe_row *row)
{
	if (area->flags & JIT_SFRAME_STATIC)
		return section_lookup(area, 0, budget->max_static_rows, pc,
				      budget, row);
	return live_lookup(area, pc, budget, row);
}
