// SPDX-License-Identifier: MIT
/*
 * The decoder that the kernel uses, over plain memory. The same header is
 * compiled over shared memory in area/reader.cpp.
 */
#include <jitsframe/sframe.hpp>

#include "format.hpp"
#include "lookup_row.hpp"

#include <cstddef>
#include <cstring>

namespace {

int read_plain(void *dst, std::uint64_t address, std::size_t bytes) noexcept
{
	std::memcpy(dst, reinterpret_cast<const void *>(address), bytes);
	return 0;
}

} // namespace

#define SFRAME_READ(sec, dst, off, len) read_plain(dst, (sec)->base + (off), len)
/* Nobody writes, so there is nothing to acquire. */
#define SFRAME_READ_ACQUIRE_U32(sec, dst, off) read_plain(dst, (sec)->base + (off), 4)
#define SFRAME_READ_ACQUIRE_U64(sec, dst, off) read_plain(dst, (sec)->base + (off), 8)
#include "shared_decoder.hpp"

namespace jitsframe {

static_assert(SFRAME_MAX_REGS == format::max_regs);
static_assert(sizeof(struct sframe_header) == sizeof(format::Header));
static_assert(sizeof(struct sframe_func_desc_idx) == sizeof(format::IndexEntry));
static_assert(sizeof(struct sframe_func_desc_attr) == format::attributes_bytes);

Result<Found> lookup(std::span<const std::byte> section, std::uint64_t address, std::uint64_t pc,
		     bool text_relative) noexcept
{
	const Result<SectionHeader> header = decode_header(section);

	if (!header)
		return header.error();

	struct sframe_section sec = {};
	sec.base = reinterpret_cast<std::uint64_t>(section.data());
	sec.address = address;
	sec.size = section.size();
	sec.max_rows = UINT16_MAX;
	sec.abi_arch = header->abi_arch;
	sec.text_relative = text_relative;

	struct sframe_fde fde;
	struct sframe_row row;
	int ret = sframe_section_open(&sec);
	if (!ret)
		ret = sframe_find_fde(&sec, pc, &fde);
	if (!ret)
		ret = sframe_find_row(&sec, &fde, pc, &row);
	if (ret)
		return lookup_error(ret);
	return found_from(sec, fde, row);
}

} // namespace jitsframe
