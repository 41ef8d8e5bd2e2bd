/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * JIT SFrame areas: stack unwinding tables for code made at run time.
 *
 * A process maps an area, registers it once with prctl(PR_JIT_SFRAME) for a
 * range of text, and from then on publishes frame descriptions (FDEs) in it
 * with plain stores and one store-release: no system call. The kernel's user
 * stack unwinder, BPF programs and debuggers read the area while it is being
 * written, without a lock.
 *
 * See Documentation/userspace-api/jit_sframe.rst.
 *
 * Ordering (the only prose on it; W is the process, R is any reader):
 *
 *   move      W                                  R
 *   -------   --------------------------------   -------------------------------
 *   append    attributes and FREs, index entry,  load-acquire sfh_num_fdes, then
 *             sfh_num_fres, sfh_fre_len, then    the index entry, then the rows
 *             store-release sfh_num_fdes
 *   retire    one 64-bit store of the word at    load-acquire of the 64-bit word
 *             offset 8 of the entry: {0, offset  at offset 8; size 0: no entry
 *             of attributes without FREs}
 *   retarget  attributes and FREs, then          load-acquire of the same word,
 *             sfh_num_fres, sfh_fre_len, then    then sfh_fre_len, then the
 *             one 64-bit store-release of the    rows it leads to
 *             word
 *   flip      a whole new section where the      load-acquire live, read what is
 *             live one does not reach, then      needed into locals, read
 *             store-release live, generation+1   barrier, load live again: start
 *   rewrite   release fence (store-store) after  over if it changed
 *             the flip, then any store to
 *             memory the live section does not
 *             reach
 *
 * The release fence of "rewrite" pairs with the read barrier of "flip": a
 * reader that saw a rewritten byte sees the new live too.
 */
#ifndef _UAPI_LINUX_JIT_SFRAME_H
#define _UAPI_LINUX_JIT_SFRAME_H

#include <linux/types.h>

#ifndef PR_JIT_SFRAME
/* prctl(PR_JIT_SFRAME, op, argument, size of the argument, 0) */
#define PR_JIT_SFRAME			82
#endif

/* Operations. */
#define JIT_SFRAME_REGISTER		1	/* struct jit_sframe_register */
#define JIT_SFRAME_UNREGISTER		2	/* struct jit_sframe_unregister */
#define JIT_SFRAME_QUERY		3	/* struct jit_sframe_query */

#define JIT_SFRAME_ABI_VERSION		1

/* The first word of every live area, "JSFA" in memory (little endian). */
#define JIT_SFRAME_MAGIC		0x4146534aU
#define JIT_SFRAME_VERSION		1

/* Flags of an area (jit_sframe_register.flags, jit_sframe_area.flags). */

/* A plain SFrame V3 section as a linker made it: no struct jit_sframe_area. */
#define JIT_SFRAME_STATIC		(1U << 0)
/* With STATIC: function starts count from text_start, not from the section. */
#define JIT_SFRAME_TEXT_RELATIVE	(1U << 1)
/* Where the area says nothing of a PC, the walk ends: no frame pointer guess. */
#define JIT_SFRAME_NO_FP_FALLBACK	(1U << 2)
/* frame_reg is valid, and the stack need not grow from frame to frame. */
#define JIT_SFRAME_FRAME_REG		(1U << 3)

#define JIT_SFRAME_FLAGS		(JIT_SFRAME_STATIC |		\
					 JIT_SFRAME_TEXT_RELATIVE |	\
					 JIT_SFRAME_NO_FP_FALLBACK |	\
					 JIT_SFRAME_FRAME_REG)

/* Limits. QUERY reports those of the running kernel. */
#define JIT_SFRAME_MAX_LIVE_ROWS	64	/* FREs read for one FDE, live */
#define JIT_SFRAME_MAX_STATIC_ROWS	1024	/* the same, static, no sleeping */
#define JIT_SFRAME_MAX_AREAS		4096	/* areas of one process */
#define JIT_SFRAME_MAX_AREA_SIZE	0x100000000ULL
#define JIT_SFRAME_MAX_STRUCT_SIZE	4096	/* of an argument */

#define JIT_SFRAME_OWNER_SIZE		32

/**
 * struct jit_sframe_area - the head of a live area, page aligned in user memory
 * @magic: JIT_SFRAME_MAGIC. Written once, before registration.
 * @version: JIT_SFRAME_VERSION. Written once.
 * @header_size: sizeof(struct jit_sframe_area) as the writer knows it. No
 *	section lies below this offset. Written once.
 * @live: generation in the high 32 bits, byte offset from the area's start of
 *	the live SFrame section in the low 32. Offset 0: nothing is published.
 *	The offset is a multiple of 8. Written by the process alone, one 64-bit
 *	store-release; read by anyone, one 64-bit load-acquire. The memory of
 *	the section it led to before may be reused after a release fence.
 * @text_start: first address of the text the area is for. Written once.
 * @text_size: bytes of that text. Written once.
 * @area_size: bytes of the area, this head included. Written once.
 * @flags: JIT_SFRAME_* flags, as registered. Written once.
 * @frame_reg: DWARF number of the frame register, with JIT_SFRAME_FRAME_REG.
 * @owner: who made the area, NUL-terminated UTF-8, for people.
 * @reserved: zero.
 *
 * Only @magic, @version, @header_size and @live are read by the kernel: the
 * rest is what readers outside it go by. The kernel trusts the values that
 * were registered.
 */
