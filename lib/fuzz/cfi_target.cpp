// SPDX-License-Identifier: MIT
/* An .eh_frame of hostile bytes: whatever rows come of it can be encoded, and mean the same when decoded. */
#include "cfi_target.hpp"

#include <jitsframe/cfi.hpp>

#include <cstdlib>
#include <span>
#include <vector>

using namespace jitsframe;

namespace {

constexpr std::uint64_t address = 0x7f0000000000;

void expect(bool condition)
{
	if (!condition)
		std::abort();
}

Function function_of(const CfiPart &part)
{
	Function function;

	function.start = part.start;
	function.size = part.size;
	function.signal = part.rows.signal;
	function.pauth_key_b = part.rows.pauth_key_b;
	function.repeat_block = part.rows.repeat_block;
	function.rows.assign(part.rows.rows.begin(), part.rows.rows.end());
	return function;
}

/* Alone, because functions of hostile FDEs may overlap. */
void expect_encodable(const Abi &abi, const CfiPart &part)
{
	expect(!check_rows(abi, part.size, part.rows));

	const Function meant = function_of(part);
	const auto section = build_section(abi, std::span(&meant, 1), 0, StartEncoding::section);
	expect(static_cast<bool>(section));
	const auto decoded = decode(*section, 0);
	expect(decoded && decoded->functions.size() == 1);
	expect(decoded->functions[0].rows.size() == meant.rows.size());
	for (std::size_t i = 0; i < meant.rows.size(); i++)
		expect(normalised(abi, decoded->functions[0].rows[i]) ==
		       normalised(abi, meant.rows[i]));
}

void expect_cover(const Abi &abi, const CfiFunction &function, const CfiRows &rows)
{
	std::uint64_t end = function.start;

	for (const CfiPart &part : rows.parts()) {
		expect(part.start == end && part.size);
		end += part.size;
		if (part.reason == CfiReason::none)
			expect_encodable(abi, part);
		else
			expect(part.rows.rows.empty());
	}
	expect(end == function.start + function.size);
}

bool read_as(const Abi &abi, std::span<const std::byte> bytes)
{
	CfiSection section;
	CfiRows rows;
	bool is_whole = true;

	section.bytes = bytes;
	section.address = address;
	section.abi = &abi;
	CfiReader reader(section);
	while (reader.next()) {
		const auto function = reader.function();

		if (function && !rows.run(section, *function))
			expect_cover(abi, *function, rows);
		else
			is_whole = false;
	}
	return is_whole && !reader.error();
}

} // namespace

int read_hostile_cfi(const std::uint8_t *bytes, std::size_t size)
{
	const std::span section(reinterpret_cast<const std::byte *>(bytes), size);
	const bool x86_64 = read_as(x86_64::abi, section), aarch64 = read_as(aarch64::abi, section);

	return x86_64 || aarch64;
}
