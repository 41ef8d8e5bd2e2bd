/* SPDX-License-Identifier: MIT */
/* One thing that happened, as the formats take it. */
#ifndef JITSFRAME_LIB_SYMBOLS_RECORD_HPP
#define JITSFRAME_LIB_SYMBOLS_RECORD_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace jitsframe {

struct Record {
	enum class Kind : std::uint32_t { load, move };

	/* What goes through the ring before the parts of variable length. */
	struct Fixed {
		Kind kind;
		std::uint32_t tid;
		std::uint64_t time; /* CLOCK_MONOTONIC, in ns */
		std::uint64_t index;
		std::uint64_t start;
		std::uint64_t old_start;
		std::uint64_t size;
		std::uint32_t line_count;
		std::uint32_t line_bytes;
		std::uint32_t name_bytes;
		std::uint32_t has_bytes;
	};

	Fixed fixed;
	std::span<const std::byte> lines; /* debug_entry after debug_entry */
	std::string_view name;
	std::span<const std::byte> bytes;
};

} // namespace jitsframe

#endif
