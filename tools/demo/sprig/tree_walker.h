// SPDX-License-Identifier: MIT
// From syntax tree to machine code, as far as it is the same on every machine:
// order of evaluation and control flow. The architecture folder supplies the
// instructions, its tiers say where values live.
#pragma once

#include <asmjit/core.h>

#include <optional>
#include <span>
#include <vector>

#include "ast.h"

namespace sprig {

using asmjit::BaseReg;
using asmjit::Label;

// Where a local lives: in a register, or in the frame at an index from its end.
struct Home {
    std::optional<BaseReg> reg;
    int frame_index = -1;
};

// An intermediate value that waits for its use.
struct Held {
    std::optional<BaseReg> reg;
    int frame_index = -1;               // and if both are missing: on top of the stack
};

// What the walk needs to name. All but the arguments are distinct; an argument
// may be the result register, as everything is evaluated before it is set.
struct WalkerRegisters {
    BaseReg result;
    BaseReg second;                     // the right operand, and the array of an element
    BaseReg third;                      // the index of an element that is stored
    BaseReg closure;
    std::span<const BaseReg> arguments;
};

bool is_comparison(Op op);
// Whether code for it may call, which only the stack and the frame outlive.
bool calls(const Expr& expr);
bool calls(const Block& block);
const void* builtin_function(Builtin builtin);

class TreeWalker {
public:
    TreeWalker(const Function& f, const WalkerRegisters& registers, asmjit::BaseEmitter& emitter)
        : function(f), homes(f.locals.size()), named_(registers), emitter_(emitter)
    {
    }
    virtual ~TreeWalker() = default;

protected:
    void block(const Block& statements);
    // Into the result register.
    void evaluate(const Expr& expr);
    // Left into the result register; right into the second, or named as it is.
    asmjit::Operand operands(const Expr& left, const Expr& right);
    // Evaluates the operands from `first` on into the argument registers.
    std::vector<BaseReg> arguments(const Expr& expr, std::size_t first);

    // The tier's: keeps the result register's value; across_call: over a call, too.
    virtual Held hold(bool across_call) = 0;
    virtual void release(const Held& held, BaseReg into) = 0;
    // What an instruction can take as its second operand as it is, if this tier looks.
    virtual std::optional<asmjit::Operand> operand(const Expr& expr) = 0;

    // The machine's. A value without a name is in the result register.
    virtual void move(BaseReg into, const asmjit::Operand& from) = 0;
    virtual void load(BaseReg into, int local) = 0;
    virtual void store(int local, BaseReg from) = 0;
    virtual void load_element(int line) = 0;        // of the array in the second register
    virtual void store_element(int line) = 0;
    virtual void load_length() = 0;
    virtual void increment(int local) = 0;
    virtual void negate() = 0;
    virtual void binary(const Expr& expr) = 0;      // no logical operator
    virtual void jump(Label target) = 0;
    virtual void branch_if_zero(Label target) = 0;
    virtual void branch_unless(const Expr& comparison, Label target) = 0;
    // If the result is not less than the local.
    virtual void branch_unless_below(int local, Label target) = 0;
    virtual void function_value(int slot) = 0;
    virtual void lambda(const Function& made) = 0;
    virtual void direct_call(int slot, std::vector<BaseReg> live) = 0;
    virtual void native_call(const void* callee, std::vector<BaseReg> live) = 0;
    virtual void closure_call(std::vector<BaseReg> live) = 0;
    virtual void return_value(const Expr& expr) = 0;

    const Function& function;
    std::vector<Home> homes;            // by local

private:
    void statement(const Stmt& stmt);
    void element(const Stmt& stmt);
    void if_else(const Stmt& stmt);
    void while_loop(const Stmt& stmt);
    void for_range(const Stmt& stmt);
    void branch_if_false(const Expr& expr, Label target);
    void truth_value(const Expr& expr);
    void index(const Expr& expr);
    void call_builtin(const Expr& expr);
    void call_indirect(const Expr& expr);

    WalkerRegisters named_;
    asmjit::BaseEmitter& emitter_;
};

}  // namespace sprig
