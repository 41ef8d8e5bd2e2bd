// SPDX-License-Identifier: MIT
// What the rest of Sprig must know of the machine. Every architecture folder
// has a header of this name with the same declarations.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <optional>

namespace sprig::arch {

// The register that holds the Context: its bit in perf_event_attr.sample_regs_user
// (PERF_REG_X86_R15 in asm/perf_regs.h).
inline constexpr unsigned perf_context_register = 23;

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
    const greg_t* r = interrupted.uc_mcontext.gregs;
    return {static_cast<std::uintptr_t>(r[REG_RIP]), static_cast<std::uintptr_t>(r[REG_RSP]),
            static_cast<std::uintptr_t>(r[REG_RBP]), static_cast<std::uintptr_t>(r[REG_R15]), 0};
}

// The stack pointer of the caller of native code whose {frame pointer, return
// address} lies at `record`, if that says it.
inline std::optional<std::uintptr_t> sp_behind_record(std::uintptr_t record)
{
    return record + 2 * sizeof(record);
}

// A return address as it was before a frame signed it.
inline std::uintptr_t stripped(std::uintptr_t return_address)
{
    return return_address;
}

}  // namespace sprig::arch
