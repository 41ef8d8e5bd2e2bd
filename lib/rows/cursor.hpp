/* SPDX-License-Identifier: MIT */
/* Reading CFI's bytes: what leads out of them, or is too big, is an error that says where. */
#ifndef JITSFRAME_LIB_ROWS_CURSOR_HPP
#define JITSFRAME_LIB_ROWS_CURSOR_HPP

#include <jitsframe/cfi.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace jitsframe {

/*
 * A place in a section, up to an end. The first failure is kept, and everything
 * read from then on is 0: a caller asks once, before it believes what it read.
 */
class Cursor {
public:
	Cursor(std::span<const std::byte> bytes, std::size_t at, std::size_t end) noexcept
		: bytes_(bytes), at_(at), end_(end)
	{
	}

	[[nodiscard]] std::size_t at() const noexcept { return at_; }
	[[nodiscard]] std::size_t left() const noexcept { return error_ ? 0 : end_ - at_; }
	[[nodiscard]] Error error() const noexcept { return error_; }
	[[nodiscard]] bool failed() const noexcept { return static_cast<bool>(error_); }

	void fail(Code code, const char *why, std::size_t at) noexcept;
	/* Little endian, of `count` bytes (at most 8). */
	std::uint64_t fixed(std::size_t count) noexcept;
	std::int64_t signed_fixed(std::size_t count) noexcept;
	std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(fixed(1)); }
	std::uint64_t uleb128() noexcept;
	std::int64_t sleb128() noexcept;
	void skip(std::uint64_t count) noexcept;
	/* The next `count` bytes as a cursor of their own; this one goes on behind them. */
	Cursor block(std::uint64_t count) noexcept;

private:
	bool has(std::uint64_t count) noexcept;

	std::span<const std::byte> bytes_;
	std::size_t at_;
	std::size_t end_;
	Error error_{};
};

/* An encoded pointer (DW_EH_PE_...); `function_start` for funcrel. 0 stays 0
 * whatever it counts from. */
std::uint64_t read_pointer(Cursor &cursor, std::uint8_t encoding, const CfiSection &section,
			   std::uint64_t function_start) noexcept;

} // namespace jitsframe

#endif
