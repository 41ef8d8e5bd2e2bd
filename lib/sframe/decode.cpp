// SPDX-License-Identifier: MIT
/*
 * A whole section to rows, checking every byte: for dumps, tests and tools.
 * The lookup of one PC is not here: that is the decoder shared with the
 * kernel, see lookup.cpp.
 */
#include <jitsframe/sframe.hpp>

#include "format.hpp"

#include <cstring>

namespace jitsframe {

namespace {

constexpr std::uint16_t swapped_magic = 0xe2de;

Error malformed(const char *why, std::uint64_t at) noexcept
{
	return {Code::malformed, 0, "SFrame section", why, at};
}

/* A bounded walk over bytes; reading past the end turns `ok` off for good. */
class Cursor {
public:
	Cursor(std::span<const std::byte> bytes, std::size_t at) noexcept : bytes_(bytes), at_(at)
	{
	}

	std::uint32_t get(std::size_t size) noexcept
	{
		std::uint32_t value = 0;

		if (at_ > bytes_.size() || bytes_.size() - at_ < size) {
			ok_ = false;
			return 0;
		}
		for (std::size_t i = 0; i < size; i++)
			value |= static_cast<std::uint32_t>(bytes_[at_ + i]) << (8 * i);
		at_ += size;
		return value;
	}
	std::int32_t get_signed(std::size_t size) noexcept
	{
		const unsigned unused = static_cast<unsigned>(32 - 8 * size);

		return static_cast<std::int32_t>(get(size) << unused) >> unused;
	}
	[[nodiscard]] bool ok() const noexcept { return ok_; }
	[[nodiscard]] std::size_t at() const noexcept { return at_; }

private:
	std::span<const std::byte> bytes_;
	std::size_t at_;
	bool ok_ = true;
};

struct RowInfo {
	unsigned count;
	std::size_t word_bytes;
	bool sp_based;
	bool mangled_ra;
};

/* The words left of one flexible row: each rule is a control word and an offset. */
class FlexWords {
public:
	FlexWords(Cursor &cursor, const RowInfo &info) noexcept
		: cursor_(cursor), left_(info.count), bytes_(info.word_bytes)
	{
	}

	/* False if the words end in the middle of a rule, or the control word is unknown. */
	bool rule(Rule &rule) noexcept
	{
		if (!left_)
			return true;
		const std::uint32_t control = cursor_.get(bytes_);
		left_--;
		if (!control)
			return true;
		if (!left_ || control & format::control_unused)
			return false;
		left_--;
		return assign(rule, control, cursor_.get_signed(bytes_));
	}
	[[nodiscard]] unsigned left() const noexcept { return left_; }

private:
	static bool assign(Rule &rule, std::uint32_t control, std::int32_t offset) noexcept
	{
		const std::uint32_t reg = control >> format::control_regnum_shift;

		if (reg >= format::max_regs)
			return false;
		rule.base = control & format::control_reg ? Rule::Base::reg : Rule::Base::cfa;
		rule.deref = control & format::control_deref;
		rule.reg = rule.base == Rule::Base::reg ? static_cast<std::uint16_t>(reg) : 0;
		rule.offset = offset;
		return true;
	}

	Cursor &cursor_;
	unsigned left_;
	std::size_t bytes_;
};

const char *decode_flex(Cursor &cursor, const RowInfo &info, Row &row) noexcept
{
	FlexWords words(cursor, info);

	if (!words.rule(row.cfa) || !words.rule(row.ra) || !words.rule(row.fp))
		return "a flexible row's rule is broken";
	if (words.left())
		return "a flexible row has too many data words";
	if (row.cfa.base != Rule::Base::reg)
		return "a flexible row's CFA does not count from a register";
	return nullptr;
}

const char *decode_default(const Abi &abi, Cursor &cursor, const RowInfo &info, Row &row) noexcept
{
	const bool ra_tracked = abi.fixed_ra_offset == 0;

	if (info.count > (ra_tracked ? 3u : 2u))
		return "a default row's number of data words is not the ABI's";
	row.cfa = Rule::in_reg(info.sp_based ? abi.sp_reg : abi.fp_reg,
			       cursor.get_signed(info.word_bytes));
	unsigned left = info.count - 1;
	if (ra_tracked && left) {
		const std::int32_t offset = cursor.get_signed(info.word_bytes);

		/* 0 stands for "not saved": that slot would be the caller's. */
		row.ra = offset ? Rule::at_cfa(offset) : Rule{};
		left--;
	}
	if (left)
		row.fp = Rule::at_cfa(cursor.get_signed(info.word_bytes));
	return nullptr;
}

class Decoder {
public:
	Decoder(std::span<const std::byte> section, const SectionHeader &header, std::uint64_t address,
		bool text_relative) noexcept
		: section_(section), header_(header), abi_(abi_of(arch())), address_(address),
		  text_relative_(text_relative), fres_left_(header.num_fres)
	{
	}

