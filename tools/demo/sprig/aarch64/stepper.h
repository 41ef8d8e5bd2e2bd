// SPDX-License-Identifier: MIT
// Lets interrupted code go on one instruction at a time, each of which ends in
// SIGTRAP. Every architecture folder has a header of this name.
//
// A process cannot ask for that here (the kernel alone sets PSTATE.SS), so the
// instruction to come next gets a breakpoint in its place for a while.
#pragma once

#include "arch.h"
#include "code_memory.h"

namespace sprig::arch {

class Stepper {
public:
    explicit Stepper(CodeMemory& memory) : memory_(memory) {}

    // One instruction of the code that `interrupted` goes back to. Returns false
    // if SIGTRAP may be far away, or never come. Async-signal-safe.
    bool step(ucontext_t& interrupted);
    void stop(ucontext_t& interrupted);

private:
    CodeMemory& memory_;
    std::uintptr_t at_ = 0;             // of the breakpoint; 0: there is none
    std::uint32_t displaced_ = 0;       // the instruction that belongs there
};

}  // namespace sprig::arch
