/* SPDX-License-Identifier: MIT */
/*
 * Which granules of a window are free: lists by size, neighbours joined. Knows
 * nothing of addresses, and keeps its notes outside the window, so that free
 * code memory is never written and its pages can be given back.
 */
#ifndef JITSFRAME_LIB_CODE_FREE_LIST_HPP
#define JITSFRAME_LIB_CODE_FREE_LIST_HPP

#include "lazy_memory.hpp"

#include <array>
#include <cstdint>

namespace jitsframe {

class FreeList {
public:
	static constexpr std::uint32_t none = UINT32_MAX;
	/* Sizes and indices are 31 bits: the top bit of a tag says free. */
	static constexpr std::uint32_t most_granules = UINT32_MAX >> 1;
	static constexpr std::uint32_t largest_bias = (1u << 27) - 1;

	/*
	 * All of them free. Alignment counts from `bias` granules before the
	 * first one: where the window lies. False: no memory.
	 */
	[[nodiscard]] bool create(std::uint32_t granules, std::uint32_t bias) noexcept;

	/* The first granule of a piece of so many, aligned to `align` (a power of two); or none. */
	[[nodiscard]] std::uint32_t take(std::uint32_t granules, std::uint32_t align) noexcept;

	/* What begins at `first` is free again. Its size, or 0 if nothing that was taken begins there. */
	std::uint32_t give(std::uint32_t first) noexcept;

	/* Each free piece: visit(first, granules). */
	template <typename Visit>
	void for_free(Visit &&visit) const noexcept
	{
		for (const std::uint32_t head : heads_)
			for (std::uint32_t i = head; i != none; i = links_[i].next)
				visit(i, size_of(i));
	}

private:
	/* Exact sizes below 16; above, eight classes between a power of two and the next. */
	static constexpr std::uint32_t exact = 16;
	static constexpr std::uint32_t classes = exact + 27 * 8;
	static constexpr std::uint32_t free_bit = 1u << 31;

	struct Links {
		std::uint32_t next;
		std::uint32_t previous;
	};

	[[nodiscard]] static std::uint32_t class_of(std::uint32_t granules) noexcept;
	[[nodiscard]] std::uint32_t class_from(std::uint32_t from) const noexcept;
	[[nodiscard]] std::uint32_t find(std::uint32_t granules, std::uint32_t align,
					 std::uint32_t tries) const noexcept;
	[[nodiscard]] std::uint32_t aligned(std::uint32_t first, std::uint32_t align) const noexcept;
	[[nodiscard]] bool fits(std::uint32_t piece, std::uint32_t granules,
				std::uint32_t align) const noexcept;
	[[nodiscard]] std::uint32_t size_of(std::uint32_t first) const noexcept
	{
		return tags_[first] & ~free_bit;
	}
	void tag(std::uint32_t first, std::uint32_t granules, std::uint32_t bit) noexcept;
	void link(std::uint32_t first, std::uint32_t granules) noexcept;
	void unlink(std::uint32_t first) noexcept;
	[[nodiscard]] bool is_taken(std::uint32_t first) const noexcept;
	void mark_taken(std::uint32_t first, bool taken) noexcept;

	std::uint32_t granules_ = 0;
	std::uint32_t bias_ = 0;
	LazyArray<std::uint32_t> tags_;  /* At the first and the last granule of every piece. */
	LazyArray<Links> links_;         /* At the first granule of a free one. */
	LazyArray<std::uint64_t> taken_; /* A bit where a taken one begins. */
	std::array<std::uint32_t, classes> heads_{};
	std::array<std::uint64_t, (classes + 63) / 64> filled_{};
};

} // namespace jitsframe

#endif
