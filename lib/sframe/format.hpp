/* SPDX-License-Identifier: MIT */
/*
 * SFrame version 3 as it lies in memory. Section numbers are those of "The
 * SFrame format" (sframe-spec.info, GNU binutils 2.46).
 */
#ifndef JITSFRAME_LIB_SFRAME_FORMAT_HPP
#define JITSFRAME_LIB_SFRAME_FORMAT_HPP

#include <cstddef>
#include <cstdint>

namespace jitsframe::format {

inline constexpr std::uint16_t magic = 0xdee2;  /* 2.1 */
inline constexpr std::uint8_t version = 3;      /* 2.1.2 */
inline constexpr std::uint8_t flag_sorted = 1;  /* 2.1.3 */
inline constexpr std::uint8_t flag_pcrel = 4;   /* 2.1.3 */
inline constexpr std::uint8_t known_flags = flag_sorted | flag_pcrel;

/* 2.2 */
struct Header {
	std::uint16_t magic;
	std::uint8_t version;
	std::uint8_t flags;
	std::uint8_t abi_arch;
	std::int8_t cfa_fixed_fp_offset;
	std::int8_t cfa_fixed_ra_offset;
	std::uint8_t auxhdr_len;
	std::uint32_t num_fdes;
	std::uint32_t num_fres;
	std::uint32_t fre_len;
	std::uint32_t fdeoff; /* from the header's end */
	std::uint32_t freoff; /* from the header's end */
};
static_assert(sizeof(Header) == 28 && alignof(Header) == 4);
static_assert(offsetof(Header, abi_arch) == 4 && offsetof(Header, auxhdr_len) == 7);
static_assert(offsetof(Header, num_fdes) == 8 && offsetof(Header, num_fres) == 12);
static_assert(offsetof(Header, fre_len) == 16 && offsetof(Header, fdeoff) == 20);
static_assert(offsetof(Header, freoff) == 24);

/* 2.3.1; the word at offset 8 is {size, fre_off}, size in its low half. */
struct IndexEntry {
	std::int64_t start;
	std::uint32_t size;
	std::uint32_t fre_off;
};
static_assert(sizeof(IndexEntry) == 16 && alignof(IndexEntry) == 8);
static_assert(offsetof(IndexEntry, size) == 8 && offsetof(IndexEntry, fre_off) == 12);

/* 2.3.2: not aligned in memory, so written and read byte by byte. */
inline constexpr std::size_t attributes_bytes = 5;
inline constexpr std::size_t attr_num_fres = 0; /* u16 */
inline constexpr std::size_t attr_info = 2;
inline constexpr std::size_t attr_info2 = 3;
inline constexpr std::size_t attr_rep_size = 4;

/* 2.3.3 */
inline constexpr std::uint8_t info_signal = 0x80;
inline constexpr std::uint8_t info_unused = 0x40;
inline constexpr std::uint8_t info_pauth_key_b = 0x20;
inline constexpr std::uint8_t info_pctype_mask = 0x10;
inline constexpr std::uint8_t info_fre_type = 0x0f;
inline constexpr std::uint8_t info2_fde_type = 0x1f;
inline constexpr std::uint8_t fde_type_default = 0;
inline constexpr std::uint8_t fde_type_flex = 1;

/* 2.4.1 */
inline constexpr std::uint8_t fre_base_sp = 0x01; /* clear: FP */
inline constexpr unsigned fre_count_shift = 1;
inline constexpr std::uint8_t fre_count_mask = 0x0f;
inline constexpr unsigned fre_size_shift = 5;
inline constexpr std::uint8_t fre_size_mask = 0x03;
inline constexpr std::uint8_t fre_mangled_ra = 0x80;

/* 3.2, data word 1 */
inline constexpr std::uint32_t control_reg = 1;
inline constexpr std::uint32_t control_deref = 2;
inline constexpr std::uint32_t control_unused = 4;
inline constexpr unsigned control_regnum_shift = 3;
inline constexpr std::uint16_t max_regs = 64; /* DWARF numbers below it are taken */

/* Index entries need 8-byte alignment and the header is 28 bytes, hence 4. */
inline constexpr std::uint32_t aligned_fdeoff = 4;
inline constexpr std::size_t aligned_index_offset = sizeof(Header) + aligned_fdeoff;
static_assert(aligned_index_offset % alignof(IndexEntry) == 0);

} // namespace jitsframe::format

#endif
