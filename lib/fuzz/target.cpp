// SPDX-License-Identifier: MIT
/*
 * One section of hostile bytes through all decoders. The address it is decoded
 * for is fixed, and PCs are taken from the bytes themselves.
 */
#include "target.hpp"

#include <jitsframe/sframe.hpp>

#include <algorithm>
#include <cstdlib>
#include <span>

using namespace jitsframe;

namespace {

constexpr std::uint64_t address = 0x7f0000000000;

bool is_only_one_there(const Section &section, const Function &function)
{
	return std::count_if(section.functions.begin(), section.functions.end(),
			     [&function](const Function &other) {
				     return other.start == function.start;
			     }) == 1;
}

/* What passes the whole check must be found by the lookup to the same rows. */
void expect_agreement(std::span<const std::byte> bytes, const Section &section)
{
	const Abi &abi = abi_of(section.arch);

	for (const Function &function : section.functions) {
		if (!is_only_one_there(section, function))
			continue;
		for (const Row &row : function.rows) {
			const auto found = lookup(bytes, address, function.start + row.offset);

			/* Mutated functions may overlap, and then hide each other. */
			if (!found || found->start != function.start)
				continue;
			Row wanted = normalised(abi, row);
			wanted.offset = 0;
			if (!(found->row == wanted))
				std::abort();
		}
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size)
{
	const std::span section(reinterpret_cast<const std::byte *>(bytes), size);
	const Result<Section> whole = decode(section, address);

	if (whole)
		expect_agreement(section, *whole);
	for (std::size_t i = 0; i + 8 <= size && i < 512; i += 8) {
		std::uint64_t pc = 0;

		for (std::size_t byte = 0; byte < 8; byte++)
			pc |= std::uint64_t{bytes[i + byte]} << (8 * byte);
		for (const std::uint64_t base : {std::uint64_t{0}, address, address + i})
			(void)lookup(section, address, base + pc);
		(void)lookup(section, address, address + pc, true);
	}
	return 0;
}
