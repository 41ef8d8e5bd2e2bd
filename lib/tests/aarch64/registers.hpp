/* SPDX-License-Identifier: MIT */
/* What a walk begins with, as ucontext_t has it on this machine. */
#ifndef JITSFRAME_LIB_TESTS_AARCH64_REGISTERS_HPP
#define JITSFRAME_LIB_TESTS_AARCH64_REGISTERS_HPP

#include <cstdint>

#include <ucontext.h>

namespace jitsframe {

struct Registers {
	std::uint64_t pc, sp, fp, lr;
};

inline Registers registers_of(const ucontext_t &context)
{
	const auto &saved = context.uc_mcontext;

	return {saved.pc, saved.sp, saved.regs[29], saved.regs[30]};
}

/* A return address without its signature. XPACLRI is a hint: it does nothing where nothing signs. */
inline std::uint64_t without_signature(std::uint64_t address)
{
	register std::uint64_t x30 asm("x30") = address;

	asm("hint #7" : "+r"(x30));
	return x30;
}

} // namespace jitsframe

#endif
