// SPDX-License-Identifier: MIT
/* sframe-dump FILE: print the SFrame V3 section of an ELF64 file, or of a raw one. */
#include "canonical.hpp"

#include <jitsframe/sframe.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <elf.h>

using namespace jitsframe;

namespace {

constexpr std::uint32_t sht_gnu_sframe = 0x6ffffff4;

struct Located {
	std::span<const std::byte> bytes;
	std::uint64_t address = 0;
};

int fail(const char *why)
{
	std::fprintf(stderr, "sframe-dump: %s\n", why);
	return 1;
}

bool read_file(const char *path, std::vector<std::byte> &bytes)
{
	std::ifstream file(path, std::ios::binary);

	if (!file)
		return false;
	for (std::istreambuf_iterator<char> i(file), end; i != end; ++i)
		bytes.push_back(static_cast<std::byte>(*i));
	return true;
}

template <typename T>
bool read_at(std::span<const std::byte> file, std::uint64_t at, T &out)
{
	if (at > file.size() || file.size() - at < sizeof(T))
		return false;
	std::memcpy(&out, file.data() + at, sizeof(T));
	return true;
}

bool is_named_sframe(std::span<const std::byte> file, const Elf64_Shdr &names,
		     const Elf64_Shdr &section)
{
	char name[8] = {};

	return read_at(file, names.sh_offset + section.sh_name, name) &&
	       std::memcmp(name, ".sframe", sizeof(name)) == 0;
}

bool find_in_elf(std::span<const std::byte> file, Located &found)
{
	Elf64_Ehdr elf;
	Elf64_Shdr names;

	if (!read_at(file, 0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	if (!read_at(file, elf.e_shoff + std::uint64_t{elf.e_shstrndx} * sizeof(Elf64_Shdr), names))
		return false;
	for (unsigned i = 0; i < elf.e_shnum; i++) {
		Elf64_Shdr section;

		if (!read_at(file, elf.e_shoff + i * sizeof(section), section))
			return false;
		if (section.sh_type != sht_gnu_sframe && !is_named_sframe(file, names, section))
			continue;
		if (section.sh_offset > file.size() ||
		    section.sh_size > file.size() - section.sh_offset)
			return false;
		found = {file.subspan(section.sh_offset, section.sh_size), section.sh_addr};
		return true;
	}
	return false;
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::byte> file;
	Located found;

	if (argc != 2)
		return fail("usage: sframe-dump FILE");
	if (!read_file(argv[1], file))
		return fail("cannot read the file");
	if (file.size() >= 2 && file[0] == std::byte{0xe2} && file[1] == std::byte{0xde})
		found.bytes = file;
	else if (!find_in_elf(file, found))
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
