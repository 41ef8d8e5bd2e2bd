// SPDX-License-Identifier: MIT
// One function's machine code with the row of every instruction that moves the
// frame. No frame pointer; the frame register is a register like any other.
#pragma once

#include <asmjit/x86.h>

#include <functional>
#include <vector>

#include "emitted.h"

namespace sprig::x86_64 {

namespace x86 = asmjit::x86;
using asmjit::BaseReg;
using asmjit::Label;
using x86::Gp;

// Reserved in compiled code; both are callee-saved in the psABI (3.2.1), so
// native code leaves them alone.
inline constexpr Gp state_register = x86::r14;
inline constexpr Gp context_register = x86::r15;
// Free between any two instructions of an expression; the static chain of the
// psABI carries the closure at a call, rax the callee's slot.
inline constexpr Gp result_register = x86::rax;
inline constexpr Gp closure_register = x86::r10;
inline constexpr Gp scratch_register = x86::r11;

inline constexpr BaseReg argument_registers[] = {x86::rdi, x86::rsi, x86::rdx, x86::rcx, x86::r8, x86::r9};

class Emitter {
public:
    explicit Emitter(const EmitOptions& options);
    virtual ~Emitter() = default;

protected:
    // CFA less stack pointer, and where from the CFA the frame register is saved.
    struct Frame {
        std::int32_t depth = 8;
        std::int32_t frame_register = 0;
    };

    void push(Gp reg);
    void pop(Gp reg);
    void move_sp(std::int32_t bytes);
    const Frame& frame() const { return frame_; }
    // The code that follows is reached with the frame so.
    void set_frame(const Frame& frame);
    // Bytes that are missing to an aligned stack at a call (psABI 3.2.2).
    std::int32_t misalignment() const { return frame_.depth % 16; }

    // Code for the end of the function, reached with the frame as it is now.
    void cold(std::function<void()> emit);
    // Makes the record ready for a call, lets `call` emit it, and takes the record
    // back. `live` are the registers that the call needs as they are.
    void call_site(std::vector<BaseReg> live, const std::function<void()>& call);
    void call_native(const void* function, std::vector<BaseReg> live);
    void call_slot(int slot, std::vector<BaseReg> live);
    void call_closure(std::vector<BaseReg> live);
    // The program is wrong if `condition` holds: it ends with a message.
    void fail_if(x86::CondCode condition, Failure failure, int line);

    x86::Mem budget(int slot) const;
    x86::Mem entry(int slot) const;
    Emitted finish();

    x86::Assembler as;
    EmitOptions options;

private:
    void note_row();
    void context_miss(std::uint32_t site, const std::vector<BaseReg>& live, Label miss, Label back);

    asmjit::CodeHolder code_;
    Emitted out_;
    Frame frame_;
    std::vector<std::pair<Frame, std::function<void()>>> cold_;
};

}  // namespace sprig::x86_64
