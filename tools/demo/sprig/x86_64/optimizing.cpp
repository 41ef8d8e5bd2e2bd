// SPDX-License-Identifier: MIT
// The second tier: busy locals in callee-saved registers, intermediate values in
// the others, operands used where they are, tail calls, a frame of one size.
// The variant decides which registers and what size, so that a version's rows
// are wrong for every other version at the same address.
#include <algorithm>
#include <numeric>

#include "function_emitter.h"

namespace sprig {
namespace {

using namespace x86_64;

constexpr Gp callee_saved[] = {x86::rbp, x86::rbx, x86::r12, x86::r13};
// Neither argument of a division, nor the scratch of a call site.
constexpr Gp temporaries[] = {x86::rsi, x86::rdi, x86::r8, x86::r9};

class Optimizing : public FunctionEmitter {
public:
    // `spills`: words of the frame for intermediate values.
    Optimizing(const Function& f, const EmitOptions& emit_options, int spills)
        : FunctionEmitter(f, emit_options), spill_slots_(spills)
    {
    }

    int spills() const { return most_spilled_; }

private:
    void prologue() override
    {
        allocate_homes();
        for (Gp reg : saved_)
            push(reg);
        frame_base = frame().depth;
        std::int32_t words = in_frame_ + spill_slots_ + static_cast<std::int32_t>(options.variant / 8 % 3) * 2;
        frame_bytes_ = 8 * words;
        frame_bytes_ += (frame_base + frame_bytes_) % 16;
        move_sp(-frame_bytes_);
    }

    void epilogue() override
    {
        move_sp(frame_bytes_);
        for (auto reg = saved_.rbegin(); reg != saved_.rend(); ++reg)
            pop(*reg);
    }

    void allocate_homes()
    {
        std::vector<int> busiest(homes.size());
        std::iota(busiest.begin(), busiest.end(), 0);
        std::stable_sort(busiest.begin(), busiest.end(),
                         [&](int a, int b) { return function.locals[a].uses > function.locals[b].uses; });
        std::size_t registers = 2 + options.variant % 3;
        std::size_t first = options.variant / 3 % std::size(callee_saved);
        for (std::size_t rank = 0; rank < busiest.size(); rank++) {
            Home& home = homes[busiest[rank]];
            if (rank >= registers) {
                home.frame_index = in_frame_++;
                continue;
            }
            saved_.push_back(callee_saved[(first + rank) % std::size(callee_saved)]);
            home.reg = saved_.back();
        }
    }

    Held hold(bool across_call) override
    {
        Held held;
        if (!across_call && temporaries_used_ < std::size(temporaries)) {
            held.reg = temporaries[temporaries_used_++];
            move(*held.reg, result_register);
            return held;
        }
        held.frame_index = in_frame_ + spilled_++;
        most_spilled_ = std::max(most_spilled_, spilled_);
        as.mov(frame_slot(held.frame_index), result_register);
        return held;
    }

    void release(const Held& held, BaseReg into) override
    {
        if (held.reg) {
            temporaries_used_--;
            move(into, *held.reg);
        } else {
            spilled_--;
            move(into, frame_slot(held.frame_index));
        }
    }

    std::optional<asmjit::Operand> operand(const Expr& expr) override
    {
        if (expr.kind == Expr::Kind::integer && expr.value == static_cast<std::int32_t>(expr.value))
            return asmjit::imm(expr.value);
        if (expr.kind != Expr::Kind::local)
            return std::nullopt;
        const Home& home = homes[expr.local];
        if (home.reg)
            return *home.reg;
        return frame_slot(home.frame_index);
    }

    bool tail_calls() const override { return true; }

    std::vector<Gp> saved_;
    int in_frame_ = 0;
    int spill_slots_;
    int spilled_ = 0;
    int most_spilled_ = 0;
    std::size_t temporaries_used_ = 0;
    std::int32_t frame_bytes_ = 0;
};

}  // namespace

// A first run finds how much of the frame the intermediate values need.
Emitted emit_optimized(const Function& function, const EmitOptions& options)
{
    EmitOptions rehearsal = options;
    rehearsal.new_site = [] { return 0u; };
    Optimizing first(function, rehearsal, 0);
    first.run();
    return Optimizing(function, options, first.spills()).run();
}

}  // namespace sprig
