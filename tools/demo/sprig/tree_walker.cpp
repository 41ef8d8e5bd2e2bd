// SPDX-License-Identifier: MIT
#include "tree_walker.h"

#include <algorithm>

#include "native.h"

namespace sprig {

bool is_comparison(Op op)
{
    return op >= Op::lt && op <= Op::ne;
}

bool calls(const Expr& expr)
{
    switch (expr.kind) {
    case Expr::Kind::call_builtin:
        if (expr.builtin != Builtin::len)
            return true;
        break;
    case Expr::Kind::call_direct:
    case Expr::Kind::call_indirect:
    case Expr::Kind::lambda:
        return true;
    default:
        break;
    }
    return std::any_of(expr.operands.begin(), expr.operands.end(), [](const ExprPtr& operand) { return calls(*operand); });
}

bool calls(const Block& block)
{
    return std::any_of(block.begin(), block.end(), [](const auto& stmt) {
        return calls(stmt->body) || calls(stmt->otherwise) ||
               std::any_of(stmt->exprs.begin(), stmt->exprs.end(), [](const ExprPtr& expr) { return calls(*expr); });
    });
}

const void* builtin_function(Builtin builtin)
{
    switch (builtin) {
    case Builtin::array:
        return reinterpret_cast<const void*>(&native::make_array);
    case Builtin::print:
        return reinterpret_cast<const void*>(&native::print);
    case Builtin::map:
        return reinterpret_cast<const void*>(&native::map);
    case Builtin::fold:
        return reinterpret_cast<const void*>(&native::fold);
    default:
        return reinterpret_cast<const void*>(&native::sort);
    }
}

void TreeWalker::block(const Block& statements)
{
    for (const auto& stmt : statements)
        statement(*stmt);
}

void TreeWalker::statement(const Stmt& stmt)
{
    switch (stmt.kind) {
    case Stmt::Kind::let:
    case Stmt::Kind::assign:
        evaluate(*stmt.exprs[0]);
        return store(stmt.local, named_.result);
    case Stmt::Kind::store:
        return element(stmt);
    case Stmt::Kind::if_else:
        return if_else(stmt);
    case Stmt::Kind::while_loop:
        return while_loop(stmt);
    case Stmt::Kind::for_range:
        return for_range(stmt);
    case Stmt::Kind::ret:
        return return_value(*stmt.exprs[0]);
    case Stmt::Kind::expr:
        return evaluate(*stmt.exprs[0]);
    }
}

void TreeWalker::element(const Stmt& stmt)
{
    bool late_calls = calls(*stmt.exprs[1]) || calls(*stmt.exprs[2]);
    evaluate(*stmt.exprs[0]);
    Held array = hold(late_calls);
    evaluate(*stmt.exprs[1]);
    Held at = hold(calls(*stmt.exprs[2]));
    evaluate(*stmt.exprs[2]);
    release(at, named_.third);
    release(array, named_.second);
    store_element(stmt.line);
}

void TreeWalker::if_else(const Stmt& stmt)
{
    Label otherwise = emitter_.newLabel();
    Label end = emitter_.newLabel();
    branch_if_false(*stmt.exprs[0], otherwise);
    block(stmt.body);
    if (!stmt.otherwise.empty())
        jump(end);
    emitter_.bind(otherwise);
    block(stmt.otherwise);
    emitter_.bind(end);
}

void TreeWalker::while_loop(const Stmt& stmt)
{
    Label again = emitter_.newLabel();
    Label end = emitter_.newLabel();
    emitter_.bind(again);
    branch_if_false(*stmt.exprs[0], end);
    block(stmt.body);
    jump(again);
    emitter_.bind(end);
}

void TreeWalker::for_range(const Stmt& stmt)
{
    Label again = emitter_.newLabel();
    Label end = emitter_.newLabel();
    evaluate(*stmt.exprs[0]);
    Held from = hold(calls(*stmt.exprs[1]));
    evaluate(*stmt.exprs[1]);
    store(stmt.limit_local, named_.result);
    release(from, named_.result);
    store(stmt.local, named_.result);
    emitter_.bind(again);
    load(named_.result, stmt.local);
    branch_unless_below(stmt.limit_local, end);
    block(stmt.body);
    increment(stmt.local);
    jump(again);
    emitter_.bind(end);
}

void TreeWalker::evaluate(const Expr& expr)
{
    switch (expr.kind) {
    case Expr::Kind::integer:
        return move(named_.result, asmjit::imm(expr.value));
    case Expr::Kind::local:
        return load(named_.result, expr.local);
    case Expr::Kind::function_value:
        return function_value(expr.function->slot);
    case Expr::Kind::lambda:
        return lambda(*expr.function);
    case Expr::Kind::unary:
        if (expr.op == Op::logical_not)
            return truth_value(expr);
        evaluate(*expr.operands[0]);
        return negate();
    case Expr::Kind::binary:
        if (expr.op == Op::logical_and || expr.op == Op::logical_or)
            return truth_value(expr);
        return binary(expr);
    case Expr::Kind::index:
        return index(expr);
    case Expr::Kind::call_direct: {
        std::vector<BaseReg> live = arguments(expr, 0);
        return direct_call(expr.function->slot, std::move(live));
    }
    case Expr::Kind::call_builtin:
        return call_builtin(expr);
    case Expr::Kind::call_indirect:
        return call_indirect(expr);
    case Expr::Kind::name:
        break;      // the checker has resolved every name
    }
}

asmjit::Operand TreeWalker::operands(const Expr& left, const Expr& right)
{
    evaluate(left);
    if (auto direct = operand(right))
        return *direct;
    Held held = hold(calls(right));
    evaluate(right);
    move(named_.second, named_.result);
    release(held, named_.result);
    return named_.second;
}

void TreeWalker::branch_if_false(const Expr& expr, Label target)
{
    if (expr.kind == Expr::Kind::unary && expr.op == Op::logical_not) {
        Label is_false = emitter_.newLabel();
        branch_if_false(*expr.operands[0], is_false);
        jump(target);
        emitter_.bind(is_false);
        return;
    }
    if (expr.kind == Expr::Kind::binary && expr.op == Op::logical_and) {
        branch_if_false(*expr.operands[0], target);
        return branch_if_false(*expr.operands[1], target);
    }
    if (expr.kind == Expr::Kind::binary && expr.op == Op::logical_or) {
        Label right = emitter_.newLabel();
        Label end = emitter_.newLabel();
        branch_if_false(*expr.operands[0], right);
        jump(end);
        emitter_.bind(right);
        branch_if_false(*expr.operands[1], target);
        emitter_.bind(end);
        return;
    }
    if (expr.kind == Expr::Kind::binary && is_comparison(expr.op))
        return branch_unless(expr, target);
    evaluate(expr);
    branch_if_zero(target);
}

// 0 or 1, by way of a branch.
void TreeWalker::truth_value(const Expr& expr)
{
    Label is_false = emitter_.newLabel();
    Label end = emitter_.newLabel();
    branch_if_false(expr, is_false);
    move(named_.result, asmjit::imm(1));
    jump(end);
    emitter_.bind(is_false);
    move(named_.result, asmjit::imm(0));
    emitter_.bind(end);
}

void TreeWalker::index(const Expr& expr)
{
    evaluate(*expr.operands[0]);
    Held array = hold(calls(*expr.operands[1]));
    evaluate(*expr.operands[1]);
    release(array, named_.second);
    load_element(expr.line);
}

std::vector<BaseReg> TreeWalker::arguments(const Expr& expr, std::size_t first)
{
    std::vector<std::optional<Held>> held;
    for (std::size_t i = first; i < expr.operands.size(); i++) {
        held.emplace_back();
        // A local may change in an operand further right only by a call of its own
        // function, which has locals of its own: it can be read as late as wanted.
        if (operand(*expr.operands[i]))
            continue;
        evaluate(*expr.operands[i]);
        held.back() = hold(true);
    }
    std::vector<BaseReg> live;
    for (std::size_t i = held.size(); i-- > 0;) {
        BaseReg into = named_.arguments[i];
        if (held[i])
            release(*held[i], into);
        else
            move(into, *operand(*expr.operands[first + i]));
        live.push_back(into);
    }
    return live;
}

void TreeWalker::call_builtin(const Expr& expr)
{
    if (expr.builtin == Builtin::len) {
        evaluate(*expr.operands[0]);
        return load_length();
    }
    std::vector<BaseReg> live = arguments(expr, 0);
    native_call(builtin_function(expr.builtin), std::move(live));
}

void TreeWalker::call_indirect(const Expr& expr)
{
    evaluate(*expr.operands[0]);
    Held callee = hold(true);
    std::vector<BaseReg> live = arguments(expr, 1);
    release(callee, named_.closure);
    closure_call(std::move(live));
}

}  // namespace sprig
