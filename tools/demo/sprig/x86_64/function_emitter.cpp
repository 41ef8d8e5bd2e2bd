// SPDX-License-Identifier: MIT
#include "function_emitter.h"

#include "native.h"

namespace sprig::x86_64 {
namespace {

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
    for (const ExprPtr& operand : expr.operands) {
        if (calls(*operand))
            return true;
    }
    return false;
}

x86::CondCode condition(Op op)
{
    switch (op) {
    case Op::lt:
        return x86::CondCode::kL;
    case Op::le:
        return x86::CondCode::kLE;
    case Op::gt:
        return x86::CondCode::kG;
    case Op::ge:
        return x86::CondCode::kGE;
    case Op::eq:
        return x86::CondCode::kE;
    default:
        return x86::CondCode::kNE;
    }
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

}  // namespace

FunctionEmitter::FunctionEmitter(const Function& f, const EmitOptions& emit_options)
    : Emitter(emit_options), function(f), homes(f.locals.size())
{
}

Emitted FunctionEmitter::run()
{
    prologue();
    arrive();
    block(function.body);
    return finish();
}

x86::Mem FunctionEmitter::frame_slot(int index) const
{
    return x86::qword_ptr(x86::rsp, frame().depth - frame_base - 8 * (index + 1));
}

void FunctionEmitter::load(Gp into, int local)
{
    if (homes[local].reg)
        as.mov(into, *homes[local].reg);
    else
        as.mov(into, frame_slot(homes[local].frame_index));
}

void FunctionEmitter::store(int local, Gp from)
{
    if (homes[local].reg)
        as.mov(*homes[local].reg, from);
    else
        as.mov(frame_slot(homes[local].frame_index), from);
}

// Parameters and captured values go to their homes; then the two checks of
// every entry: room on the stack, and whether the function is hot by now.
void FunctionEmitter::arrive()
{
    for (std::size_t i = 0; i < function.params; i++)
        store(static_cast<int>(i), argument_registers[i]);
    for (std::size_t i = 0; i < function.captures.size(); i++) {
        as.mov(result_register, x86::qword_ptr(closure_register, static_cast<std::int32_t>(closure_captures + 8 * i)));
        store(function.captures[i].inner, result_register);
    }
    as.cmp(x86::rsp, x86::qword_ptr(state_register, offsetof(State, stack_limit)));
    fail_if(x86::CondCode::kB, Failure::stack, function.line);
    Label hot = as.newLabel();
    Label back = as.newLabel();
    as.dec(budget(function.slot));
    as.jz(hot);
    as.bind(back);
    cold([=, this] {
        as.bind(hot);
        aligned([&] {
            as.mov(x86::edi, function.slot);
            call_native(reinterpret_cast<const void*>(&native::tier_up), {x86::rdi});
        });
        as.jmp(back);
    });
}

template <typename Call>
void FunctionEmitter::aligned(Call call)
{
    std::int32_t pad = misalignment();
    move_sp(-pad);
    call();
    move_sp(pad);
}

void FunctionEmitter::block(const Block& statements)
{
    for (const auto& stmt : statements)
        statement(*stmt);
}

void FunctionEmitter::statement(const Stmt& stmt)
{
    switch (stmt.kind) {
    case Stmt::Kind::let:
    case Stmt::Kind::assign:
        evaluate(*stmt.exprs[0]);
        return store(stmt.local, result_register);
    case Stmt::Kind::store:
        return store_element(stmt);
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

void FunctionEmitter::store_element(const Stmt& stmt)
{
    bool late_calls = calls(*stmt.exprs[1]) || calls(*stmt.exprs[2]);
    evaluate(*stmt.exprs[0]);
    Held array = hold(late_calls);
    evaluate(*stmt.exprs[1]);
    Held at = hold(calls(*stmt.exprs[2]));
    evaluate(*stmt.exprs[2]);
    release(at, x86::rdx);
    release(array, x86::rcx);
    as.cmp(x86::rdx, x86::qword_ptr(x86::rcx, offsetof(Array, length)));
    fail_if(x86::CondCode::kAE, Failure::index, stmt.line);
    as.mov(x86::qword_ptr(x86::rcx, x86::rdx, 3, array_elements), result_register);
}

void FunctionEmitter::if_else(const Stmt& stmt)
{
    Label otherwise = as.newLabel();
    Label end = as.newLabel();
    branch_if_false(*stmt.exprs[0], otherwise);
    block(stmt.body);
    if (!stmt.otherwise.empty())
        as.jmp(end);
    as.bind(otherwise);
    block(stmt.otherwise);
    as.bind(end);
}

void FunctionEmitter::while_loop(const Stmt& stmt)
{
    Label again = as.newLabel();
    Label end = as.newLabel();
    as.bind(again);
    branch_if_false(*stmt.exprs[0], end);
    block(stmt.body);
    as.jmp(again);
    as.bind(end);
}

void FunctionEmitter::for_range(const Stmt& stmt)
{
    Label again = as.newLabel();
    Label end = as.newLabel();
    evaluate(*stmt.exprs[0]);
    Held from = hold(calls(*stmt.exprs[1]));
    evaluate(*stmt.exprs[1]);
    store(stmt.limit_local, result_register);
    release(from, result_register);
    store(stmt.local, result_register);
    as.bind(again);
    load(result_register, stmt.local);
    const Home& limit = homes[stmt.limit_local];
    if (limit.reg)
        as.cmp(result_register, *limit.reg);
    else
        as.cmp(result_register, frame_slot(limit.frame_index));
    as.jge(end);
    block(stmt.body);
    if (homes[stmt.local].reg)
        as.inc(*homes[stmt.local].reg);
    else
        as.inc(frame_slot(homes[stmt.local].frame_index));
    as.jmp(again);
    as.bind(end);
}

void FunctionEmitter::return_value(const Expr& expr)
{
    if (tail_calls() && expr.kind == Expr::Kind::call_direct) {
        arguments(expr, 0);
        Frame body = frame();
        epilogue();
        // The callee inherits this frame's return address, hence its context.
        as.mov(x86::eax, expr.function->slot);
        as.jmp(entry(expr.function->slot));
        return set_frame(body);
    }
    evaluate(expr);
    leave();
}

void FunctionEmitter::leave()
{
    Frame body = frame();
    epilogue();
    as.ret();
    set_frame(body);
}

void FunctionEmitter::evaluate(const Expr& expr)
{
    switch (expr.kind) {
    case Expr::Kind::integer:
        as.mov(result_register, expr.value);
        break;
    case Expr::Kind::local:
        load(result_register, expr.local);
        break;
    case Expr::Kind::function_value:
        as.mov(result_register, reinterpret_cast<std::uintptr_t>(options.function_value(expr.function->slot)));
        break;
    case Expr::Kind::lambda:
        return lambda(expr);
    case Expr::Kind::unary:
        return unary(expr);
    case Expr::Kind::binary:
        return binary(expr);
    case Expr::Kind::index:
        return index(expr);
    case Expr::Kind::call_direct:
        return call_direct(expr);
    case Expr::Kind::call_builtin:
        return call_builtin(expr);
    case Expr::Kind::call_indirect:
        return call_indirect(expr);
    case Expr::Kind::name:
        break;      // the checker has resolved every name
    }
}

// Left into the result register; right into rcx, or named as it is.
void FunctionEmitter::operands(const Expr& left, const Expr& right, asmjit::Operand& second)
{
    evaluate(left);
    if (auto direct = operand(right)) {
        second = *direct;
        return;
    }
    Held held = hold(calls(right));
    evaluate(right);
    as.mov(x86::rcx, result_register);
    release(held, result_register);
    second = x86::rcx;
}

void FunctionEmitter::branch_if_false(const Expr& expr, Label target)
{
    if (expr.kind == Expr::Kind::unary && expr.op == Op::logical_not) {
        Label is_false = as.newLabel();
        branch_if_false(*expr.operands[0], is_false);
        as.jmp(target);
        as.bind(is_false);
        return;
    }
    if (expr.kind == Expr::Kind::binary && expr.op == Op::logical_and) {
        branch_if_false(*expr.operands[0], target);
        return branch_if_false(*expr.operands[1], target);
    }
    if (expr.kind == Expr::Kind::binary && expr.op == Op::logical_or) {
        Label right = as.newLabel();
        Label end = as.newLabel();
        branch_if_false(*expr.operands[0], right);
        as.jmp(end);
        as.bind(right);
        branch_if_false(*expr.operands[1], target);
        as.bind(end);
        return;
    }
    if (expr.kind == Expr::Kind::binary && is_comparison(expr.op)) {
        asmjit::Operand second;
        operands(*expr.operands[0], *expr.operands[1], second);
        as.emit(x86::Inst::kIdCmp, result_register, second);
        as.j(x86::negateCond(condition(expr.op)), target);
        return;
    }
    evaluate(expr);
    as.test(result_register, result_register);
    as.jz(target);
}

// 0 or 1, by way of a branch.
void FunctionEmitter::truth_value(const Expr& expr)
{
    Label is_false = as.newLabel();
    Label end = as.newLabel();
    branch_if_false(expr, is_false);
    as.mov(x86::eax, 1);
    as.jmp(end);
    as.bind(is_false);
    as.xor_(x86::eax, x86::eax);
    as.bind(end);
}

void FunctionEmitter::unary(const Expr& expr)
{
    if (expr.op == Op::logical_not)
        return truth_value(expr);
    evaluate(*expr.operands[0]);
    as.neg(result_register);
}

void FunctionEmitter::binary(const Expr& expr)
{
    if (expr.op == Op::logical_and || expr.op == Op::logical_or)
        return truth_value(expr);
    asmjit::Operand second;
    operands(*expr.operands[0], *expr.operands[1], second);
    switch (expr.op) {
    case Op::add:
        as.emit(x86::Inst::kIdAdd, result_register, second);
        break;
    case Op::sub:
        as.emit(x86::Inst::kIdSub, result_register, second);
        break;
    case Op::mul:
        if (second.isImm())
            as.emit(x86::Inst::kIdImul, result_register, result_register, second);
        else
            as.emit(x86::Inst::kIdImul, result_register, second);
        break;
    case Op::div:
    case Op::rem:
        divide(expr, second);
        break;
    default:
        as.emit(x86::Inst::kIdCmp, result_register, second);
        as.set(condition(expr.op), x86::al);
        as.movzx(x86::eax, x86::al);
        break;
    }
}

// The machine traps on the smallest integer divided by -1; Sprig wraps.
void FunctionEmitter::divide(const Expr& expr, const asmjit::Operand& second)
{
    Label ordinary = as.newLabel();
    Label end = as.newLabel();
    if (second != asmjit::Operand(x86::rcx))
        as.emit(x86::Inst::kIdMov, x86::rcx, second);
    as.test(x86::rcx, x86::rcx);
    fail_if(x86::CondCode::kZ, Failure::division, expr.line);
    as.cmp(x86::rcx, -1);
    as.jne(ordinary);
    if (expr.op == Op::div)
        as.neg(result_register);
    else
        as.xor_(x86::eax, x86::eax);
    as.jmp(end);
    as.bind(ordinary);
    as.cqo();
    as.idiv(x86::rcx);
    if (expr.op == Op::rem)
        as.mov(result_register, x86::rdx);
    as.bind(end);
}

void FunctionEmitter::index(const Expr& expr)
{
    evaluate(*expr.operands[0]);
    Held array = hold(calls(*expr.operands[1]));
    evaluate(*expr.operands[1]);
    release(array, x86::rcx);
    as.cmp(result_register, x86::qword_ptr(x86::rcx, offsetof(Array, length)));
    fail_if(x86::CondCode::kAE, Failure::index, expr.line);
    as.mov(result_register, x86::qword_ptr(x86::rcx, result_register, 3, array_elements));
}

void FunctionEmitter::lambda(const Expr& expr)
{
    const Function& made = *expr.function;
    aligned([&] {
        as.mov(x86::edi, made.slot);
        as.mov(x86::esi, static_cast<int>(made.captures.size()));
        call_native(reinterpret_cast<const void*>(&native::make_closure), {x86::rdi, x86::rsi});
    });
    for (std::size_t i = 0; i < made.captures.size(); i++) {
        load(x86::rcx, made.captures[i].outer);
        as.mov(x86::qword_ptr(result_register, static_cast<std::int32_t>(closure_captures + 8 * i)), x86::rcx);
    }
}

// Evaluates the operands from `first` on into the argument registers.
std::vector<Gp> FunctionEmitter::arguments(const Expr& expr, std::size_t first)
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
    std::vector<Gp> live;
    for (std::size_t i = held.size(); i-- > 0;) {
        Gp into = argument_registers[i];
        if (held[i])
            release(*held[i], into);
        else
            as.emit(x86::Inst::kIdMov, into, *operand(*expr.operands[first + i]));
        live.push_back(into);
    }
    return live;
}

void FunctionEmitter::call_direct(const Expr& expr)
{
    std::vector<Gp> live = arguments(expr, 0);
    aligned([&] { call_slot(expr.function->slot, std::move(live)); });
}

void FunctionEmitter::call_builtin(const Expr& expr)
{
    if (expr.builtin == Builtin::len) {
        evaluate(*expr.operands[0]);
        as.mov(result_register, x86::qword_ptr(result_register, offsetof(Array, length)));
        return;
    }
    std::vector<Gp> live = arguments(expr, 0);
    aligned([&] { call_native(builtin_function(expr.builtin), std::move(live)); });
}

void FunctionEmitter::call_indirect(const Expr& expr)
{
    evaluate(*expr.operands[0]);
    Held callee = hold(true);
    std::vector<Gp> live = arguments(expr, 1);
    release(callee, closure_register);
    aligned([&] { call_closure(std::move(live)); });
}

}  // namespace sprig::x86_64
