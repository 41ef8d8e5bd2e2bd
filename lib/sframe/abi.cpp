// SPDX-License-Identifier: MIT
#include <jitsframe/sframe.hpp>

#include <array>

namespace jitsframe {

namespace {

constexpr std::array x86_64_names = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
				     "rbp", "rsp", "r8",  "r9",  "r10", "r11",
				     "r12", "r13", "r14", "r15", "ra"};

constexpr std::array aarch64_names = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};

template <std::size_t n>
const char *name_in(const std::array<const char *, n> &names, std::uint16_t reg) noexcept
{
	return reg < n ? names[reg] : "?";
}

} // namespace

const Abi &abi_of(Arch arch) noexcept
{
	return arch == Arch::x86_64 ? x86_64::abi : aarch64::abi;
}

const char *register_name(const Abi &abi, std::uint16_t reg) noexcept
{
	return abi.arch == Arch::x86_64 ? name_in(x86_64_names, reg)
					: name_in(aarch64_names, reg);
}

} // namespace jitsframe
