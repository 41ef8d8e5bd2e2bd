/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The SFrame lookup: (section, pc) -> row.
 *
 * This one file is compiled by the kernel, by the library and by the fuzzers.
 * The bytes may be hostile and may change while they are read, so each is
 * fetched once, into a local, and checked there. Work is bounded: a binary
 * search of the index, then at most max_rows rows of one function.
 *
 * Before including it, define how a section is read. Each of these yields 0,
 * or not 0 if the bytes cannot be read, and is called with offsets that lie in
 * the section only:
 *
 *   SFRAME_READ(sec, dst, off, len)	len bytes, in no particular order
 *   SFRAME_READ_ACQUIRE_U32(sec, dst, off)	one aligned load-acquire
 *   SFRAME_READ_ACQUIRE_U64(sec, dst, off)	one aligned load-acquire
 *
 * "Acquire" orders the load before later reads; the reader stores nothing.
 *
 * Errors of all functions here:
 *   -ENOENT	the section says nothing of this PC
 *   -EFAULT	the section cannot be read
 *   -EINVAL	the section is malformed, or not for this machine
 *   -E2BIG	the function has more rows than the reader may look at
 */
#ifndef _SFRAME_LOOKUP_H
#define _SFRAME_LOOKUP_H

#include <linux/types.h>
#include <linux/errno.h>

#include "sframe.h"
#include "sframe_row.h"

/**
 * struct sframe_section - a section, and what its header says
 * @base: where the reader finds the first byte
 * @address: what function starts count from: the section's address in the
 *	described process, or the text's with @text_relative
 * @size: bytes that may be read
 * @max_rows: the most rows to look at in one function
 * @abi_arch: the SFRAME_ABI_* that is wanted
 * @live: a writer may be at work: entries are read as single aligned words
 * @text_relative: starts count from @address, whatever the section is at
 *
 * The rest is set by sframe_section_open().
 *
 * @flags: SFRAME_F_*
 * @fixed_fp_offset: from the CFA, or 0
 * @fixed_ra_offset: from the CFA, or 0
 * @num_fdes: entries in the index
 * @fdeoff: offset of the index in the section
 * @freoff: offset of the rows in the section
 */
struct sframe_section {
	__u64 base;
	__u64 address;
	__u64 size;
	__u32 max_rows;
	__u8 abi_arch;
	__u8 live;
	__u8 text_relative;

	__u8 flags;
	__s8 fixed_fp_offset;
	__s8 fixed_ra_offset;
	__u32 num_fdes;
	__u64 fdeoff;
	__u64 freoff;
};

/**
 * struct sframe_fde - one function
 * @start: its first address
 * @size: in bytes
 * @num_rows: rows it has
 * @rep_size: size of the repeated block, or 0 where PCs are not masked
 * @info: sfda_func_info
 * @type: SFRAME_FDE_TYPE_*
 * @rows: offset of the first row in the section
 * @rows_end: offset of the end of all rows in the section
 */
struct sframe_fde {
	__u64 start;
	__u32 size;
	__u16 num_rows;
	__u8 rep_size;
	__u8 info;
	__u8 type;
	__u64 rows;
	__u64 rows_end;
};

/* Whether a header is one that the section can have. Its offsets are not looked at. */
static inline int sframe_check_header(const struct sframe_section *sec,
				      const struct sframe_header *header)
{
	if (header->sfp_magic != SFRAME_MAGIC ||
	    header->sfp_version != SFRAME_VERSION_3 ||
	    header->sfh_abi_arch != sec->abi_arch)
		return -EINVAL;
	/* An index that is not sorted has no search with a bound. */
	if ((header->sfp_flags & ~SFRAME_F_ALL) ||
	    !(header->sfp_flags & SFRAME_F_FDE_SORTED))
		return -EINVAL;
	if (sec->text_relative &&
	    (header->sfp_flags & SFRAME_F_FDE_FUNC_START_PCREL))
		return -EINVAL;
	return 0;
}

