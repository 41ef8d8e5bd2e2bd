// SPDX-License-Identifier: MIT
// The instructions of a function. The tiers differ in where values live; this
// is what they share.
#pragma once

#include "emitter.h"
#include "tree_walker.h"

namespace sprig::x86_64 {

class FunctionEmitter : protected Emitter, protected TreeWalker {
public:
    FunctionEmitter(const Function& function, const EmitOptions& options);
    Emitted run();

protected:
    virtual void prologue() = 0;
    virtual void epilogue() = 0;
    virtual bool tail_calls() const = 0;

    x86::Mem frame_slot(int index) const;
    void move(BaseReg into, const asmjit::Operand& from) override;

    std::int32_t frame_base = 0;        // CFA less the address behind frame index 0

private:
    void load(BaseReg into, int local) override;
    void store(int local, BaseReg from) override;
    void load_element(int line) override;
    void store_element(int line) override;
    void load_length() override;
    void increment(int local) override;
    void negate() override;
    void binary(const Expr& expr) override;
    void jump(Label target) override;
    void branch_if_zero(Label target) override;
    void branch_unless(const Expr& comparison, Label target) override;
    void branch_unless_below(int local, Label target) override;
    void function_value(int slot) override;
    void lambda(const Function& made) override;
    void direct_call(int slot, std::vector<BaseReg> live) override;
    void native_call(const void* callee, std::vector<BaseReg> live) override;
    void closure_call(std::vector<BaseReg> live) override;
    void return_value(const Expr& expr) override;

    void arrive();
    void leave();
    void divide(const Expr& expr, const asmjit::Operand& second);
    asmjit::Operand home(int local) const;
    template <typename Call>
    void aligned(Call call);
};

}  // namespace sprig::x86_64
