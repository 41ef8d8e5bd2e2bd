// SPDX-License-Identifier: MIT
#include "live_section.hpp"

#include "../sframe/format.hpp"
#include "inject.hpp"
#include "shared.hpp"

#include <array>

namespace jitsframe {

namespace {

using format::IndexEntry;

constexpr std::size_t note_bytes = sizeof(std::uint16_t);
constexpr std::uint16_t note_continuation = 0x8000;
static_assert(max_live_fde_bytes < note_continuation);

/*
 * Every live section's FREs begin with attributes of no rows: where retired
 * entries lead. binutils aborts on rows behind an FDE's end, and of an FDE of
 * size 0 every row is.
 */
constexpr std::uint32_t tombstone_fre_off = 0;
constexpr std::array<std::byte, format::attributes_bytes> no_rows{};

/* {size, fre_off} as the one word it is stored as: little endian. */
constexpr std::uint64_t entry_word(std::uint32_t size, std::uint32_t fre_off) noexcept
{
	return std::uint64_t{fre_off} << 32 | size;
}

constexpr std::uint64_t tombstone = entry_word(0, tombstone_fre_off);

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t to) noexcept
{
	return (value + to - 1) / to * to;
}

} // namespace

std::uint64_t SectionPlace::index_at() const noexcept
{
	return offset + format::aligned_index_offset;
}

std::uint64_t SectionPlace::fres_at() const noexcept
{
	return index_at() + std::uint64_t{entries} * sizeof(IndexEntry);
}

std::uint64_t SectionPlace::notes_at() const noexcept
{
	return align_up(fres_at() + fre_bytes, note_bytes);
}

std::uint64_t SectionPlace::bytes() const noexcept
{
	const std::uint64_t end = notes_at() + std::uint64_t{entries} * note_bytes;

	return align_up(end - offset, block_align);
}

inline std::byte *LiveSection::entry(std::uint32_t i) const noexcept
{
	return index_ + std::uint64_t{i} * sizeof(IndexEntry);
}

inline std::byte *LiveSection::word(std::uint32_t i) const noexcept
{
	return entry(i) + offsetof(IndexEntry, size);
}

inline std::byte *LiveSection::note(std::uint32_t i) const noexcept
{
	return notes_ + std::uint64_t{i} * note_bytes;
}

std::uint64_t LiveSection::address() const noexcept
{
	return reinterpret_cast<std::uint64_t>(base_);
}

std::uint64_t LiveSection::used_bytes() const noexcept
{
	return place_.fres_at() - place_.offset + fre_len_;
}

std::uint64_t LiveSection::start(std::uint32_t i) const noexcept
{
	return address() + shared::load<std::uint64_t>(entry(i));
}

std::uint32_t LiveSection::size(std::uint32_t i) const noexcept
{
	return static_cast<std::uint32_t>(shared::load<std::uint64_t>(word(i)));
}

bool LiveSection::is_continuation(std::uint32_t i) const noexcept
{
	return shared::load<std::uint16_t>(note(i)) & note_continuation;
}

std::uint32_t LiveSection::fde_bytes(std::uint32_t i) const noexcept
{
	return shared::load<std::uint16_t>(note(i)) & ~note_continuation & 0xffffu;
}

