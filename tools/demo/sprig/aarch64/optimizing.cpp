// SPDX-License-Identifier: MIT
// The second tier: busy locals in registers, intermediate values in others,
// operands used where they are, tail calls, a frame of one size, and where no
// call is made, the return address in the link register throughout. The variant
// decides which registers, in what order they are saved, what size, and how the
// return address is signed, so that a version's rows are wrong for every other
// version at the same address.
#include <algorithm>
#include <numeric>
#include <span>

#include "function_emitter.h"

namespace sprig {
namespace {

using namespace aarch64;

constexpr Gp callee_saved[] = {a64::x29, a64::x21, a64::x22, a64::x23, a64::x24};
// For functions that call none.
constexpr Gp caller_saved[] = {a64::x6, a64::x7, a64::x8};
constexpr Gp temporaries[] = {a64::x9, a64::x10, a64::x11, a64::x12};
constexpr Signing signings[] = {Signing::key_b, Signing::none, Signing::key_a, Signing::key_b};

class Optimizing : public FunctionEmitter {
public:
    // `spills`: words of the frame for intermediate values.
    Optimizing(const Function& f, const EmitOptions& emit_options, int spills)
        : FunctionEmitter(f, emit_options), leaf_(!calls(f.body)), spill_slots_(spills)
    {
    }

    int spills() const { return most_spilled_; }

private:
    void prologue() override
    {
        choose_homes();
        if (!leaf_) {
            saved_.insert(saved_.begin() + static_cast<std::ptrdiff_t>(options.variant / 32 % (saved_.size() + 1)), link_register);
            sign(signings[options.variant / 128 % std::size(signings)]);
        }
        for (std::size_t i = 0; i < saved_.size(); i += 2) {
            if (i + 1 < saved_.size())
                push(saved_[i], saved_[i + 1]);
            else
                push(saved_[i]);
        }
        frame_base = frame().depth;
        int words = in_frame_ + spill_slots_ + (leaf_ ? 0 : static_cast<int>(options.variant / 8 % 3) * 2);
        frame_bytes_ = (words + 1) / 2 * 16;
        move_sp(-frame_bytes_);
    }

    void epilogue() override
    {
        move_sp(frame_bytes_);
        for (std::size_t i = (saved_.size() + 1) / 2 * 2; i > 0; i -= 2) {
            if (i <= saved_.size())
                pop(saved_[i - 2], saved_[i - 1]);
            else
                pop(saved_[i - 2]);
        }
        authenticate();
    }

    void choose_homes()
    {
        // A leaf that saves the frame register and not the link register is worth having, too.
        if (leaf_ && options.variant / 512 % 2 == 0)
            give_homes(caller_saved, std::size(caller_saved), 0);
        else
            give_homes(callee_saved, 2 + options.variant % 3, options.variant / 3 % std::size(callee_saved));
    }

    // The busiest locals get `count` registers of `from`, the first of them `first`.
    void give_homes(std::span<const Gp> from, std::size_t count, std::size_t first)
    {
        std::vector<int> busiest(homes.size());
        std::iota(busiest.begin(), busiest.end(), 0);
        std::stable_sort(busiest.begin(), busiest.end(),
                         [&](int a, int b) { return function.locals[a].uses > function.locals[b].uses; });
        for (std::size_t rank = 0; rank < busiest.size(); rank++) {
            Home& home = homes[busiest[rank]];
            if (rank >= count) {
                home.frame_index = in_frame_++;
                continue;
            }
            Gp reg = from[(first + rank) % from.size()];
            home.reg = reg;
            if (from.data() == callee_saved)
                saved_.push_back(reg);
            else
                volatile_homes_.push_back(reg);
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
        as.str(result_register, frame_slot(held.frame_index));
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
        if (expr.kind == Expr::Kind::integer)
            return asmjit::imm(expr.value);
        if (expr.kind != Expr::Kind::local)
            return std::nullopt;
        const Home& home = homes[expr.local];
        if (home.reg)
            return *home.reg;
        return frame_slot(home.frame_index);
    }

    bool tail_calls() const override { return true; }
    std::vector<BaseReg> volatile_homes() const override { return volatile_homes_; }

    bool leaf_;
    std::vector<Gp> saved_;
    std::vector<BaseReg> volatile_homes_;
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