static inline int sframe_section_open(struct sframe_section *sec)
{
	struct sframe_header header;
	__u64 header_end;

	if (sec->size < sizeof(header))
		return -EINVAL;
	if (SFRAME_READ(sec, &header, 0, sizeof(header)))
		return -EFAULT;
	if (sframe_check_header(sec, &header))
		return -EINVAL;

	/* The counter that a writer releases is read again, on its own. */
	if (sec->live &&
	    SFRAME_READ_ACQUIRE_U32(sec, &header.sfh_num_fdes,
				    offsetof(struct sframe_header, sfh_num_fdes)))
		return -EFAULT;

	header_end = sizeof(header) + header.sfh_auxhdr_len;
	sec->flags = header.sfp_flags;
	sec->fixed_fp_offset = header.sfh_cfa_fixed_fp_offset;
	sec->fixed_ra_offset = header.sfh_cfa_fixed_ra_offset;
	sec->num_fdes = header.sfh_num_fdes;
	sec->fdeoff = header_end + header.sfh_fdeoff;
	sec->freoff = header_end + header.sfh_freoff;

	/* Linkers align the index to 4; a live one is made of 64-bit words. */
	if (sec->fdeoff & (sec->live ? 7 : 3))
		return -EINVAL;
	if (sec->fdeoff + (__u64)sec->num_fdes *
	    sizeof(struct sframe_func_desc_idx) > sec->size ||
	    sec->freoff > sec->size)
		return -EINVAL;
	return 0;
}

static inline __u64 sframe_fde_offset(const struct sframe_section *sec, __u32 i)
{
	return sec->fdeoff + (__u64)i * sizeof(struct sframe_func_desc_idx);
}

