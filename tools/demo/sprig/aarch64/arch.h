// SPDX-License-Identifier: MIT
// What the rest of Sprig must know of the machine. Every architecture folder
// has a header of this name with the same declarations.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <optional>

namespace sprig::arch {

// The register that holds the Context: its bit in perf_event_attr.sample_regs_user
// (PERF_REG_ARM64_X20 in asm/perf_regs.h).
inline constexpr unsigned perf_context_register = 20;

// What an unwinder starts from.
struct Registers {
    std::uintptr_t pc;
    std::uintptr_t sp;
    std::uintptr_t fp;
    std::uintptr_t context;
    std::uintptr_t link;                // 0 where calls leave nothing in a register
};

inline Registers registers(const ucontext_t& interrupted)
{
    const mcontext_t& m = interrupted.uc_mcontext;
    return {m.pc, m.sp, m.regs[29], m.regs[perf_context_register], m.regs[30]};
}

// The stack pointer of the caller of native code whose {frame pointer, return
// address} lies at `record`, if that says it. Here a record may lie anywhere in
// its frame (AAPCS64 6.4.6).
inline std::optional<std::uintptr_t> sp_behind_record(std::uintptr_t)
{
    return std::nullopt;
}

// A return address as it was before a frame signed it.
inline std::uintptr_t stripped(std::uintptr_t return_address)
{
    register std::uintptr_t x30 asm("x30") = return_address;
    asm("hint #7" : "+r"(x30));         // xpaclri, a nop where nothing is signed
    return x30;
}

}  // namespace sprig::arch
