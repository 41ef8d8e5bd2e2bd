// SPDX-License-Identifier: MIT
// From syntax tree to machine code. The tiers differ in where values live; this
// is what they share.
#pragma once

#include <optional>

#include "emitter.h"

namespace sprig::x86_64 {

// Where a local lives: in a register, or in the frame at an index from its end.
struct Home {
    std::optional<Gp> reg;
    int frame_index = -1;
};

// An intermediate value that waits for its use.
struct Held {
    std::optional<Gp> reg;
    int frame_index = -1;               // and if both are missing: on top of the stack
};

class FunctionEmitter : protected Emitter {
public:
    FunctionEmitter(const Function& function, const EmitOptions& options);
    Emitted run();

protected:
    virtual void prologue() = 0;
    virtual void epilogue() = 0;
    // Keeps the result register's value; across_call: over a call, too.
    virtual Held hold(bool across_call) = 0;
    virtual void release(const Held& held, Gp into) = 0;
    // What an instruction can take as its second operand as it is, if this tier looks.
    virtual std::optional<asmjit::Operand> operand(const Expr& expr) = 0;
    virtual bool tail_calls() const = 0;

    x86::Mem frame_slot(int index) const;
    void load(Gp into, int local);
    void store(int local, Gp from);

    const Function& function;
    std::vector<Home> homes;            // by local
    std::int32_t frame_base = 0;        // CFA less the address behind frame index 0

private:
    void arrive();
    void block(const Block& block);
    void statement(const Stmt& stmt);
    void store_element(const Stmt& stmt);
    void if_else(const Stmt& stmt);
    void while_loop(const Stmt& stmt);
    void for_range(const Stmt& stmt);
    void return_value(const Expr& expr);
    void leave();

    void evaluate(const Expr& expr);
    void operands(const Expr& left, const Expr& right, asmjit::Operand& second);
    void branch_if_false(const Expr& expr, Label target);
    void unary(const Expr& expr);
    void binary(const Expr& expr);
    void truth_value(const Expr& expr);
    void divide(const Expr& expr, const asmjit::Operand& second);
    void index(const Expr& expr);
    void lambda(const Expr& expr);
    std::vector<Gp> arguments(const Expr& expr, std::size_t first);
    void call_direct(const Expr& expr);
    void call_builtin(const Expr& expr);
    void call_indirect(const Expr& expr);
    template <typename Call>
    void aligned(Call call);
};

}  // namespace sprig::x86_64
