// SPDX-License-Identifier: MIT
#include "stepper.h"

namespace sprig::arch {
namespace {

// Encodings: Arm ARM C4.1.66, "Branches, exception generating and system instructions".
constexpr std::uint32_t breakpoint = 0xd4200000;    // brk #0

std::uint32_t instruction_at(std::uintptr_t pc)
{
    return *reinterpret_cast<const std::uint32_t*>(pc);
}

// The signed field of `bits` bits from bit `low` on, in instructions.
std::uintptr_t branch_offset(std::uint32_t instruction, int low, int bits)
{
    auto field = static_cast<std::int32_t>(instruction << (32 - low - bits)) >> (32 - bits);
    return static_cast<std::uintptr_t>(std::intptr_t{field} * 4);
}

bool condition_holds(std::uint32_t condition, std::uint64_t pstate)
{
    bool n = pstate >> 31 & 1, z = pstate >> 30 & 1, c = pstate >> 29 & 1, v = pstate >> 28 & 1;
    bool holds = true;
    switch (condition >> 1) {
    case 0:
        holds = z;
        break;
    case 1:
        holds = c;
        break;
    case 2:
        holds = n;
        break;
    case 3:
        holds = v;
        break;
    case 4:
        holds = c && !z;
        break;
    case 5:
        holds = n == v;
        break;
    case 6:
        holds = n == v && !z;
        break;
    default:
        return true;
    }
    return holds != static_cast<bool>(condition & 1);
}

// Where the instruction at pc leads. Calls lead into the callee.
std::uintptr_t next_pc(const mcontext_t& m)
{
    std::uint32_t instruction = instruction_at(m.pc);
    std::uintptr_t behind = m.pc + 4;
    auto value = [&](std::uint32_t number) { return number == 31 ? 0 : m.regs[number]; };
    if ((instruction & 0x7c000000) == 0x14000000)       // b, bl
        return m.pc + branch_offset(instruction, 0, 26);
    if ((instruction & 0xff000010) == 0x54000000)       // b.cond
        return condition_holds(instruction & 15, m.pstate) ? m.pc + branch_offset(instruction, 5, 19) : behind;
    if ((instruction & 0x7e000000) == 0x34000000) {     // cbz, cbnz
        std::uint64_t tested = value(instruction & 31);
        if (!(instruction >> 31))
            tested = static_cast<std::uint32_t>(tested);
        bool taken = (tested == 0) != static_cast<bool>(instruction >> 24 & 1);
        return taken ? m.pc + branch_offset(instruction, 5, 19) : behind;
    }
    if ((instruction & 0xff9ffc1f) == 0xd61f0000)       // br, blr, ret
        return value(instruction >> 5 & 31);
    return behind;
}

}  // namespace

bool Stepper::step(ucontext_t& interrupted)
{
    stop(interrupted);
    const mcontext_t& m = interrupted.uc_mcontext;
    if (!memory_.contains(m.pc))
        return false;
    std::uintptr_t next = next_pc(m);
    // Native code is run through: it returns to the instruction behind the call.
    bool through = !memory_.contains(next);
    if (through && (instruction_at(m.pc) & 0xfffffc1f) != 0xd63f0000)   // blr
        return false;
    at_ = through ? m.pc + 4 : next;
    displaced_ = instruction_at(at_);
    memory_.write(at_, {reinterpret_cast<const std::uint8_t*>(&breakpoint), sizeof(breakpoint)});
    return !through;
}

void Stepper::stop(ucontext_t&)
{
    if (at_ == 0)
        return;
    memory_.write(at_, {reinterpret_cast<const std::uint8_t*>(&displaced_), sizeof(displaced_)});
    at_ = 0;
}

}  // namespace sprig::arch
