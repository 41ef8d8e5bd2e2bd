// SPDX-License-Identifier: MIT
#include "cursor.hpp"

#include "dwarf.hpp"

#include <bit>
#include <cstring>

namespace jitsframe {

namespace {

constexpr unsigned value_bits = 64;
constexpr unsigned leb_bits = 7; /* of a byte; the eighth says that another one follows */
constexpr std::size_t pointer_bytes = 8;

std::uint64_t sign_extended(std::uint64_t value, unsigned bits) noexcept
{
	const unsigned unused = value_bits - bits;

	return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

/* The number alone, without what it counts from. */
std::uint64_t read_format(Cursor &cursor, std::uint8_t encoding) noexcept
{
	const std::size_t at = cursor.at();

	switch (encoding & dwarf::pe_format) {
	case dwarf::pe_absptr:
	case dwarf::pe_udata8:
	case dwarf::pe_sdata8:
		return cursor.fixed(8);
	case dwarf::pe_uleb128:
		return cursor.uleb128();
	case dwarf::pe_udata2:
		return cursor.fixed(2);
	case dwarf::pe_udata4:
		return cursor.fixed(4);
	case dwarf::pe_sleb128:
		return static_cast<std::uint64_t>(cursor.sleb128());
	case dwarf::pe_sdata2:
		return static_cast<std::uint64_t>(cursor.signed_fixed(2));
	case dwarf::pe_sdata4:
		return static_cast<std::uint64_t>(cursor.signed_fixed(4));
	default:
		cursor.fail(Code::malformed, "no such pointer encoding (at its offset)", at);
		return 0;
	}
}

void align(Cursor &cursor, std::uint64_t section_address) noexcept
{
	const std::uint64_t address = section_address + cursor.at();

	cursor.skip(-address % pointer_bytes);
}

/* What the pointer at `at` counts from. */
std::uint64_t origin(Cursor &cursor, std::uint8_t encoding, const CfiSection &section,
		     std::uint64_t function_start, std::size_t at) noexcept
{
	switch (encoding & dwarf::pe_application) {
	case 0:
	case dwarf::pe_aligned:
		return 0;
	case dwarf::pe_pcrel:
		return section.address + at;
	case dwarf::pe_textrel:
		return section.text_base;
	case dwarf::pe_datarel:
		return section.data_base;
	case dwarf::pe_funcrel:
		return function_start;
	default:
		cursor.fail(Code::malformed, "no such pointer encoding (at its offset)", at);
		return 0;
	}
}

} // namespace

void Cursor::fail(Code code, const char *why, std::size_t at) noexcept
{
	if (!error_)
		error_ = {code, 0, "read CFI", why, at};
}

bool Cursor::has(std::uint64_t count) noexcept
{
	if (!error_ && count > end_ - at_)
		fail(Code::malformed, "cut short (at the offset)", at_);
	return !error_;
}

std::uint64_t Cursor::fixed(std::size_t count) noexcept
{
	static_assert(std::endian::native == std::endian::little);
	std::uint64_t value = 0;

	if (!has(count))
		return 0;
	std::memcpy(&value, bytes_.data() + at_, count);
	at_ += count;
	return value;
}

std::int64_t Cursor::signed_fixed(std::size_t count) noexcept
{
	return static_cast<std::int64_t>(
		sign_extended(fixed(count), static_cast<unsigned>(8 * count)));
}

std::uint64_t Cursor::uleb128() noexcept
{
	const std::size_t start = at_;
	std::uint64_t value = 0;

	for (unsigned shift = 0; shift < value_bits; shift += leb_bits) {
		const std::uint64_t byte = u8();
		const std::uint64_t bits = byte & 0x7f;

		if ((bits << shift) >> shift != bits)
			break;
		value |= bits << shift;
		if (byte < 0x80)
			return value;
	}
	fail(Code::malformed, "a LEB128 number of more than 64 bits (at the offset)", start);
	return 0;
}

std::int64_t Cursor::sleb128() noexcept
{
	const std::size_t start = at_;
	std::uint64_t value = 0;

	for (unsigned shift = 0; shift < value_bits; shift += leb_bits) {
		const std::uint64_t byte = u8();

		value |= (byte & 0x7f) << shift;
		if (byte >= 0x80)
			continue;
		if (shift + leb_bits < value_bits)
			return static_cast<std::int64_t>(sign_extended(value, shift + leb_bits));
		/* One bit is left: the six above it must repeat it. */
		if (byte == 0 || byte == 0x7f)
			return static_cast<std::int64_t>(value);
		break;
	}
	fail(Code::malformed, "a LEB128 number of more than 64 bits (at the offset)", start);
	return 0;
}

void Cursor::skip(std::uint64_t count) noexcept
{
	if (has(count))
		at_ += count;
}

Cursor Cursor::block(std::uint64_t count) noexcept
{
	const std::size_t start = at_;

	skip(count);
	Cursor inside(bytes_, start, at_);
	inside.error_ = error_;
	return inside;
}

std::uint64_t read_pointer(Cursor &cursor, std::uint8_t encoding, const CfiSection &section,
			   std::uint64_t function_start) noexcept
{
	if ((encoding & dwarf::pe_application) == dwarf::pe_aligned)
		align(cursor, section.address);

	const std::size_t at = cursor.at();
	std::uint64_t value = read_format(cursor, encoding);
	const std::uint64_t from = origin(cursor, encoding, section, function_start, at);

	if (cursor.failed() || value == 0)
		return 0;
	value += from;
	if (!(encoding & dwarf::pe_indirect))
		return value;
	if (!section.load) {
		cursor.fail(Code::unsupported, "an indirect pointer, and no way to load it", at);
		return 0;
	}
	std::uint64_t loaded = 0;
	if (!section.load(section.load_context, value, loaded))
		cursor.fail(Code::malformed, "an indirect pointer that cannot be loaded", at);
	return loaded;
}

} // namespace jitsframe
