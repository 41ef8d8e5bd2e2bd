// SPDX-License-Identifier: MIT
// One function's machine code with the row of every instruction that moves the
// frame. No frame pointer; the frame register is a register like any other,
// but for the short while in which native code runs.
#pragma once

#include <asmjit/arm.h>
#include <asmjit/arm/a64assembler.h>

#include <functional>
#include <vector>

#include "emitted.h"

namespace sprig::aarch64 {

namespace a64 = asmjit::a64;
using a64::CondCode;
using asmjit::BaseReg;
using asmjit::Label;
using a64::Gp;

// Reserved in compiled code; both are callee-saved (AAPCS64 6.1.1), so native
// code leaves them alone.
inline constexpr Gp state_register = a64::x19;
inline constexpr Gp context_register = a64::x20;
// Free between any two instructions of an expression. At a call x15 carries the
// closure and x17 the callee's slot.
inline constexpr Gp result_register = a64::x0;
inline constexpr Gp second_register = a64::x13;
inline constexpr Gp third_register = a64::x14;
inline constexpr Gp closure_register = a64::x15;
inline constexpr Gp scratch_register = a64::x16;
inline constexpr Gp slot_register = a64::x17;
inline constexpr Gp frame_register = a64::x29;
inline constexpr Gp link_register = a64::x30;

inline constexpr BaseReg argument_registers[] = {a64::x0, a64::x1, a64::x2, a64::x3, a64::x4, a64::x5};

// Whether, and with which key, return addresses are signed.
enum class Signing { none, key_a, key_b };

class Emitter {
public:
    explicit Emitter(const EmitOptions& options);
    virtual ~Emitter() = default;

protected:
    struct Frame {
        std::int32_t depth = 0;             // CFA less stack pointer
        std::int32_t frame_register = 0;    // where it is saved, from the CFA; 0: not saved
        std::int32_t return_address = 0;    // the same of the link register
        bool is_signed = false;
        bool based_on_frame_register = false;   // which is the stack pointer's equal, then
    };

    // The stack pointer is a multiple of 16 whenever memory is addressed by it
    // (AAPCS64 6.4.5.1): one register takes the room of two.
    void push(Gp reg);
    void push(Gp low, Gp high);
    void pop(Gp reg);
    void pop(Gp low, Gp high);
    void move_sp(std::int32_t bytes);
    // The first instruction of a function, and the last before it is left.
    void sign(Signing signing);
    void authenticate();
    const Frame& frame() const { return frame_; }
    // The code that follows is reached with the frame so.
    void set_frame(const Frame& frame);

    // Room in the frame for `registers`, which are kept there over what `work` emits.
    void keep(const std::vector<BaseReg>& registers, const std::function<void()>& work);
    // Code for the end of the function, reached with the frame as it is now.
    void cold(std::function<void()> emit);
    // Makes the record ready for a call, lets `call` emit it, and takes the record
    // back. `call` returns the offset that the callee returns to. `live` are the
    // registers that the call needs as they are.
    void call_site(std::vector<BaseReg> live, const std::function<std::uint32_t()>& call);
    void call_native(const void* function, std::vector<BaseReg> live);
    void call_slot(int slot, std::vector<BaseReg> live);
    void call_closure(std::vector<BaseReg> live);
    // The program is wrong if `condition` holds: it ends with a message.
    void fail_if(CondCode condition, Failure failure, int line);

    a64::Mem budget(int slot) const;
    a64::Mem entry(int slot) const;
    Emitted finish();

    a64::Assembler as;
    EmitOptions options;

private:
    void note_row();
    void note_saved(Gp reg, std::int32_t at);
    void note_restored(std::int32_t at);
    std::uint32_t native(const void* function);
    void context_miss(std::uint32_t site, const std::vector<BaseReg>& live, Label miss, Label back);

    asmjit::CodeHolder code_;
    Emitted out_;
    Frame frame_;
    Signing signing_ = Signing::none;
    std::vector<std::pair<Frame, std::function<void()>>> cold_;
};

}  // namespace sprig::aarch64
