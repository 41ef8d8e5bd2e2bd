/* SPDX-License-Identifier: MIT */
/* Sections of ELF64 files, as far as the tools here need them. */
#ifndef JITSFRAME_LIB_TOOLS_ELF_FILE_HPP
#define JITSFRAME_LIB_TOOLS_ELF_FILE_HPP

#include <jitsframe/sframe.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace jitsframe {

struct ElfSection {
	std::span<const std::byte> bytes{};
	std::uint64_t address = 0;
};

class ElfFile {
public:
	/* The file's bytes, ELF or not; false if it cannot be read. */
	bool read(const char *path);
	[[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
	[[nodiscard]] bool is_elf64() const;
	/* The machine, if frames of it can be described. */
	[[nodiscard]] const Abi *abi() const;
	/* The section of this name, and not of a type that has no bytes. */
	[[nodiscard]] std::optional<ElfSection> section(std::string_view name) const;

private:
	std::vector<std::byte> bytes_;
};

} // namespace jitsframe

#endif
