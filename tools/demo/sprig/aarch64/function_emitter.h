// SPDX-License-Identifier: MIT
// The instructions of a function. The tiers differ in where values live; this
// is what they share.
#pragma once

#include "emitter.h"
#include "tree_walker.h"

namespace sprig::aarch64 {

class FunctionEmitter : protected Emitter, protected TreeWalker {
public:
    FunctionEmitter(const Function& function, const EmitOptions& options);
    Emitted run();

protected:
    virtual void prologue() = 0;
    virtual void epilogue() = 0;
    virtual bool tail_calls() const = 0;
    // Locals' registers that a call does not leave alone: of functions that call none.
    virtual std::vector<BaseReg> volatile_homes() const = 0;

    a64::Mem frame_slot(int index) const;
    void move(BaseReg into, const asmjit::Operand& from) override;
    void load(BaseReg into, int local) override;
    void store(int local, BaseReg from) override;

    std::int32_t frame_base = 0;        // CFA less the address behind frame index 0

private:
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
    void divide(const Expr& expr, Gp second);
    void check_index(Gp index, int line);
    Gp in_register(const asmjit::Operand& second);
    asmjit::Operand immediate_or_register(const asmjit::Operand& second);
};

}  // namespace sprig::aarch64
