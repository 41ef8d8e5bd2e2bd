// SPDX-License-Identifier: MIT
/* CIEs and FDEs: LSB 5, "Exception Frames". Their instructions are cfi_program.cpp's. */
#include <jitsframe/cfi.hpp>

#include "cursor.hpp"
#include "dwarf.hpp"

#include <cstddef>

namespace jitsframe {

namespace {

constexpr std::uint32_t extended_length = 0xffffffff;
constexpr std::size_t id_bytes = 4; /* also behind an extended length */
constexpr std::size_t pointer_bytes = 8;

/* The body of the entry at `at`, its id first. An empty one without error is the terminator. */
Cursor entry_body(std::span<const std::byte> bytes, std::size_t at) noexcept
{
	Cursor cursor(bytes, at, bytes.size());
	std::uint64_t length = cursor.fixed(4);

	if (length == extended_length)
		length = cursor.fixed(8);
	Cursor body = cursor.block(length);
	if (cursor.failed()) {
		/* Whatever was cut short, it is this entry that is said to be. */
		Cursor failed(bytes, at, at);
		failed.fail(Code::malformed, "an entry longer than the section (at its offset)",
			    at);
		return failed;
	}
	return body;
}

/* The letters of an augmentation that begins with z. */
void read_augmentation(Cursor &cursor, const CfiSection &section, CfiCommon &common,
		       Cursor letters) noexcept
{
	const Abi &abi = section.abi ? *section.abi : host_abi();
	Cursor augmentation = cursor.block(cursor.uleb128());

	while (letters.left() && !augmentation.failed()) {
		const std::size_t at = letters.at();

		switch (letters.u8()) {
		case 'R':
			common.pointer_encoding = augmentation.u8();
			break;
		case 'L': /* how FDEs point to their LSDA: behind what is read here */
			(void)augmentation.u8();
			break;
		case 'P': {
			/* Only to get behind it: nothing here calls a personality routine. */
			const std::uint8_t encoding = augmentation.u8();

			if (encoding != dwarf::pe_omit)
				(void)read_pointer(augmentation, encoding & dwarf::pe_direct,
						   section, 0);
			break;
		}
		case 'S':
			common.signal = true;
			break;
		case 'B':
			if (abi.arch != Arch::aarch64)
				cursor.fail(Code::unsupported,
					    "an augmentation of another machine (at its letter)", at);
			common.pauth_key_b = true;
			break;
		case 'G': /* AArch64: the stack's memory tags, which unwinding reads past */
			break;
		default:
			cursor.fail(Code::unsupported, "an unknown augmentation (at its letter)",
				    at);
			return;
		}
	}
	if (augmentation.failed())
		cursor.fail(augmentation.error().code, augmentation.error().why,
			    augmentation.error().at);
}

/* The string, without its end. */
Cursor read_letters(Cursor &cursor, std::span<const std::byte> bytes) noexcept
{
	const std::size_t start = cursor.at();
	std::size_t end = start;

	while (cursor.u8())
		end = cursor.at();
	return {bytes, start, end};
}

/* Step over `prefix`, if the letters begin so. */
bool begins_with(Cursor &letters, const char *prefix) noexcept
{
	Cursor rest = letters;

	for (; *prefix; prefix++)
		if (rest.u8() != static_cast<std::uint8_t>(*prefix))
			return false;
	letters = rest;
	return true;
}

void read_cie(Cursor &cursor, const CfiSection &section, CfiCommon &common) noexcept
{
	const std::size_t version_at = cursor.at();
	const std::uint8_t version = cursor.u8();

	if (version != 1 && version != 3 && version != 4)
		cursor.fail(Code::unsupported, "a CIE of this version (at its offset)", version_at);

	Cursor letters = read_letters(cursor, section.bytes);
	/* GCC 2's: one word, of no use here. */
	if (begins_with(letters, "eh"))
		cursor.skip(pointer_bytes);
	if (version == 4 && (cursor.u8() != pointer_bytes || cursor.u8() != 0))
		cursor.fail(Code::unsupported,
			    "addresses not of 64 bits, or segments (at the CIE's version)",
			    version_at);
	common.code_alignment = cursor.uleb128();
	common.data_alignment = cursor.sleb128();
	common.ra_column = version == 1 ? cursor.u8() : cursor.uleb128();
	common.has_augmentation_data = begins_with(letters, "z");
	if (common.has_augmentation_data)
		read_augmentation(cursor, section, common, letters);
	else if (letters.left())
		cursor.fail(Code::unsupported, "an unknown augmentation (at its letter)",
			    letters.at());
}

Error read_common(const CfiSection &section, std::size_t at, CfiCommon &common) noexcept
{
	Cursor cursor = entry_body(section.bytes, at);

	common.at = at;
	if (cursor.fixed(id_bytes) != 0)
		cursor.fail(Code::malformed, "an FDE's CIE is none (at its offset)", at);
	read_cie(cursor, section, common);
	common.program = cursor.at();
	common.end = common.program + cursor.left();
	return cursor.error();
}

/* Where the CIE is that the FDE at the cursor belongs to. */
std::size_t cie_of(Cursor &cursor) noexcept
{
	const std::size_t field = cursor.at();
	const std::uint64_t distance = cursor.fixed(id_bytes);

	if (distance > field) {
		cursor.fail(Code::malformed, "an FDE's CIE is before the section (at the field)",
			    field);
		return 0;
	}
	return field - distance;
}

void read_fde(Cursor &cursor, const CfiSection &section, CfiFunction &function) noexcept
{
	const CfiCommon &common = function.common;
	const std::uint8_t encoding = common.pointer_encoding;

	function.start = read_pointer(cursor, encoding, section, 0);
	/* A size counts from nothing. */
	function.size = read_pointer(cursor, encoding & dwarf::pe_format, section, 0);
	if (common.has_augmentation_data)
		cursor.skip(cursor.uleb128());
	function.program = cursor.at();
	function.end = function.program + cursor.left();
}

bool is_cie(Cursor body) noexcept
{
	const std::uint64_t id = body.fixed(id_bytes);

	return id == 0 && !body.failed();
}

} // namespace

const char *to_string(CfiReason reason) noexcept
{
	switch (reason) {
	case CfiReason::none:
		return "described";
	case CfiReason::cfa_unstated:
		return "no rule for the CFA";
	case CfiReason::cfa_expression:
		return "the CFA's expression";
	case CfiReason::ra_unstated:
		return "no rule for the RA";
	case CfiReason::ra_expression:
		return "the RA's expression";
	case CfiReason::fp_undefined:
		return "the caller's FP is undefined";
	case CfiReason::fp_expression:
		return "the FP's expression";
	case CfiReason::value_from_cfa:
		return "a value that is CFA + n";
	case CfiReason::sp_is_not_cfa:
		return "the caller's SP is not the CFA";
	case CfiReason::register_number:
		return "a register of too high a number";
	case CfiReason::offset_range:
		return "an offset of more than 32 bits";
	case CfiReason::signed_with_address:
		return "the RA is signed with an address";
	case CfiReason::repeat_block:
		return "a PLT that no block describes";
	}
	return "?";
}

CfiReader::CfiReader(const CfiSection &section) noexcept : section_(section)
{
}

bool CfiReader::next() noexcept
{
	while (!error_ && next_ < section_.bytes.size()) {
		const std::size_t at = next_;
		const Cursor body = entry_body(section_.bytes, at);

		error_ = body.error();
		if (error_ || body.left() == 0)
			break;
		next_ = body.at() + body.left();
		if (is_cie(body))
			continue;
		at_ = at;
		const auto found = function();
		if (found && found->start == 0)
			continue;
		return true;
	}
	next_ = section_.bytes.size();
	return false;
}

Result<CfiFunction> CfiReader::function() const noexcept
{
	CfiFunction function;
	Cursor cursor = entry_body(section_.bytes, at_);

	function.at = at_;
	const std::size_t cie = cie_of(cursor);
	if (cursor.failed())
		return cursor.error();
	if (Error error = read_common(section_, cie, function.common))
		return error;
	read_fde(cursor, section_, function);
	if (cursor.failed())
		return cursor.error();
	return function;
}

} // namespace jitsframe
