/* SPDX-License-Identifier: MIT */
/* What a walk begins with, as ucontext_t has it on this machine. */
#ifndef JITSFRAME_LIB_TESTS_X86_64_REGISTERS_HPP
#define JITSFRAME_LIB_TESTS_X86_64_REGISTERS_HPP

#include <cstdint>

#include <ucontext.h>

namespace jitsframe {

struct Registers {
	std::uint64_t pc, sp, fp, lr;
};

inline Registers registers_of(const ucontext_t &context)
{
	const auto &saved = context.uc_mcontext.gregs;
	const auto value = [&saved](int reg) { return static_cast<std::uint64_t>(saved[reg]); };

	return {value(REG_RIP), value(REG_RSP), value(REG_RBP), 0};
}

inline std::uint64_t without_signature(std::uint64_t address)
{
	return address;
}

} // namespace jitsframe

#endif
