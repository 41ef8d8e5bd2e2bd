/* SPDX-License-Identifier: MIT */
/*
 * One section in the area and the moves inside it: append, retire, retarget.
 * Flips, which need two, are made by the area.
 *
 * A section's block in the area:
 *
 *   header | 4 bytes | index, to its capacity | FREs, to their capacity | notes
 *
 * The notes, two bytes an entry, are the producer's own: no reader reaches
 * them. They hold the length of each FDE, so that a flip can copy it unread,
 * and whether it goes on from the FDE before it (functions of more than
 * max_live_rows rows).
 */
#ifndef JITSFRAME_LIB_AREA_LIVE_SECTION_HPP
#define JITSFRAME_LIB_AREA_LIVE_SECTION_HPP

#include <jitsframe/sframe.hpp>

#include <cstddef>
#include <cstdint>

namespace jitsframe {

/* Where a block lies in the area and how much it can hold. */
struct SectionPlace {
	std::uint64_t offset = 0; /* from the area's start; 0: none */
	std::uint32_t entries = 0;
	std::uint32_t fre_bytes = 0;

	[[nodiscard]] std::uint64_t index_at() const noexcept;
	[[nodiscard]] std::uint64_t fres_at() const noexcept;
	[[nodiscard]] std::uint64_t notes_at() const noexcept;
	/* The whole block, a multiple of block_align. */
	[[nodiscard]] std::uint64_t bytes() const noexcept;

	static constexpr std::uint64_t block_align = 64;
};

class LiveSection {
public:
	LiveSection() noexcept = default;

	/* Write an empty section at `place`. No reader may reach the block yet. */
	static LiveSection begin(std::byte *area, const SectionPlace &place,
				 const Abi &abi) noexcept;

	[[nodiscard]] bool exists() const noexcept { return place_.offset != 0; }
	[[nodiscard]] const SectionPlace &place() const noexcept { return place_; }
	[[nodiscard]] std::uint32_t entries() const noexcept { return num_fdes_; }
	[[nodiscard]] std::uint32_t alive() const noexcept { return alive_; }
	[[nodiscard]] std::uint32_t tombstones() const noexcept { return num_fdes_ - alive_; }
	[[nodiscard]] std::uint64_t address() const noexcept;
	[[nodiscard]] std::uint32_t fre_len() const noexcept { return fre_len_; }
	[[nodiscard]] std::uint64_t used_bytes() const noexcept;

	[[nodiscard]] std::uint64_t start(std::uint32_t i) const noexcept;
	[[nodiscard]] std::uint32_t size(std::uint32_t i) const noexcept;
	[[nodiscard]] bool is_continuation(std::uint32_t i) const noexcept;
	[[nodiscard]] std::uint32_t fde_bytes(std::uint32_t i) const noexcept;
	/* The first entry that starts at `pc` or behind it; entries() if none. */
	[[nodiscard]] std::uint32_t lower_bound(std::uint64_t pc) const noexcept;

	/*
	 * Append: every entry's start is behind all others. Staged pieces are
	 * seen by nobody until commit(), which shows all of them at once;
	 * drop() forgets them. stage() is false if there is no room.
	 */
	[[nodiscard]] bool stage(std::uint64_t start, std::uint32_t size, const std::byte *fde,
				 std::uint32_t fde_bytes, std::uint32_t rows,
				 bool continuation) noexcept;
	void commit() noexcept;
	void drop() noexcept;
	/* Stage entry `i` of `from` as it is. The caller made room. */
	void stage_copy(const LiveSection &from, std::uint32_t i) noexcept;

	/* False if there is no room for the rows. */
	[[nodiscard]] bool retarget(std::uint32_t i, std::uint32_t size, const std::byte *fde,
				    std::uint32_t fde_bytes, std::uint32_t rows) noexcept;
	void retire(std::uint32_t i) noexcept;

private:
	[[nodiscard]] std::byte *header(std::size_t field) const noexcept { return base_ + field; }
	[[nodiscard]] std::byte *entry(std::uint32_t i) const noexcept;
	[[nodiscard]] std::byte *word(std::uint32_t i) const noexcept;
	[[nodiscard]] std::byte *note(std::uint32_t i) const noexcept;
	[[nodiscard]] bool write_fde(const std::byte *fde, std::uint32_t bytes) noexcept;

	SectionPlace place_{};
	std::byte *base_ = nullptr; /* the section's header */
	std::byte *index_ = nullptr;
	std::byte *fres_ = nullptr;
	std::byte *notes_ = nullptr;
	/* What readers see ... */
	std::uint32_t num_fdes_ = 0;
	std::uint32_t num_fres_ = 0;
	std::uint32_t fre_len_ = 0;
	std::uint32_t alive_ = 0;
	/* ... and what is staged on top of it. */
	std::uint32_t staged_fdes_ = 0;
	std::uint32_t staged_fres_ = 0;
	std::uint32_t staged_bytes_ = 0;
	std::uint32_t staged_alive_ = 0;
};

} // namespace jitsframe

#endif
