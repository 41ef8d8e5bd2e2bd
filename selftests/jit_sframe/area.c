// SPDX-License-Identifier: GPL-2.0
/*
 * A small writer of SFrame V3 sections and of JIT SFrame areas.
 *
 * Which store pairs with which load is said once, in linux/jit_sframe.h.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "area.h"

#define FRE_INFO_SP		0x01
#define FRE_INFO_MANGLED	0x80
#define FDE_INFO_PCMASK		0x10
#define FDE_INFO_PAUTH_KEY_B	0x20
#define FDE_INFO_SIGNAL		0x80

/* Unused room: a reader that strays there finds nothing that looks right. */
#define POISON			0xff

static_assert(sizeof(struct sframe_header) == 28, "SFrame header");
static_assert(sizeof(struct sframe_index) == 16, "SFrame index entry");

struct sframe_header *section_header(const struct section *sec)
{
	return (struct sframe_header *)sec->base;
}

struct sframe_index *section_index(const struct section *sec, __u32 i)
{
	/* The header's 28 bytes and fdeoff's 4 make the entries aligned. */
	return (struct sframe_index *)(sec->base + 32) + i;
}

static __u8 *section_rows(const struct section *sec)
{
	return (__u8 *)section_index(sec, sec->capacity);
}

__u32 section_len(const struct section *sec)
{
	return (__u32)(section_rows(sec) - sec->base) +
	       section_header(sec)->fre_len;
}

static __u64 index_origin(const struct section *sec,
			  const struct sframe_index *entry)
{
	switch (sec->encoding) {
	case START_TEXT:
		return sec->origin;
	case START_PCREL:
		return (__u64)entry;
	default:
		return (__u64)sec->base;
	}
}

void section_begin(const struct section *sec)
{
	struct sframe_header header = {
		.magic = 0xdee2,
		.version = 3,
		.flags = SFRAME_F_SORTED,
		.abi_arch = code_sframe_abi,
		.fixed_fp = code_sframe_fixed_fp,
		.fixed_ra = code_sframe_fixed_ra,
		.fdeoff = 4,
		.freoff = 4 + sec->capacity * sizeof(struct sframe_index),
	};

	if (sec->encoding == START_PCREL)
		header.flags |= SFRAME_F_PCREL;
	memcpy(sec->base, &header, sizeof(header));
	memset(sec->base + sizeof(header), 0, 4);
}

/* 0, 1, 2: a width of 1, 2, 4 bytes. */
static unsigned int width_of(__s64 value)
{
	if (value >= -0x80 && value < 0x80)
		return 0;
	return value >= -0x8000 && value < 0x8000 ? 1 : 2;
}

static unsigned int start_width(const struct function *fn)
{
	if (fn->size <= 0x100)
		return 0;
	return fn->size <= 0x10000 ? 1 : 2;
}

static __u8 *put(__u8 *at, __s64 value, unsigned int width)
{
	memcpy(at, &value, 1U << width);
	return at + (1U << width);
}

static unsigned int row_words(const struct row *row, __s32 *words)
{
	unsigned int nr = 0;

	if (row->outermost)
		return 0;
	if (row->nr_words) {
		memcpy(words, row->words, row->nr_words * sizeof(*words));
		return row->nr_words;
	}
	words[nr++] = row->cfa;
	if (!code_sframe_fixed_ra && row->ra)
		words[nr++] = row->ra;
	if (row->fp)
		words[nr++] = row->fp;
	return nr;
}

static __u8 *put_row(__u8 *at, const struct row *row, unsigned int start_width)
{
	__s32 words[MAX_WORDS];
	unsigned int i, nr = row_words(row, words), width = 0;

	for (i = 0; i < nr; i++) {
		if (width_of(words[i]) > width)
			width = width_of(words[i]);
	}
	at = put(at, row->start, start_width);
	*at++ = (__u8)(width << 5 | nr << 1 |
		       (row->base_fp ? 0 : FRE_INFO_SP) |
		       (row->mangled ? FRE_INFO_MANGLED : 0));
	for (i = 0; i < nr; i++)
		at = put(at, words[i], width);
	return at;
}

/* The attribute and rows of a function; at most 31 bytes for each row. */
static __u8 *put_rows(__u8 *at, const struct function *fn)
{
	unsigned int i, nr = fn->no_rows ? 0 : fn->nr_rows;
	unsigned int width = start_width(fn);

	at = put(at, nr, 1);
	*at++ = (__u8)(width | (fn->rep_size ? FDE_INFO_PCMASK : 0) |
		       (fn->pauth_key_b ? FDE_INFO_PAUTH_KEY_B : 0) |
		       (fn->signal ? FDE_INFO_SIGNAL : 0));
	*at++ = fn->flexible;
	*at++ = fn->rep_size;
	for (i = 0; i < nr; i++)
		at = put_row(at, &fn->rows[i], width);
	return at;
}

static bool has_room(const struct section *sec, const struct function *fn)
{
	return section_len(sec) + 5 + fn->nr_rows * 31 <= sec->size;
}