std::uint32_t LiveSection::lower_bound(std::uint64_t pc) const noexcept
{
	std::uint32_t low = 0, high = num_fdes_;

	/* Most publishes are of the highest address so far. */
	if (high && start(high - 1) < pc)
		return high;
	while (low < high) {
		const std::uint32_t mid = low + (high - low) / 2;

		if (start(mid) < pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

LiveSection LiveSection::begin(std::byte *area, const SectionPlace &place, const Abi &abi) noexcept
{
	LiveSection section;

	section.place_ = place;
	section.base_ = area + place.offset;
	section.index_ = area + place.index_at();
	section.fres_ = area + place.fres_at();
	section.notes_ = area + place.notes_at();

	const format::Header header = {
		.magic = format::magic,
		.version = format::version,
		.flags = format::flag_sorted,
		.abi_arch = abi.abi_arch,
		.cfa_fixed_fp_offset = 0,
		.cfa_fixed_ra_offset = abi.fixed_ra_offset,
		.auxhdr_len = 0,
		.num_fdes = 0,
		.num_fres = 0,
		.fre_len = no_rows.size(),
		.fdeoff = format::aligned_fdeoff,
		.freoff = static_cast<std::uint32_t>(place.fres_at() - place.offset -
						     sizeof(format::Header)),
	};
	std::array<std::byte, format::aligned_index_offset> bytes{};

	std::memcpy(bytes.data(), &header, sizeof(header));
	shared::store_bytes(section.header(0), bytes.data(), bytes.size());
	shared::store_bytes(section.fres_, no_rows.data(), no_rows.size());
	section.fre_len_ = no_rows.size();
	return section;
}

/* Behind everything that is published or staged: nothing leads there yet. */
bool LiveSection::write_fde(const std::byte *fde, std::uint32_t bytes) noexcept
{
	const std::uint32_t at = fre_len_ + staged_bytes_;

	if (place_.fre_bytes - at < bytes)
		return false;
	shared::store_bytes(fres_ + at, fde, bytes);
	return true;
}

bool LiveSection::stage(std::uint64_t start, std::uint32_t size, const std::byte *fde,
			std::uint32_t fde_bytes, std::uint32_t rows, bool continuation) noexcept
{
	const std::uint32_t i = num_fdes_ + staged_fdes_;
	const std::uint32_t fre_off = fre_len_ + staged_bytes_;

	if (i == place_.entries || !write_fde(fde, fde_bytes))
		return false;
	inject_point(InjectPoint::append_rows);
	shared::store<std::uint64_t>(entry(i), start - address());
	shared::store<std::uint64_t>(word(i), entry_word(size, fre_off));
	shared::store<std::uint16_t>(note(i),
				     static_cast<std::uint16_t>(
					     fde_bytes | (continuation ? note_continuation : 0u)));
	inject_point(InjectPoint::append_entry);
	staged_fdes_++;
	staged_alive_++;
	staged_fres_ += rows;
	staged_bytes_ += fde_bytes;
	return true;
}

void LiveSection::stage_copy(const LiveSection &from, std::uint32_t i) noexcept
{
	const std::uint64_t word = shared::load<std::uint64_t>(from.word(i));
	const std::uint32_t bytes = from.fde_bytes(i);
	std::array<std::byte, max_live_fde_bytes> fde;

	shared::load_bytes(fde.data(), from.fres_ + (word >> 32), bytes);

	const std::uint32_t rows = static_cast<std::uint32_t>(fde[format::attr_num_fres]) |
				   static_cast<std::uint32_t>(fde[format::attr_num_fres + 1]) << 8;
	(void)stage(from.start(i), static_cast<std::uint32_t>(word), fde.data(), bytes, rows,
		    from.is_continuation(i));
}

void LiveSection::drop() noexcept
{
	staged_fdes_ = staged_fres_ = staged_bytes_ = staged_alive_ = 0;
}

void LiveSection::commit() noexcept
{
	num_fdes_ += staged_fdes_;
	num_fres_ += staged_fres_;
	fre_len_ += staged_bytes_;
	alive_ += staged_alive_;
	drop();
	shared::store<std::uint32_t>(header(offsetof(format::Header, num_fres)), num_fres_);
	inject_point(InjectPoint::append_num_fres);
	shared::store<std::uint32_t>(header(offsetof(format::Header, fre_len)), fre_len_);
	inject_point(InjectPoint::append_fre_len);
	/* Whoever acquires the count (I3) finds the entries, the rows and fre_len. */
	shared::store<std::uint32_t>(header(offsetof(format::Header, num_fdes)), num_fdes_,
				     std::memory_order_release);
	inject_point(InjectPoint::append_published);
}

bool LiveSection::retarget(std::uint32_t i, std::uint32_t size, const std::byte *fde,
			   std::uint32_t fde_bytes, std::uint32_t rows) noexcept
{
	const std::uint32_t fre_off = fre_len_;
	const bool was_dead = this->size(i) == 0;

	inject_point(InjectPoint::retarget_begin);
	if (!write_fde(fde, fde_bytes))
		return false;
	inject_point(InjectPoint::retarget_rows);
	num_fres_ += rows;
	fre_len_ += fde_bytes;
	shared::store<std::uint32_t>(header(offsetof(format::Header, num_fres)), num_fres_);
	inject_point(InjectPoint::retarget_num_fres);
	shared::store<std::uint32_t>(header(offsetof(format::Header, fre_len)), fre_len_);
	inject_point(InjectPoint::retarget_fre_len);
	/* Whoever acquires the word (I3) finds the rows it leads to, and fre_len. */
	shared::store<std::uint64_t>(word(i), entry_word(size, fre_off),
				     std::memory_order_release);
	shared::store<std::uint16_t>(note(i), static_cast<std::uint16_t>(fde_bytes));
	if (was_dead)
		alive_++;
	inject_point(InjectPoint::retarget_published);
	return true;
}

void LiveSection::retire(std::uint32_t i) noexcept
{
	/*
	 * Relaxed is enough: it leads to attributes as old as the section. It
	 * stays before the next store to the same word, and the caller's
	 * reuse of the code is ordered by whatever stopped its threads.
	 */
	shared::store<std::uint64_t>(word(i), tombstone);
	alive_--;
	inject_point(InjectPoint::retire_piece);
}

} // namespace jitsframe
