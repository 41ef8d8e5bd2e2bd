// SPDX-License-Identifier: MIT
#include "random_function.hpp"

#include <algorithm>

namespace jitsframe {

namespace {

struct Kind {
	bool flexible; /* some rows need a flexible FDE */
	int magnitude; /* of offsets: 0 small, 1 two bytes, 2 four bytes */
};

/* Not 0: a default row's offset of 0 from the CFA stands for "none" on AArch64. */
std::int32_t random_offset(Random &random, const Kind &kind)
{
	constexpr std::uint64_t bounds[] = {120, 30000, 0x7fffff00};
	const auto value = static_cast<std::int32_t>(1 + random.below(bounds[kind.magnitude]));

	return random.below(2) ? value : -value;
}

std::uint16_t random_reg(Random &random, bool wide)
{
	return static_cast<std::uint16_t>(random.below(wide ? 64 : 32));
}

Rule random_place(Random &random, const Kind &kind)
{
	switch (random.below(3)) {
	case 0:
		return Rule::at_cfa(random_offset(random, kind));
	case 1:
		return Rule::in_reg(random_reg(random, kind.magnitude > 0),
				    random_offset(random, kind));
	default:
		return Rule::at_reg(random_reg(random, kind.magnitude > 0),
				    random_offset(random, kind));
	}
}

void default_rules(const Abi &abi, Random &random, const Kind &kind, Row &row)
{
	row.cfa = Rule::in_reg(random.below(3) ? abi.sp_reg : abi.fp_reg,
			       random_offset(random, kind));
	if (random.below(2))
		return;
	row.fp = Rule::at_cfa(random_offset(random, kind));
	if (!abi.fixed_ra_offset)
		row.ra = Rule::at_cfa(random_offset(random, kind));
}

void flexible_rules(Random &random, const Kind &kind, Row &row)
{
	row.cfa = random_place(random, kind);
	if (row.cfa.base == Rule::Base::cfa)
		row.cfa = Rule::at_reg(random_reg(random, false), random_offset(random, kind));
	if (random.below(2))
		row.fp = random_place(random, kind);
	if (random.below(2))
		row.ra = random_place(random, kind);
}

Row random_row(const Abi &abi, Random &random, const Kind &kind, std::uint32_t offset)
{
	Row row;

	row.offset = offset;
	row.outermost = random.below(16) == 0;
	if (row.outermost)
		return row;
	if (kind.flexible && random.below(3))
		flexible_rules(random, kind, row);
	else
		default_rules(abi, random, kind, row);
	row.ra_signed = abi.arch == Arch::aarch64 && random.below(3) == 0;
	return normalised(abi, row);
}

/* 2.3.3.2 and 3.1: what a default FDE can say of a row. */
bool needs_flexible(const Abi &abi, const Row &row)
{
	const bool slot_fp = row.fp.base == Rule::Base::cfa;
	const bool slot_ra = row.ra.base == Rule::Base::cfa;
	const bool no_fp = row.fp.base == Rule::Base::none;
	const bool no_ra = row.ra.base == Rule::Base::none;

	if (row.outermost)
		return false;
	if (row.cfa.deref || (row.cfa.reg != abi.sp_reg && row.cfa.reg != abi.fp_reg))
		return true;
	if (abi.arch == Arch::x86_64)
		return !no_ra || !(no_fp || slot_fp);
	return !((no_ra && no_fp) || (slot_ra && slot_fp));
}

void set_flexible(const Abi &abi, Function &function)
{
	function.flexible = std::any_of(
		function.rows.begin(), function.rows.end(),
		[&abi](const Row &row) { return needs_flexible(abi, row); });
}

std::uint32_t random_size(Random &random)
{
	constexpr std::uint64_t bounds[] = {200, 5000, 0x3ff00};

	return static_cast<std::uint32_t>(1 + random.below(bounds[random.below(3)]));
}

/* Strictly ascending from 0, below `bound`. */
std::vector<std::uint32_t> random_offsets(Random &random, std::uint32_t bound, std::uint64_t count)
{
	std::vector<std::uint32_t> offsets = {0};

	for (std::uint64_t i = 1; i < count; i++)
		offsets.push_back(static_cast<std::uint32_t>(random.below(bound)));
	std::sort(offsets.begin(), offsets.end());
	offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
	return offsets;
}

} // namespace

Function random_function(const Abi &abi, Random &random, std::uint64_t start)
{
	const Kind kind = {random.below(3) == 0, static_cast<int>(random.below(3))};
	Function function;

	function.start = start;
	function.size = random_size(random);
	function.signal = random.below(8) == 0;
	function.pauth_key_b = abi.arch == Arch::aarch64 && random.below(4) == 0;
	if (random.below(16) == 0)
		return function; /* outermost throughout */
	if (random.below(8) == 0)
		function.repeat_block = static_cast<std::uint8_t>(
			1 + random.below(std::min<std::uint64_t>(255, function.size)));

	const std::uint32_t bound = function.repeat_block ? function.repeat_block : function.size;
	const std::uint64_t rows = random.below(12) == 0 && !function.repeat_block
					   ? 65 + random.below(136)
					   : 1 + random.below(12);
	for (const std::uint32_t offset : random_offsets(random, bound, rows))
		function.rows.push_back(random_row(abi, random, kind, offset));
	set_flexible(abi, function);
	return function;
}

std::vector<Function> split(const Abi &abi, const Function &function, std::size_t rows_per_fde)
{
	std::vector<Function> pieces;
	std::size_t first = 0;

	do {
		const std::size_t end = std::min(first + rows_per_fde, function.rows.size());
		const std::uint32_t from = first ? function.rows[first].offset : 0;
		const std::uint32_t to =
			end < function.rows.size() ? function.rows[end].offset : function.size;
		Function piece = function;

		piece.start += from;
		piece.size = to - from;
		piece.rows.assign(function.rows.begin() + static_cast<std::ptrdiff_t>(first),
				  function.rows.begin() + static_cast<std::ptrdiff_t>(end));
		for (Row &row : piece.rows)
			row.offset -= from;
		set_flexible(abi, piece);
		pieces.push_back(piece);
		first = end;
	} while (first < function.rows.size());
	return pieces;
}

} // namespace jitsframe
