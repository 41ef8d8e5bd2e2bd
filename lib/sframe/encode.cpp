// SPDX-License-Identifier: MIT
/* Rows to the bytes of one FDE: attributes (2.3.2) and FREs (2.4). */
#include <jitsframe/sframe.hpp>

#include "format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace jitsframe {

namespace {

/* The shared decoder's SFRAME_MAX_REGS; lookup.cpp asserts that they agree. */
constexpr std::uint16_t max_reg = format::max_regs - 1;

struct Words {
	std::array<std::int64_t, 6> word; /* control words are unsigned, offsets signed */
	std::size_t count = 0;
	bool flex = false;

	void add(std::int64_t value) noexcept { word[count++] = value; }
};

bool is_plain_cfa(const Abi &abi, const Rule &cfa) noexcept
{
	return cfa.base == Rule::Base::reg && !cfa.deref &&
	       (cfa.reg == abi.sp_reg || cfa.reg == abi.fp_reg);
}

bool is_slot(const Rule &rule) noexcept
{
	return rule.base == Rule::Base::cfa && rule.deref;
}

/* What need not be said: the ABI's own place, or a register left alone. */
bool is_own_ra(const Abi &abi, const Rule &ra) noexcept
{
	if (ra.base == Rule::Base::none)
		return true;
	if (abi.fixed_ra_offset)
		return is_slot(ra) && ra.offset == abi.fixed_ra_offset;
	return ra == Rule::in_reg(abi.ra_reg);
}

bool is_own_fp(const Abi &abi, const Rule &fp) noexcept
{
	return fp.base == Rule::Base::none || fp == Rule::in_reg(abi.fp_reg);
}

/* Can a default FDE say this (3.1)? */
bool fits_default(const Abi &abi, const Row &row) noexcept
{
	if (row.outermost)
		return true;
	if (!is_plain_cfa(abi, row.cfa))
		return false;

	const bool own_ra = is_own_ra(abi, row.ra), own_fp = is_own_fp(abi, row.fp);
	if (abi.fixed_ra_offset)
		return own_ra && (own_fp || is_slot(row.fp));
	/* RA is tracked: either both are saved or neither (3.1.2). */
	if (own_ra)
		return own_fp;
	/* Readers take an offset of 0 to mean that the RA is not saved. */
	return is_slot(row.ra) && row.ra.offset && is_slot(row.fp);
}

void add_rule(Words &words, const Rule &rule) noexcept
{
	std::uint32_t control = rule.deref ? format::control_deref : 0;

	if (rule.base == Rule::Base::reg)
		control |= format::control_reg |
			   static_cast<std::uint32_t>(rule.reg) << format::control_regnum_shift;
	words.add(control);
	words.add(rule.offset);
}

Words flex_words(const Abi &abi, const Row &row) noexcept
{
	const bool own_ra = is_own_ra(abi, row.ra), own_fp = is_own_fp(abi, row.fp);
	Words words;

	words.flex = true;
	if (row.outermost)
		return words;
	add_rule(words, row.cfa);
	if (!own_ra)
		add_rule(words, row.ra);
	else if (!own_fp)
		words.add(0); /* padding: RA has no rule of its own */
	if (!own_fp)
		add_rule(words, row.fp);
	return words;
}

Words default_words(const Abi &abi, const Row &row) noexcept
{
	Words words;

	if (row.outermost)
		return words;
	words.add(row.cfa.offset);
	if (!is_own_ra(abi, row.ra))
		words.add(row.ra.offset);
	if (!is_own_fp(abi, row.fp))
		words.add(row.fp.offset);
	return words;
}

/* Control words stand before each offset; a padding word is a control word. */
bool is_control(const Words &words, std::size_t i) noexcept
{
	if (!words.flex)
		return false;
	if (words.count == 5 && i >= 2) /* CFA pair, padding, FP pair */
		return i == 2 || i == 3;
	return i % 2 == 0;
}

template <typename T>
bool fits(std::int64_t value) noexcept
{
	return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

template <typename Signed, typename Unsigned>
bool all_fit(const Words &words) noexcept
{
	for (std::size_t i = 0; i < words.count; i++)
		if (is_control(words, i) ? !fits<Unsigned>(words.word[i])
					 : !fits<Signed>(words.word[i]))
			return false;
	return true;
}

/* 0, 1, 2 for 1, 2, 4 bytes (SFRAME_FRE_DATAWORD_*). */
unsigned word_size_code(const Words &words) noexcept
{
	if (all_fit<std::int8_t, std::uint8_t>(words))
		return 0;
	return all_fit<std::int16_t, std::uint16_t>(words) ? 1 : 2;
}

/* Little endian, as both ABIs and their hosts are. */
std::byte *put(std::byte *out, std::uint64_t value, std::size_t bytes) noexcept
{
	static_assert(std::endian::native == std::endian::little);
	std::memcpy(out, &value, bytes);
	return out + bytes;
}

std::byte *encode_row(const Abi &abi, const Row &row, std::uint32_t offset, unsigned fre_type,
		      bool flex, std::byte *out) noexcept
{
	const Words words = flex ? flex_words(abi, row) : default_words(abi, row);
	const unsigned size_code = word_size_code(words);
	unsigned info = static_cast<unsigned>(words.count) << format::fre_count_shift |
			size_code << format::fre_size_shift;

	/* Unused in flexible rows, which name the register themselves. */
	if (!flex && !row.outermost && row.cfa.reg == abi.sp_reg)
		info |= format::fre_base_sp;
	if (row.ra_signed && !row.outermost)
		info |= format::fre_mangled_ra;
	out = put(out, offset, 1u << fre_type);
	out = put(out, info, 1);
	for (std::size_t i = 0; i < words.count; i++)
		out = put(out, static_cast<std::uint64_t>(words.word[i]), 1u << size_code);
	return out;
}

unsigned fre_type_for(std::uint32_t last_offset) noexcept
{
	if (last_offset <= std::numeric_limits<std::uint8_t>::max())
		return 0;
	return last_offset <= std::numeric_limits<std::uint16_t>::max() ? 1 : 2;
}

Error bad_row(const char *why, std::uint64_t index) noexcept
{
	return {Code::invalid_rows, 0, "rows", why, index};
}

Error check_row(const Abi &abi, const Row &row, std::size_t index) noexcept
{
	if (row.ra_signed && abi.arch != Arch::aarch64)
		return bad_row("signed return addresses are AArch64's", index);
	if (row.outermost)
		return {};
	if (row.cfa.base != Rule::Base::reg)
		return bad_row("the CFA must count from a register", index);
	/* Its control word would be 0, which is padding. */
	for (const Rule &rule : {row.ra, row.fp})
		if (rule.base == Rule::Base::cfa && !rule.deref)
			return bad_row("CFA + offset as a value cannot be encoded", index);
	for (const Rule &rule : {row.cfa, row.ra, row.fp})
		if (rule.base == Rule::Base::reg && rule.reg > max_reg)
			return bad_row("no decoder takes so high a register number", index);
	return {};
}

} // namespace

Row normalised(const Abi &abi, Row row) noexcept
{
	if (row.outermost) {
		row.cfa = row.ra = row.fp = Rule{};
		row.ra_signed = false;
		return row;
	}
	if (is_own_ra(abi, row.ra))
		row.ra = Rule{};
	if (is_own_fp(abi, row.fp))
		row.fp = Rule{};
	return row;
}

Error check_rows(const Abi &abi, std::uint32_t size, const FunctionRows &function) noexcept
{
	const auto &rows = function.rows;
	const std::uint32_t bound =
		function.repeat_block ? std::min<std::uint32_t>(function.repeat_block, size) : size;

	if (function.pauth_key_b && abi.arch != Arch::aarch64)
		return bad_row("pointer authentication is AArch64's", 0);
	if (function.repeat_block && rows.size() > max_live_rows)
		return bad_row("a repeating block cannot be split", rows.size());
	if (!rows.empty() && rows[0].offset != 0)
		return bad_row("the first row must be at offset 0", 0);
	for (std::size_t i = 0; i < rows.size(); i++) {
		if (i && rows[i].offset <= rows[i - 1].offset)
			return bad_row("offsets must ascend", i);
		if (rows[i].offset >= bound)
			return bad_row("offset behind the end of the code", i);
		if (Error error = check_row(abi, rows[i], i))
			return error;
	}
	return {};
}

std::size_t encode_fde(const Abi &abi, const FunctionRows &function, std::size_t first,
		       std::size_t count, std::byte *out) noexcept
{
	const auto rows = function.rows.subspan(first, count);
	const std::uint32_t base = count ? rows[0].offset : 0;
	const unsigned fre_type = fre_type_for(count ? rows[count - 1].offset - base : 0);
	unsigned info = fre_type;
	bool flex = false;

	for (const Row &row : rows)
		flex = flex || !fits_default(abi, row);
	if (function.signal)
		info |= format::info_signal;
	if (function.pauth_key_b)
		info |= format::info_pauth_key_b;
	if (function.repeat_block)
		info |= format::info_pctype_mask;

	std::byte *end = put(out, count, 2);
	end = put(end, info, 1);
	end = put(end, flex ? format::fde_type_flex : format::fde_type_default, 1);
	end = put(end, function.repeat_block, 1);
	for (const Row &row : rows)
		end = encode_row(abi, row, row.offset - base, fre_type, flex, end);
	return static_cast<std::size_t>(end - out);
}

} // namespace jitsframe