/* Counters that a reader may read at any time are stored whole. */
static void store(__u32 *counter, __u32 value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/* Rows first: nothing leads to them yet. Returns their fre_off. */
static __u32 append_rows(const struct section *sec, const struct function *fn)
{
	struct sframe_header *header = section_header(sec);
	__u32 fre_off = header->fre_len;
	__u8 *end = put_rows(section_rows(sec) + fre_off, fn);

	store(&header->num_fres,
	      header->num_fres + (fn->no_rows ? 0 : fn->nr_rows));
	store(&header->fre_len, (__u32)(end - section_rows(sec)));
	return fre_off;
}

int section_append(const struct section *sec, const struct function *fn)
{
	struct sframe_header *header = section_header(sec);
	struct sframe_index *entry = section_index(sec, header->num_fdes);
	__u64 start = fn->start - index_origin(sec, entry);

	if (header->num_fdes == sec->capacity || !has_room(sec, fn))
		return -ENOSPC;
	if (header->num_fdes &&
	    entry[-1].start + index_origin(sec, entry - 1) >= fn->start)
		return -EINVAL;

	entry->start = (__s64)start;
	entry->word = (__u64)append_rows(sec, fn) << 32 | fn->size;
	__atomic_store_n(&header->num_fdes, header->num_fdes + 1,
			 __ATOMIC_RELEASE);
	return 0;
}

struct sframe_index *section_find(const struct section *sec, __u64 start)
{
	__u32 low = 0, high = section_header(sec)->num_fdes;

	while (low < high) {
		__u32 mid = low + (high - low) / 2;
		struct sframe_index *entry = section_index(sec, mid);
		__u64 at = entry->start + index_origin(sec, entry);

		if (at == start)
			return entry;
		if (at < start)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

int area_init(struct area *area, size_t size, __u32 capacity,
	      const struct jit_sframe_register *text)
{
	struct jit_sframe_area *head;
	__u32 slot, room;
	int i;

	head = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (head == MAP_FAILED)
		return -errno;
	memset(head, POISON, size);
	memset(head, 0, sizeof(*head));
	head->magic = JIT_SFRAME_MAGIC;
	head->version = JIT_SFRAME_VERSION;
	head->header_size = sizeof(*head);
	head->text_start = text->text_start;
	head->text_size = text->text_size;
	head->area_size = size;
	head->flags = text->flags;
	head->frame_reg = text->frame_reg;
	memcpy(head->owner, "selftest", sizeof("selftest"));

	memset(area, 0, sizeof(*area));
	area->head = head;
	area->size = size;
	area->live = -1;
	slot = sizeof(*head);
	room = (__u32)((size - slot) / 2) & ~7U;
	for (i = 0; i < 2; i++) {
		area->slots[i].base = (__u8 *)head + slot + i * room;
		area->slots[i].size = room;
		area->slots[i].capacity = capacity;
	}
	return 0;
}

void area_destroy(struct area *area)
{
	munmap(area->head, area->size);
}

struct jit_sframe_register area_registration(const struct area *area)
{
	struct jit_sframe_register reg = {
		.area = (__u64)area->head,
		.area_size = area->size,
		.text_start = area->head->text_start,
		.text_size = area->head->text_size,
		.flags = area->head->flags,
		.frame_reg = area->head->frame_reg,
	};

	return reg;
}

static void publish(struct area *area, int slot)
{
	__u32 at = (__u32)(area->slots[slot].base - (__u8 *)area->head);

	area->live = slot;
	area->generation++;
	__atomic_store_n(&area->head->live,
			 JIT_SFRAME_LIVE(area->generation, at),
			 __ATOMIC_RELEASE);
	/* Before the first store to the slot that the readers leave now. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

int area_flip(struct area *area, const struct function *const *fns,
	      unsigned int nr)
{
	int slot = area->live == 0;
	unsigned int i;
	int ret;

	section_begin(&area->slots[slot]);
	for (i = 0; i < nr; i++) {
		ret = section_append(&area->slots[slot], fns[i]);
		if (ret)
			return ret;
	}
	publish(area, slot);
	return 0;
}

int area_append(struct area *area, const struct function *fn)
{
	if (area->live < 0)
		return area_flip(area, &fn, 1);
	return section_append(&area->slots[area->live], fn);
}

static struct sframe_index *live_entry(struct area *area, __u64 start)
{
	return area->live < 0 ? NULL :
	       section_find(&area->slots[area->live], start);
}

int area_retire(struct area *area, __u64 start)
{
	struct sframe_index *entry = live_entry(area, start);

	if (!entry)
		return -ENOENT;
	__atomic_store_n(&entry->word, entry->word & ~0xffffffffULL,
			 __ATOMIC_RELAXED);
	return 0;
}

int area_retarget(struct area *area, const struct function *fn)
{
	struct sframe_index *entry = live_entry(area, fn->start);
	const struct section *sec;

	if (!entry)
		return -ENOENT;
	sec = &area->slots[area->live];
	if (!has_room(sec, fn))
		return -ENOSPC;
	/* The search for a PC behind the next entry's start ends there. */
	if (entry + 1 < section_index(sec, section_header(sec)->num_fdes) &&
	    (__u64)entry[1].start < (__u64)entry->start + fn->size)
		return -EINVAL;
	__atomic_store_n(&entry->word,
			 (__u64)append_rows(sec, fn) << 32 | fn->size,
			 __ATOMIC_RELEASE);
	return 0;
}

static int jit_sframe(unsigned long op, const void *arg, size_t size)
{
	return prctl(PR_JIT_SFRAME, op, arg, size, 0) ? -errno : 0;
}

int jit_sframe_register(const struct jit_sframe_register *reg)
{
	return jit_sframe(JIT_SFRAME_REGISTER, reg, sizeof(*reg));
}

int jit_sframe_unregister(const void *area)
{
	struct jit_sframe_unregister unregister = { .area = (__u64)area };

	return jit_sframe(JIT_SFRAME_UNREGISTER, &unregister,
			  sizeof(unregister));
}

int jit_sframe_query(struct jit_sframe_query *query)
{
	return jit_sframe(JIT_SFRAME_QUERY, query, sizeof(*query));
}
