// SPDX-License-Identifier: MIT
/* sframe-dump FILE: print the SFrame V3 section of an ELF64 file, or of a raw one. */
#include "canonical.hpp"
#include "elf_file.hpp"

#include <jitsframe/sframe.hpp>

#include <cstdio>
#include <string>

using namespace jitsframe;

namespace {

int fail(const char *why)
{
	std::fprintf(stderr, "sframe-dump: %s\n", why);
	return 1;
}

bool is_raw_section(std::span<const std::byte> bytes)
{
	return bytes.size() >= 2 && bytes[0] == std::byte{0xe2} && bytes[1] == std::byte{0xde};
}

} // namespace

int main(int argc, char **argv)
{
	ElfFile file;
	ElfSection found;

	if (argc != 2)
		return fail("usage: sframe-dump FILE");
	if (!file.read(argv[1]))
		return fail("cannot read the file");
	if (is_raw_section(file.bytes()))
		found.bytes = file.bytes();
	else if (const auto section = file.section(".sframe"))
		found = *section;
	else
		return fail("neither a raw section nor an ELF64 file that has one");

	Result<Section> section = decode(found.bytes, found.address);
	if (!section) {
		char text[200];

		section.error().format(text, sizeof(text));
		return fail(text);
	}

	const Abi &abi = abi_of(section->arch);
	const SectionHeader &header = section->header;
	std::string text = section_text(abi, header.flags, header.fixed_fp_offset,
					header.fixed_ra_offset, header.num_fdes, header.num_fres);
	for (const Function &function : section->functions)
		text += function_text(abi, function);
	std::fputs(text.c_str(), stdout);
	return std::ferror(stdout) ? 1 : 0;
}