	[[nodiscard]] Arch arch() const noexcept
	{
		return header_.abi_arch == x86_64::abi.abi_arch ? Arch::x86_64 : Arch::aarch64;
	}

	Error all(std::vector<Function> &functions) noexcept
	{
		functions.reserve(header_.num_fdes);
		for (std::uint32_t i = 0; i < header_.num_fdes; i++) {
			Function function;

			if (Error error = entry(i, function))
				return error;
			if (header_.flags & format::flag_sorted && i &&
			    function.start < functions.back().start)
				return malformed("the index is not sorted", entry_at(i));
			functions.push_back(std::move(function));
		}
		return {};
	}

private:
	[[nodiscard]] std::size_t entry_at(std::uint32_t i) const noexcept
	{
		return header_.index_offset + std::size_t{i} * sizeof(format::IndexEntry);
	}

	Error entry(std::uint32_t i, Function &function) noexcept
	{
		const std::size_t at = entry_at(i);
		format::IndexEntry entry;

		std::memcpy(&entry, section_.data() + at, sizeof(entry));
		if (text_relative_ && header_.flags & format::flag_pcrel)
			return malformed("text-relative starts cannot count from the field", 3);
		function.start = static_cast<std::uint64_t>(entry.start) + address_ +
				 (header_.flags & format::flag_pcrel ? at : 0);
		function.size = entry.size;
		return attributes(entry.fre_off, function);
	}

	Error attributes(std::uint32_t fre_off, Function &function) noexcept
	{
		const std::span fres = section_.subspan(header_.fre_offset, header_.fre_len);
		Cursor cursor(fres, fre_off);
		const std::uint32_t num_fres = cursor.get(2);
		const std::uint32_t info = cursor.get(1);
		const std::uint32_t info2 = cursor.get(1);
		const std::uint32_t rep_size = cursor.get(1);
		const std::size_t at = header_.fre_offset + std::size_t{fre_off};

		if (!cursor.ok())
			return malformed("attributes behind the end of the FRE sub-section", at);
		if (info & format::info_unused || (info & format::info_fre_type) > 2)
			return malformed("unknown FRE type", at);
		if (info2 > format::fde_type_flex)
			return malformed("unknown FDE type", at);
		function.flexible = info2 == format::fde_type_flex;
		function.signal = info & format::info_signal;
		function.pauth_key_b = info & format::info_pauth_key_b;
		if (info & format::info_pctype_mask) {
			if (!rep_size)
				return malformed("a repeating block of no bytes", at);
			function.repeat_block = static_cast<std::uint8_t>(rep_size);
		}
		/* Bounds the work by the section's length: no two FDEs share rows. */
		if (num_fres > fres_left_)
			return malformed("more rows than the header counts", at);
		fres_left_ -= num_fres;
		return rows(cursor, num_fres, info & format::info_fre_type, function);
	}

	Error rows(Cursor &cursor, std::uint32_t num_fres, std::uint32_t fre_type,
		   Function &function) noexcept
	{
		const std::uint32_t bound =
			function.repeat_block ? function.repeat_block : function.size;

		function.rows.reserve(num_fres);
		for (std::uint32_t i = 0; i < num_fres; i++) {
			const std::size_t at = header_.fre_offset + cursor.at();
			Row row;

			if (const char *why = this->row(cursor, std::size_t{1} << fre_type,
							function.flexible, row))
				return malformed(why, at);
			if (!cursor.ok())
				return malformed("a row behind the end of the FRE sub-section", at);
			if (row.offset >= bound)
				return malformed("a row behind the end of the code", at);
			if (i && row.offset <= function.rows.back().offset)
				return malformed("rows do not ascend", at);
			function.rows.push_back(row);
		}
		return {};
	}

