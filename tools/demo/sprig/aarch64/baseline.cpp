// SPDX-License-Identifier: MIT
// The first tier: a stack machine. Intermediate values are pushed, so the
// frame's size differs from one instruction to the next.
#include "function_emitter.h"

namespace sprig {
namespace {

using namespace aarch64;

class Baseline : public FunctionEmitter {
public:
    using FunctionEmitter::FunctionEmitter;

private:
    // The busiest local lives in the frame register, all others in the frame.
    void prologue() override
    {
        int busiest = -1;
        for (std::size_t i = 0; i < homes.size(); i++) {
            if (busiest < 0 || function.locals[i].uses > function.locals[busiest].uses)
                busiest = static_cast<int>(i);
        }
        int in_frame = 0;
        for (std::size_t i = 0; i < homes.size(); i++) {
            if (static_cast<int>(i) == busiest)
                homes[i].reg = frame_register;
            else
                homes[i].frame_index = in_frame++;
        }
        sign(Signing::key_a);
        push(frame_register, link_register);
        frame_base = frame().depth;
        locals_ = (in_frame + 1) / 2 * 16;
        move_sp(-locals_);
    }

    void epilogue() override
    {
        move_sp(locals_);
        pop(frame_register, link_register);
        authenticate();
    }

    Held hold(bool) override
    {
        push(result_register);
        return {};
    }

    void release(const Held&, BaseReg into) override { pop(into.as<Gp>()); }
    std::optional<asmjit::Operand> operand(const Expr&) override { return std::nullopt; }
    bool tail_calls() const override { return false; }
    std::vector<BaseReg> volatile_homes() const override { return {}; }

    std::int32_t locals_ = 0;
};

}  // namespace

Emitted emit_baseline(const Function& function, const EmitOptions& options)
{
    return Baseline(function, options).run();
}

}  // namespace sprig
