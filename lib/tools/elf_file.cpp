// SPDX-License-Identifier: MIT
#include "elf_file.hpp"

#include <cstring>
#include <fstream>

#include <elf.h>

namespace jitsframe {

namespace {

template <typename T>
bool read_at(std::span<const std::byte> file, std::uint64_t at, T &out)
{
	if (at > file.size() || file.size() - at < sizeof(T))
		return false;
	std::memcpy(&out, file.data() + at, sizeof(T));
	return true;
}

bool is_named(std::span<const std::byte> file, const Elf64_Shdr &names, const Elf64_Shdr &section,
	      std::string_view name)
{
	const std::uint64_t at = names.sh_offset + section.sh_name;

	if (at > file.size() || file.size() - at <= name.size())
		return false;
	return std::memcmp(file.data() + at, name.data(), name.size()) == 0 &&
	       file[at + name.size()] == std::byte{0};
}

} // namespace

bool ElfFile::read(const char *path)
{
	std::ifstream file(path, std::ios::binary | std::ios::ate);

	if (!file)
		return false;
	bytes_.resize(static_cast<std::size_t>(file.tellg()));
	file.seekg(0);
	file.read(reinterpret_cast<char *>(bytes_.data()),
		  static_cast<std::streamsize>(bytes_.size()));
	return static_cast<bool>(file);
}

bool ElfFile::is_elf64() const
{
	Elf64_Ehdr elf;

	return read_at(bytes_, 0, elf) && std::memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
	       elf.e_ident[EI_CLASS] == ELFCLASS64;
}

const Abi *ElfFile::abi() const
{
	Elf64_Ehdr elf;

	if (!is_elf64() || !read_at(bytes_, 0, elf))
		return nullptr;
	switch (elf.e_machine) {
	case EM_X86_64:
		return &x86_64::abi;
	case EM_AARCH64:
		return &aarch64::abi;
	default:
		return nullptr;
	}
}

std::optional<ElfSection> ElfFile::section(std::string_view name) const
{
	const std::span<const std::byte> file = bytes_;
	Elf64_Ehdr elf;
	Elf64_Shdr names;

	if (!is_elf64() || !read_at(file, 0, elf) ||
	    !read_at(file, elf.e_shoff + std::uint64_t{elf.e_shstrndx} * sizeof(names), names))
		return std::nullopt;
	for (unsigned i = 0; i < elf.e_shnum; i++) {
		Elf64_Shdr section;

		if (!read_at(file, elf.e_shoff + i * sizeof(section), section))
			return std::nullopt;
		if (section.sh_type == SHT_NOBITS || !is_named(file, names, section, name))
			continue;
		if (section.sh_offset > file.size() ||
		    section.sh_size > file.size() - section.sh_offset)
			return std::nullopt;
		return ElfSection{file.subspan(section.sh_offset, section.sh_size),
				  section.sh_addr};
	}
	return std::nullopt;
}

} // namespace jitsframe
