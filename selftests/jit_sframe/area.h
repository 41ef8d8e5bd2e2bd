/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small writer of SFrame V3 sections and of JIT SFrame areas.
 *
 * Deliberately not the library's: what two writers say is right by two.
 */
#ifndef _JIT_SFRAME_AREA_H
#define _JIT_SFRAME_AREA_H

#include <linux/jit_sframe.h>

#include "code.h"

/* The format as bytes: see "The SFrame format", version 3, sections 2.2, 2.3. */
struct sframe_header {
	__u16 magic;
	__u8 version;
	__u8 flags;
	__u8 abi_arch;
	__s8 fixed_fp;
	__s8 fixed_ra;
	__u8 auxhdr_len;
	__u32 num_fdes;
	__u32 num_fres;
	__u32 fre_len;
	__u32 fdeoff;
	__u32 freoff;
};

struct sframe_index {
	__s64 start;
	__u64 word;	/* size in the low half, fre_off in the high one */
};

#define SFRAME_F_SORTED		0x1
#define SFRAME_F_PCREL		0x4

/* What the starts in an index count from. */
enum start_encoding {
	START_SECTION,
	START_PCREL,
	START_TEXT,
};

/**
 * struct section - a section that is being written
 * @base: its first byte
 * @size: bytes it may take
 * @capacity: index entries there is room for
 * @encoding: what starts count from
 * @origin: with START_TEXT, the text's start
 */
struct section {
	__u8 *base;
	__u32 size;
	__u32 capacity;
	enum start_encoding encoding;
	__u64 origin;
};

void section_begin(const struct section *sec);
/* Write a function behind the others; -ENOSPC, or -EINVAL if not in order. */
int section_append(const struct section *sec, const struct function *fn);
/* Bytes of the section that have been written. */
__u32 section_len(const struct section *sec);
struct sframe_header *section_header(const struct section *sec);
struct sframe_index *section_index(const struct section *sec, __u32 i);
/* The entry that starts at an address, dead or alive; NULL if none does. */
struct sframe_index *section_find(const struct section *sec, __u64 start);

/**
 * struct area - a live area and its writer
 * @head: the mapping
 * @size: bytes of it
 * @slots: room for two sections, one of which is live
 * @live: which; -1: none
 * @generation: of the last flip
 */
struct area {
	struct jit_sframe_area *head;
	size_t size;
	struct section slots[2];
	int live;
	__u32 generation;
};

/* The same struct is registered and written into the head. */
int area_init(struct area *area, size_t size, __u32 capacity,
	      const struct jit_sframe_register *text);
void area_destroy(struct area *area);
struct jit_sframe_register area_registration(const struct area *area);

/* The four moves. 0, or a negative errno: -ENOSPC, -EINVAL, -ENOENT. */
int area_append(struct area *area, const struct function *fn);
int area_retire(struct area *area, __u64 start);
int area_retarget(struct area *area, const struct function *fn);
/* Publish these, in order of their starts, and nothing else. */
int area_flip(struct area *area, const struct function *const *fns,
	      unsigned int nr);

/* prctl(); 0 or a negative errno. */
int jit_sframe_register(const struct jit_sframe_register *reg);
int jit_sframe_unregister(const void *area);
int jit_sframe_query(struct jit_sframe_query *query);

#endif