	/* Null, or what is wrong. Reading past the end is the cursor's to say. */
	const char *row(Cursor &cursor, std::size_t start_bytes, bool flex, Row &row) noexcept
	{
		row.offset = cursor.get(start_bytes);
		const std::uint32_t byte = cursor.get(1);
		const unsigned size_code = byte >> format::fre_size_shift & format::fre_size_mask;
		const RowInfo info = {byte >> format::fre_count_shift & format::fre_count_mask,
				      std::size_t{1} << size_code,
				      (byte & format::fre_base_sp) != 0,
				      (byte & format::fre_mangled_ra) != 0};

		if (size_code > 2)
			return "unknown data word size";
		row.outermost = info.count == 0;
		if (row.outermost)
			return nullptr;
		/* x86-64 signs nothing, so the bit means nothing there. */
		row.ra_signed = info.mangled_ra && abi_.arch == Arch::aarch64;
		return flex ? decode_flex(cursor, info, row)
			    : decode_default(abi_, cursor, info, row);
	}

	std::span<const std::byte> section_;
	const SectionHeader &header_;
	const Abi &abi_;
	std::uint64_t address_;
	bool text_relative_;
	std::uint32_t fres_left_;
};

Error check_preamble(const format::Header &header) noexcept
{
	if (header.magic == swapped_magic)
		return {Code::unsupported, 0, "SFrame section", "the other byte order", 0};
	if (header.magic != format::magic)
		return malformed("no SFrame magic number", 0);
	if (header.version != format::version)
		return {Code::unsupported, 0, "SFrame section", "not version 3", header.version};
	if (header.flags & ~format::known_flags)
		return malformed("unknown flag", header.flags);
	return {};
}

Error check_abi(const format::Header &header) noexcept
{
	for (const Abi *abi : {&x86_64::abi, &aarch64::abi}) {
		if (header.abi_arch != abi->abi_arch)
			continue;
		if (header.cfa_fixed_ra_offset != abi->fixed_ra_offset ||
		    header.cfa_fixed_fp_offset != 0)
			return malformed("fixed offsets that are not the ABI's", 5);
		return {};
	}
	return {Code::unsupported, 0, "SFrame section", "unknown ABI", header.abi_arch};
}

} // namespace

Result<SectionHeader> decode_header(std::span<const std::byte> section) noexcept
{
	format::Header raw;

	if (section.size() < sizeof(raw))
		return malformed("shorter than a header", section.size());
	std::memcpy(&raw, section.data(), sizeof(raw));
	if (Error error = check_preamble(raw))
		return error;
	if (Error error = check_abi(raw))
		return error;

	const std::uint64_t header_end = sizeof(raw) + raw.auxhdr_len;
	const std::uint64_t index = header_end + raw.fdeoff;
	const std::uint64_t fres = header_end + raw.freoff;
	const std::uint64_t index_end = index + std::uint64_t{raw.num_fdes} * sizeof(format::IndexEntry);

	if (index_end > fres)
		return malformed("the index reaches into the FRE sub-section", index);
	if (fres + raw.fre_len > section.size())
		return malformed("the FRE sub-section reaches behind the end", fres);
	return SectionHeader{raw.flags,
			     raw.abi_arch,
			     raw.cfa_fixed_fp_offset,
			     raw.cfa_fixed_ra_offset,
			     raw.auxhdr_len,
			     raw.num_fdes,
			     raw.num_fres,
			     raw.fre_len,
			     static_cast<std::uint32_t>(index),
			     static_cast<std::uint32_t>(fres)};
}

Result<Section> decode(std::span<const std::byte> section, std::uint64_t address,
		       bool text_relative) noexcept
{
	Result<SectionHeader> header = decode_header(section);

	if (!header)
		return header.error();

	Decoder decoder(section, *header, address, text_relative);
	Section out = {*header, decoder.arch(), {}};

	if (Error error = decoder.all(out.functions))
		return error;
	return out;
}

Error validate(std::span<const std::byte> section) noexcept
{
	return decode(section, 0).error();
}

} // namespace jitsframe
