// SPDX-License-Identifier: MIT
#include <jitsframe/rows.hpp>

#include <algorithm>

namespace jitsframe {

RowSplitter::RowSplitter(const FunctionRows &rows, std::uint32_t size,
			 std::size_t max_rows) noexcept
	: function_(rows), size_(size),
	  max_rows_(std::clamp<std::size_t>(max_rows, 1, max_live_rows))
{
}

bool RowSplitter::next(RowPiece &piece) noexcept
{
	const auto rows = function_.rows;

	if (is_done_)
		return false;
	const std::size_t count = std::min(max_rows_, rows.size() - next_);
	const std::uint32_t begin = count ? rows[next_].offset : 0;

	for (std::size_t i = 0; i < count; i++) {
		piece_[i] = rows[next_ + i];
		piece_[i].offset -= begin;
	}
	next_ += count;
	/* Blocks that repeat have few rows, so theirs are never cut (check_rows). */
	is_done_ = next_ == rows.size();
	const std::uint32_t end = is_done_ ? size_ : rows[next_].offset;
	piece = {begin, end - begin, function_};
	piece.rows.rows = std::span<const Row>(piece_).first(count);
	return true;
}

} // namespace jitsframe
