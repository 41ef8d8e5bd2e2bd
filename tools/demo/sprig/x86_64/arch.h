// SPDX-License-Identifier: MIT
// What the rest of Sprig must know of the machine. Every architecture folder
// has a header of this name with the same declarations.
#pragma once

#include <cstdint>

#include <jitsframe/rows.hpp>
#include <ucontext.h>

#include "rows.h"

namespace sprig::arch {

// The register that holds the Context: its bit in perf_event_attr.sample_regs_user
// (PERF_REG_X86_R15 in asm/perf_regs.h).
inline constexpr unsigned perf_context_register = 23;

inline jitsframe::Row frame_row(const Row& row)
{
    jitsframe::Row made;
    made.offset = row.offset;
    made.cfa = jitsframe::Rule::in_reg(jitsframe::x86_64::rsp, row.cfa);
    if (row.frame_register != 0)
        made.fp = jitsframe::Rule::at_cfa(row.frame_register);
    return made;
}

// What an unwinder starts from.
struct Registers {
    std::uintptr_t pc;
    std::uintptr_t sp;
    std::uintptr_t fp;
    std::uintptr_t context;
};

inline Registers registers(const ucontext_t& interrupted)
{
    const greg_t* r = interrupted.uc_mcontext.gregs;
    return {static_cast<std::uintptr_t>(r[REG_RIP]), static_cast<std::uintptr_t>(r[REG_RSP]),
            static_cast<std::uintptr_t>(r[REG_RBP]), static_cast<std::uintptr_t>(r[REG_R15])};
}

// Whether the interrupted code goes on one instruction at a time (SIGTRAP).
inline void set_single_step(ucontext_t& interrupted, bool on)
{
    constexpr greg_t trap_flag = 1 << 8;    // EFLAGS.TF, Intel SDM volume 1, 3.4.3.3
    greg_t& flags = interrupted.uc_mcontext.gregs[REG_EFL];
    flags = on ? flags | trap_flag : flags & ~trap_flag;
}

}  // namespace sprig::arch