struct jit_sframe_area {
	__u32 magic;
	__u16 version;
	__u16 header_size;
	__aligned_u64 live;
	__u64 text_start;
	__u64 text_size;
	__u64 area_size;
	__u32 flags;
	__u32 frame_reg;
	char owner[JIT_SFRAME_OWNER_SIZE];
	__u64 reserved[6];
} __attribute__((aligned(8)));

#define JIT_SFRAME_LIVE(generation, offset)				\
	(((__u64)(__u32)(generation) << 32) | (__u32)(offset))
#define JIT_SFRAME_LIVE_OFFSET(live)		((__u32)(live))
#define JIT_SFRAME_LIVE_GENERATION(live)	((__u32)((live) >> 32))

/**
 * struct jit_sframe_register - argument of JIT_SFRAME_REGISTER
 * @area: address of the area. Live: page aligned. Static: 4-byte aligned.
 * @area_size: bytes the kernel may read. Live: a multiple of the page size.
 * @text_start: first address of the text it describes.
 * @text_size: bytes of that text, not 0; no other area of the process may
 *	overlap it.
 * @flags: JIT_SFRAME_* flags.
 * @frame_reg: DWARF number of the register that this text uses as its frame
 *	register in place of RBP/X29; 0 without JIT_SFRAME_FRAME_REG.
 *
 * Errors: EINVAL (unknown flag, bad alignment, empty or wrapping range, flags
 * that contradict, a frame register that cannot be one), E2BIG (fields beyond
 * those known are not 0, or the struct is larger than
 * JIT_SFRAME_MAX_STRUCT_SIZE), EFAULT (argument or area not readable), EBUSY
 * (text overlaps that of a registered area, or the area is registered),
 * ENOSPC (JIT_SFRAME_MAX_AREAS), ENOMEM, EOPNOTSUPP (a 32-bit task).
 */
struct jit_sframe_register {
	__u64 area;
	__u64 area_size;
	__u64 text_start;
	__u64 text_size;
	__u32 flags;
	__u32 frame_reg;
};

/**
 * struct jit_sframe_unregister - argument of JIT_SFRAME_UNREGISTER
 * @area: address of a registered area.
 *
 * When the call has returned, nothing that the kernel reads in the area is used
 * any more. A reader may still be in the middle of it: it reads user memory with
 * faults handled, and looks afterwards whether the area is still registered. So
 * the memory may be unmapped, or put to another use, at once. With ENOMEM the
 * area is still registered: try again.
 *
 * Errors: EINVAL, E2BIG, EFAULT, ENOENT (no such area), ENOMEM, EOPNOTSUPP.
 */
struct jit_sframe_unregister {
	__u64 area;
};

/* jit_sframe_query.features: what this kernel understands. */
#define JIT_SFRAME_FEATURE_LIVE		(1ULL << 0)
#define JIT_SFRAME_FEATURE_STATIC	(1ULL << 1)
#define JIT_SFRAME_FEATURE_FLEXIBLE	(1ULL << 2)	/* flexible FDEs */
#define JIT_SFRAME_FEATURE_FRAME_REG	(1ULL << 3)

/**
 * struct jit_sframe_query - argument of JIT_SFRAME_QUERY
 * @abi_version: out: JIT_SFRAME_ABI_VERSION.
 * @nr_areas: out: areas registered now.
 * @features: out: JIT_SFRAME_FEATURE_* bits.
 * @max_areas: out: the most areas a process may have.
 * @max_live_rows: out: the most FREs read for one FDE of a live area.
 * @max_static_rows: out: the same of a static area where the kernel may not
 *	sleep.
 * @areas_capacity: in: elements that @areas has room for.
 * @areas: in: address of an array of struct jit_sframe_register, or 0. The
 *	first min(@areas_capacity, @nr_areas) are written, by text_start.
 * @area_struct_size: in: sizeof(struct jit_sframe_register) as the caller knows
 *	it, if @areas is not 0. Fields that the caller does not know are left
 *	out; those that the kernel does not know are 0.
 * @reserved: in: 0.
 *
 * Errors: EINVAL (@area_struct_size is less than that of the first version,
 * @reserved is not 0), E2BIG (fields beyond those known are not 0, or a struct
 * is larger than JIT_SFRAME_MAX_STRUCT_SIZE), EFAULT, EOPNOTSUPP.
 */
struct jit_sframe_query {
	__u32 abi_version;
	__u32 nr_areas;
	__u64 features;
	__u32 max_areas;
	__u32 max_live_rows;
	__u32 max_static_rows;
	__u32 areas_capacity;
	__u64 areas;
	__u32 area_struct_size;
	__u32 reserved;
};

#endif /* _UAPI_LINUX_JIT_SFRAME_H */
