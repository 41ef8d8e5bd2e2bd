// SPDX-License-Identifier: MIT
#include "free_list.hpp"

#include <algorithm>
#include <bit>

namespace jitsframe {

namespace {

/* Pieces looked at in one class before a larger one is split instead. */
constexpr std::uint32_t few = 8;

} // namespace

std::uint32_t FreeList::class_of(std::uint32_t granules) noexcept
{
	if (granules < exact)
		return granules;

	const auto log = static_cast<std::uint32_t>(std::bit_width(granules)) - 1;
	return exact + (log - 4) * 8 + ((granules >> (log - 3)) & 7);
}

bool FreeList::create(std::uint32_t granules, std::uint32_t bias) noexcept
{
	if (!tags_.map(granules) || !links_.map(granules) || !taken_.map(granules / 64 + 1))
		return false;
	granules_ = granules;
	bias_ = bias;
	heads_.fill(none);
	link(0, granules);
	return true;
}

void FreeList::tag(std::uint32_t first, std::uint32_t granules, std::uint32_t bit) noexcept
{
	tags_[first] = granules | bit;
	tags_[first + granules - 1] = granules | bit;
}

void FreeList::link(std::uint32_t first, std::uint32_t granules) noexcept
{
	const std::uint32_t size_class = class_of(granules);
	const std::uint32_t next = heads_[size_class];

	tag(first, granules, free_bit);
	links_[first] = {next, none};
	if (next != none)
		links_[next].previous = first;
	heads_[size_class] = first;
	filled_[size_class / 64] |= std::uint64_t{1} << (size_class % 64);
}

void FreeList::unlink(std::uint32_t first) noexcept
{
	const std::uint32_t size_class = class_of(size_of(first));
	const Links links = links_[first];

	if (links.next != none)
		links_[links.next].previous = links.previous;
	if (links.previous != none)
		links_[links.previous].next = links.next;
	else
		heads_[size_class] = links.next;
	if (heads_[size_class] == none)
		filled_[size_class / 64] &= ~(std::uint64_t{1} << (size_class % 64));
}

bool FreeList::is_taken(std::uint32_t first) const noexcept
{
	return taken_[first / 64] >> (first % 64) & 1;
}

void FreeList::mark_taken(std::uint32_t first, bool taken) noexcept
{
	const std::uint64_t bit = std::uint64_t{1} << (first % 64);

	taken_[first / 64] = taken ? taken_[first / 64] | bit : taken_[first / 64] & ~bit;
}

/* The first class that has a piece, from `from` on; or `classes`. */
std::uint32_t FreeList::class_from(std::uint32_t from) const noexcept
{
	for (std::uint32_t word = from / 64; word < filled_.size(); word++) {
		std::uint64_t left = filled_[word];

		if (word == from / 64)
			left &= ~std::uint64_t{0} << (from % 64);
		if (left)
			return word * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
	}
	return classes;
}

/* 31 bits of granules, 27 of bias and 27 of alignment do not overflow. */
std::uint32_t FreeList::aligned(std::uint32_t first, std::uint32_t align) const noexcept
{
	return ((first + bias_ + align - 1) & ~(align - 1)) - bias_;
}

bool FreeList::fits(std::uint32_t piece, std::uint32_t granules, std::uint32_t align) const noexcept
{
	const std::uint32_t end = piece + size_of(piece);
	const std::uint32_t start = aligned(piece, align);

	return start <= end && end - start >= granules;
}

/*
 * Smallest class first, at most `tries` pieces in each. Any piece of a class
 * above that of the size with its worst alignment fits, so that with a few
 * tries this is constant time.
 */
std::uint32_t FreeList::find(std::uint32_t granules, std::uint32_t align,
			     std::uint32_t tries) const noexcept
{
	for (std::uint32_t at = class_from(class_of(granules)); at < classes; at = class_from(at + 1)) {
		std::uint32_t left = tries;

		for (std::uint32_t i = heads_[at]; i != none && left; i = links_[i].next, left--)
			if (fits(i, granules, align))
				return i;
	}
	return none;
}

std::uint32_t FreeList::take(std::uint32_t granules, std::uint32_t align) noexcept
{
	if (!granules || granules > granules_)
		return none;

	std::uint32_t piece = find(granules, align, few);
	if (piece == none)
		piece = find(granules, align, UINT32_MAX);
	if (piece == none)
		return none;

	const std::uint32_t end = piece + size_of(piece);
	const std::uint32_t start = aligned(piece, align);
	unlink(piece);
	if (start > piece)
		link(piece, start - piece);
	if (start + granules < end)
		link(start + granules, end - start - granules);
	tag(start, granules, 0);
	mark_taken(start, true);
	return start;
}

std::uint32_t FreeList::give(std::uint32_t first) noexcept
{
	if (first >= granules_ || !is_taken(first))
		return 0;

	const std::uint32_t granules = size_of(first);
	std::uint32_t start = first, end = first + granules;
	mark_taken(first, false);
	if (end < granules_ && (tags_[end] & free_bit)) {
		const std::uint32_t next = end;

		end += size_of(next);
		unlink(next);
	}
	if (start && (tags_[start - 1] & free_bit)) {
		start -= size_of(start - 1);
		unlink(start);
	}
	link(start, end - start);
	return granules;
}

} // namespace jitsframe
