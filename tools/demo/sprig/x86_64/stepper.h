// SPDX-License-Identifier: MIT
// Lets interrupted code go on one instruction at a time, each of which ends in
// SIGTRAP. Every architecture folder has a header of this name.
#pragma once

#include "arch.h"
#include "code_memory.h"

namespace sprig::arch {

class Stepper {
public:
    explicit Stepper(CodeMemory&) {}

    // One instruction of the code that `interrupted` goes back to. Returns false
    // if SIGTRAP may be far away, or never come. Async-signal-safe.
    bool step(ucontext_t& interrupted)
    {
        interrupted.uc_mcontext.gregs[REG_EFL] |= trap_flag;
        return true;
    }

    void stop(ucontext_t& interrupted) { interrupted.uc_mcontext.gregs[REG_EFL] &= ~trap_flag; }

private:
    static constexpr greg_t trap_flag = 1 << 8;     // EFLAGS.TF, Intel SDM volume 1, 3.4.3.3
};

}  // namespace sprig::arch