static inline int sframe_fde_start(const struct sframe_section *sec, __u32 i,
				   __u64 *start)
{
	__u64 off = sframe_fde_offset(sec, i);
	__s64 rel;

	if (SFRAME_READ(sec, &rel, off, sizeof(rel)))
		return -EFAULT;
	*start = sec->address + (__u64)rel;
	if (sec->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		*start += off;
	return 0;
}

/* Load {size, fre_off} as the one word that writers store it as. */
static inline int sframe_fde_word(const struct sframe_section *sec, __u32 i,
				  __u32 *size, __u32 *fre_off)
{
	__u64 off = sframe_fde_offset(sec, i) +
		    offsetof(struct sframe_func_desc_idx, sfdi_func_size);
	__u32 half[2];
	__u64 word;

	if (!sec->live) {
		if (SFRAME_READ(sec, half, off, sizeof(half)))
			return -EFAULT;
	} else {
		if (SFRAME_READ_ACQUIRE_U64(sec, &word, off))
			return -EFAULT;
		__builtin_memcpy(half, &word, sizeof(half));
	}
	*size = half[0];
	*fre_off = half[1];
	return 0;
}

/* The last entry whose start is at or below pc. */
static inline int sframe_search(const struct sframe_section *sec, __u64 pc,
				__u32 *index, __u64 *start)
{
	__u32 low = 0, high = sec->num_fdes;
	int ret, found = 0;

	*index = 0;
	*start = 0;
	while (low < high) {
		__u32 mid = low + (high - low) / 2;
		__u64 mid_start;

		ret = sframe_fde_start(sec, mid, &mid_start);
		if (ret)
			return ret;
		if (mid_start > pc) {
			high = mid;
			continue;
		}
		*index = mid;
		*start = mid_start;
		found = 1;
		low = mid + 1;
	}
	return found ? 0 : -ENOENT;
}

/*
 * Read after the entry, which may lead to bytes that were appended when the
 * header had been read already. A writer may store it meanwhile: bytes of two
 * values would make a length that never was.
 */
static inline int sframe_read_fre_len(const struct sframe_section *sec,
				      __u32 *fre_len)
{
	__u64 off = offsetof(struct sframe_header, sfh_fre_len);

	if (sec->live)
		return SFRAME_READ_ACQUIRE_U32(sec, fre_len, off);
	return SFRAME_READ(sec, fre_len, off, sizeof(*fre_len));
}

/* The attributes that an index entry leads to. */
static inline int sframe_read_attr(const struct sframe_section *sec,
				   __u32 fre_off, struct sframe_fde *fde)
{
	struct sframe_func_desc_attr attr;
	__u32 fre_len;

	if (sframe_read_fre_len(sec, &fre_len))
		return -EFAULT;
	fde->rows_end = sec->freoff + fre_len;
	if (fde->rows_end > sec->size ||
	    (__u64)fre_off + sizeof(attr) > fre_len)
		return -EINVAL;
	if (SFRAME_READ(sec, &attr, sec->freoff + fre_off, sizeof(attr)))
		return -EFAULT;
	fde->rows = sec->freoff + fre_off + sizeof(attr);
	fde->num_rows = attr.sfda_func_num_fres;
	fde->info = attr.sfda_func_info;
	fde->type = SFRAME_FDE_TYPE(attr.sfda_func_info2);
	fde->rep_size = 0;

	if ((attr.sfda_func_info & SFRAME_FDE_INFO_UNUSED) ||
	    (attr.sfda_func_info2 & SFRAME_FDE_INFO2_UNUSED) ||
	    SFRAME_FDE_FRE_TYPE(fde->info) > SFRAME_FRE_TYPE_ADDR4 ||
	    fde->type > SFRAME_FDE_TYPE_FLEX)
		return -EINVAL;
	if (fde->info & SFRAME_FDE_PCTYPE_MASK) {
		if (!attr.sfda_func_rep_size)
			return -EINVAL;
		fde->rep_size = attr.sfda_func_rep_size;
	}
	return fde->num_rows > sec->max_rows ? -E2BIG : 0;
}

/**
 * sframe_find_fde - find the function that covers a PC
 * @sec: an opened section
 * @pc: the address
 * @fde: set on success
 *
 * A function of size 0 is a tombstone: it covers nothing.
 *
 * Return: 0, or an error of those at the top.
 */
static inline int sframe_find_fde(const struct sframe_section *sec, __u64 pc,
				  struct sframe_fde *fde)
{
	__u32 index, fre_off;
	int ret;

	ret = sframe_search(sec, pc, &index, &fde->start);
	if (ret)
		return ret;
	ret = sframe_fde_word(sec, index, &fde->size, &fre_off);
	if (ret)
		return ret;
	if (pc - fde->start >= fde->size)
		return -ENOENT;
	return sframe_read_attr(sec, fre_off, fde);
}

/* A row's fixed part: returns its length, or an error. */
static inline int sframe_read_fre(const struct sframe_section *sec,
				  const struct sframe_fde *fde, __u64 off,
				  __u32 *start, __u8 *info)
{
	__u32 width = 1U << SFRAME_FDE_FRE_TYPE(fde->info);
	__u8 bytes[5];
	__u16 start16;

	if (off + width + 1 > fde->rows_end)
		return -EINVAL;
	if (SFRAME_READ(sec, bytes, off, width + 1))
		return -EFAULT;
	switch (width) {
	case 1:
		*start = bytes[0];
		break;
	case 2:
		__builtin_memcpy(&start16, bytes, sizeof(start16));
		*start = start16;
		break;
	default:
		__builtin_memcpy(start, bytes, sizeof(*start));
		break;
	}
	*info = bytes[width];
	if (SFRAME_FRE_DATAWORD_SIZE(*info) > SFRAME_FRE_DATAWORD_4B)
		return -EINVAL;
	return (int)(width + 1);
}

static inline __u32 sframe_datawords_len(__u8 info)
{
	return SFRAME_FRE_DATAWORD_COUNT(info) << SFRAME_FRE_DATAWORD_SIZE(info);
}

/* A row's data words, sign extended; how a word is meant is the caller's. */
static inline int sframe_read_datawords(const struct sframe_section *sec,
					const struct sframe_fde *fde, __u64 off,
					__u8 info, __s32 *words)
{
	__u8 bytes[SFRAME_FRE_MAX_DATAWORDS * 4];
	__u32 count = SFRAME_FRE_DATAWORD_COUNT(info);
	__u32 len = sframe_datawords_len(info);
	__u32 i;
	__s16 word16;

	if (off + len > fde->rows_end)
		return -EINVAL;
	if (len && SFRAME_READ(sec, bytes, off, len))
		return -EFAULT;
	for (i = 0; i < count; i++) {
		switch (SFRAME_FRE_DATAWORD_SIZE(info)) {
		case SFRAME_FRE_DATAWORD_1B:
			words[i] = (__s8)bytes[i];
			break;
		case SFRAME_FRE_DATAWORD_2B:
			__builtin_memcpy(&word16, bytes + 2 * i, sizeof(word16));
			words[i] = word16;
			break;
		default:
			__builtin_memcpy(&words[i], bytes + 4 * i, sizeof(words[i]));
			break;
		}
	}
	return 0;
}

static inline void sframe_set_rule(struct sframe_rule *rule,
				   enum sframe_rule_kind kind, __u8 reg,
				   __s32 offset)
{
	rule->kind = (__u8)kind;
	rule->reg = reg;
	rule->offset = offset;
}

/* What an ABI lays down rather than each row. */
static inline void sframe_fixed_rules(const struct sframe_section *sec,
				      struct sframe_row *row)
{
	if (sec->fixed_ra_offset)
		sframe_set_rule(&row->ra, SFRAME_RULE_CFA_DEREF, 0,
				sec->fixed_ra_offset);
	if (sec->fixed_fp_offset)
		sframe_set_rule(&row->fp, SFRAME_RULE_CFA_DEREF, 0,
				sec->fixed_fp_offset);
}

/* DWARF numbers: the psABI's figure 3.36, AADWARF64's table 1. */
static inline __u8 sframe_base_reg(const struct sframe_section *sec, __u8 info)
{
	int sp = info & SFRAME_FRE_CFA_BASE_SP;

	if (sec->abi_arch == SFRAME_ABI_AMD64_ENDIAN_LITTLE)
		return sp ? 7 : 6;
	return sp ? 31 : 29;
}

static inline int sframe_default_row(const struct sframe_section *sec,
				     __u8 info, const __s32 *words,
				     struct sframe_row *row)
{
	int amd64 = sec->abi_arch == SFRAME_ABI_AMD64_ENDIAN_LITTLE;
	__u32 count = SFRAME_FRE_DATAWORD_COUNT(info);
	__u32 next = 1;

	if (count > (amd64 ? 2U : 3U))
		return -EINVAL;
	sframe_fixed_rules(sec, row);
	sframe_set_rule(&row->cfa, SFRAME_RULE_REG, sframe_base_reg(sec, info),
			words[0]);
	/* An offset of 0 stands for "none": the slot would be the caller's. */
	if (!amd64 && next < count) {
		if (words[next])
			sframe_set_rule(&row->ra, SFRAME_RULE_CFA_DEREF, 0,
					words[next]);
		next++;
	}
	if (next < count)
		sframe_set_rule(&row->fp, SFRAME_RULE_CFA_DEREF, 0, words[next]);
	return 0;
}

/*
 * One rule of a flexible row, at *next. A control word of 0 stands alone and
 * means that the row does not say.
 */
static inline int sframe_flex_rule(__u8 info, const __s32 *words, __u32 *next,
				   struct sframe_rule *rule)
{
	__u32 bits = 8U << SFRAME_FRE_DATAWORD_SIZE(info);
	__u32 mask = 0xffffffffU >> (32 - bits);
	__u32 count = SFRAME_FRE_DATAWORD_COUNT(info);
	__u32 control, reg;
	int is_reg, deref;

	if (*next >= count)
		return 0;
	control = (__u32)words[(*next)++] & mask;
	if (!control)
		return 0;
	reg = SFRAME_FLEX_REGNUM(control);
	if (*next >= count || (control & SFRAME_FLEX_UNUSED) ||
	    reg >= SFRAME_MAX_REGS)
		return -EINVAL;

	is_reg = control & SFRAME_FLEX_REG;
	deref = control & SFRAME_FLEX_DEREF;
	sframe_set_rule(rule,
			is_reg ? (deref ? SFRAME_RULE_REG_DEREF : SFRAME_RULE_REG)
			       : (deref ? SFRAME_RULE_CFA_DEREF : SFRAME_RULE_CFA),
			is_reg ? (__u8)reg : 0, words[*next]);
	(*next)++;
	return 0;
}

static inline int sframe_flex_row(const struct sframe_section *sec, __u8 info,
				  const __s32 *words, struct sframe_row *row)
{
	__u32 next = 0;

	sframe_fixed_rules(sec, row);
	if (sframe_flex_rule(info, words, &next, &row->cfa) ||
	    sframe_flex_rule(info, words, &next, &row->ra) ||
	    sframe_flex_rule(info, words, &next, &row->fp))
		return -EINVAL;
	if (row->cfa.kind != SFRAME_RULE_REG &&
	    row->cfa.kind != SFRAME_RULE_REG_DEREF)
		return -EINVAL;
	return next == SFRAME_FRE_DATAWORD_COUNT(info) ? 0 : -EINVAL;
}

static inline int sframe_decode_row(const struct sframe_section *sec,
				    const struct sframe_fde *fde, __u8 info,
				    const __s32 *words, struct sframe_row *row)
{
	int ret;

	row->ra_mangled = !!(info & SFRAME_FRE_MANGLED_RA);
	if (!SFRAME_FRE_DATAWORD_COUNT(info)) {
		row->outermost = 1;
		return 0;
	}
	if (fde->type == SFRAME_FDE_TYPE_FLEX)
		ret = sframe_flex_row(sec, info, words, row);
	else
		ret = sframe_default_row(sec, info, words, row);
	if (ret)
		return ret;
	/* Only an ABI with a link register leaves the return address there. */
	if (row->ra.kind == SFRAME_RULE_UNCHANGED &&
	    sec->abi_arch == SFRAME_ABI_AMD64_ENDIAN_LITTLE)
		return -EINVAL;
	return 0;
}

/**
 * sframe_find_row - find the row of a function that covers a PC
 * @sec: an opened section
 * @fde: a function of it that covers @pc
 * @pc: the address
 * @row: set on success
 *
 * Return: 0, or an error of those at the top.
 */
static inline int sframe_find_row(const struct sframe_section *sec,
				  const struct sframe_fde *fde, __u64 pc,
				  struct sframe_row *row)
{
	__s32 words[SFRAME_FRE_MAX_DATAWORDS];
	__u32 pc_off = (__u32)(pc - fde->start);
	__u64 off = fde->rows, found_words = 0;
	__u8 found_info = 0;
	__u32 i;
	int ret;

	__builtin_memset(row, 0, sizeof(*row));
	row->flexible = fde->type == SFRAME_FDE_TYPE_FLEX;
	row->signal = !!(fde->info & SFRAME_FDE_SIGNAL);
	row->pauth_key_b = !!(fde->info & SFRAME_FDE_PAUTH_KEY_B);

	/* A function without rows has no caller. */
	if (!fde->num_rows) {
		row->outermost = 1;
		return 0;
	}
	if (fde->rep_size)
		pc_off %= fde->rep_size;

	for (i = 0; i < fde->num_rows; i++) {
		__u32 start;
		__u8 info;

		ret = sframe_read_fre(sec, fde, off, &start, &info);
		if (ret < 0)
			return ret;
		if (start > pc_off)
			break;
		found_words = off + (__u32)ret;
		found_info = info;
		off = found_words + sframe_datawords_len(info);
	}
	if (!found_words)
		return -ENOENT;

	ret = sframe_read_datawords(sec, fde, found_words, found_info, words);
	if (ret)
		return ret;
	return sframe_decode_row(sec, fde, found_info, words, row);
}

/**
 * sframe_lookup - find the row that covers a PC
 * @sec: an opened section
 * @pc: the address
 * @row: set on success
 *
 * Return: 0, or an error of those at the top.
 */
static inline int sframe_lookup(const struct sframe_section *sec, __u64 pc,
				struct sframe_row *row)
{
	struct sframe_fde fde;
	int ret;

	ret = sframe_find_fde(sec, pc, &fde);
	return ret ? ret : sframe_find_row(sec, &fde, pc, row);
}

#endif /* _SFRAME_LOOKUP_H */
