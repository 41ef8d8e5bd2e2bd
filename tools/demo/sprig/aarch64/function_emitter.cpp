// SPDX-License-Identifier: MIT
#include "function_emitter.h"

#include "native.h"

namespace sprig::aarch64 {
namespace {

// What add, sub and cmp take: 12 bits (Arm ARM C6.2.4).
constexpr std::int64_t most_immediate = 4095;

CondCode condition(Op op)
{
    switch (op) {
    case Op::lt:
        return CondCode::kLT;
    case Op::le:
        return CondCode::kLE;
    case Op::gt:
        return CondCode::kGT;
    case Op::ge:
        return CondCode::kGE;
    case Op::eq:
        return CondCode::kEQ;
    default:
        return CondCode::kNE;
    }
}

}  // namespace

FunctionEmitter::FunctionEmitter(const Function& f, const EmitOptions& emit_options)
    : Emitter(emit_options),
      TreeWalker(f, {result_register, second_register, third_register, closure_register, argument_registers}, as)
{
}

Emitted FunctionEmitter::run()
{
    prologue();
    arrive();
    block(function.body);
    return finish();
}

a64::Mem FunctionEmitter::frame_slot(int index) const
{
    return a64::ptr(a64::sp, frame().depth - frame_base - 8 * (index + 1));
}

void FunctionEmitter::move(BaseReg into, const asmjit::Operand& from)
{
    if (from.isMem())
        as.ldr(into.as<Gp>(), from.as<a64::Mem>());
    else if (from.isImm())
        as.mov(into.as<Gp>(), from.as<asmjit::Imm>());
    else if (from != asmjit::Operand(into))
        as.mov(into.as<Gp>(), from.as<Gp>());
}

void FunctionEmitter::load(BaseReg into, int local)
{
    if (homes[local].reg)
        move(into, *homes[local].reg);
    else
        move(into, frame_slot(homes[local].frame_index));
}

void FunctionEmitter::store(int local, BaseReg from)
{
    if (homes[local].reg)
        move(*homes[local].reg, from);
    else
        as.str(from.as<Gp>(), frame_slot(homes[local].frame_index));
}

// Parameters and captured values go to their homes; then the two checks of
// every entry: room on the stack, and whether the function is hot by now.
void FunctionEmitter::arrive()
{
    for (std::size_t i = 0; i < function.params; i++)
        store(static_cast<int>(i), argument_registers[i]);
    for (std::size_t i = 0; i < function.captures.size(); i++) {
        as.ldr(result_register, a64::ptr(closure_register, static_cast<std::int32_t>(closure_captures + 8 * i)));
        store(function.captures[i].inner, result_register);
    }
    as.ldr(scratch_register, a64::ptr(state_register, offsetof(State, stack_limit)));
    as.cmp(a64::sp, scratch_register);
    fail_if(CondCode::kLO, Failure::stack, function.line);
    Label hot = as.newLabel();
    Label back = as.newLabel();
    as.ldr(scratch_register.w(), budget(function.slot));
    as.subs(scratch_register.w(), scratch_register.w(), 1);
    as.str(scratch_register.w(), budget(function.slot));
    as.b_eq(hot);
    as.bind(back);
    cold([=, this] {
        as.bind(hot);
        keep(volatile_homes(), [this] {
            as.mov(a64::x0, function.slot);
            call_native(reinterpret_cast<const void*>(&native::tier_up), {a64::x0});
        });
        as.b(back);
    });
}

Gp FunctionEmitter::in_register(const asmjit::Operand& second)
{
    if (second.isReg())
        return second.as<Gp>();
    move(second_register, second);
    return second_register;
}

asmjit::Operand FunctionEmitter::immediate_or_register(const asmjit::Operand& second)
{
    if (second.isImm()) {
        std::int64_t value = second.as<asmjit::Imm>().value();
        if (value >= 0 && value <= most_immediate)
            return second;
    }
    return in_register(second);
}

void FunctionEmitter::check_index(Gp index, int line)
{
    as.ldr(scratch_register, a64::ptr(second_register, offsetof(Array, length)));
    as.cmp(index, scratch_register);
    fail_if(CondCode::kHS, Failure::index, line);
    as.add(second_register, second_register, static_cast<int>(array_elements));
}

void FunctionEmitter::store_element(int line)
{
    check_index(third_register, line);
    as.str(result_register, a64::ptr(second_register, third_register, a64::lsl(3)));
}

void FunctionEmitter::load_element(int line)
{
    check_index(result_register, line);
    as.ldr(result_register, a64::ptr(second_register, result_register, a64::lsl(3)));
}

void FunctionEmitter::load_length()
{
    as.ldr(result_register, a64::ptr(result_register, offsetof(Array, length)));
}

void FunctionEmitter::increment(int local)
{
    Gp value = homes[local].reg ? homes[local].reg->as<Gp>() : scratch_register;
    load(value, local);
    as.add(value, value, 1);
    store(local, value);
}

void FunctionEmitter::negate()
{
    as.neg(result_register, result_register);
}

void FunctionEmitter::jump(Label target)
{
    as.b(target);
}

void FunctionEmitter::branch_if_zero(Label target)
{
    as.cbz(result_register, target);
}

void FunctionEmitter::branch_unless(const Expr& comparison, Label target)
{
    asmjit::Operand second = operands(*comparison.operands[0], *comparison.operands[1]);
    as.emit(a64::Inst::kIdCmp, result_register, immediate_or_register(second));
    as.b(asmjit::arm::negateCond(condition(comparison.op)), target);
}

void FunctionEmitter::branch_unless_below(int local, Label target)
{
    load(scratch_register, local);
    as.cmp(result_register, scratch_register);
    as.b_ge(target);
}

void FunctionEmitter::return_value(const Expr& expr)
{
    if (tail_calls() && expr.kind == Expr::Kind::call_direct) {
        arguments(expr, 0);
        Frame body = frame();
        epilogue();
        // The callee inherits this frame's return address, hence its context.
        as.mov(slot_register, expr.function->slot);
        as.ldr(scratch_register, entry(expr.function->slot));
        as.br(scratch_register);
        return set_frame(body);
    }
    evaluate(expr);
    leave();
}

void FunctionEmitter::leave()
{
    Frame body = frame();
    epilogue();
    as.ret(link_register);
    set_frame(body);
}

void FunctionEmitter::binary(const Expr& expr)
{
    asmjit::Operand second = operands(*expr.operands[0], *expr.operands[1]);
    switch (expr.op) {
    case Op::add:
        as.emit(a64::Inst::kIdAdd, result_register, result_register, immediate_or_register(second));
        break;
    case Op::sub:
        as.emit(a64::Inst::kIdSub, result_register, result_register, immediate_or_register(second));
        break;
    case Op::mul:
        as.mul(result_register, result_register, in_register(second));
        break;
    case Op::div:
    case Op::rem:
        divide(expr, in_register(second));
        break;
    default:
        as.emit(a64::Inst::kIdCmp, result_register, immediate_or_register(second));
        as.cset(result_register, condition(expr.op));
        break;
    }
}

// The machine gives 0 for a division by zero; the smallest integer divided by -1
// wraps, as in Sprig.
void FunctionEmitter::divide(const Expr& expr, Gp second)
{
    as.cmp(second, 0);
    fail_if(CondCode::kEQ, Failure::division, expr.line);
    if (expr.op == Op::div) {
        as.sdiv(result_register, result_register, second);
        return;
    }
    as.sdiv(scratch_register, result_register, second);
    as.msub(result_register, scratch_register, second, result_register);
}

void FunctionEmitter::function_value(int slot)
{
    as.mov(result_register, reinterpret_cast<std::uintptr_t>(options.function_value(slot)));
}

void FunctionEmitter::lambda(const Function& made)
{
    as.mov(a64::x0, made.slot);
    as.mov(a64::x1, made.captures.size());
    call_native(reinterpret_cast<const void*>(&native::make_closure), {a64::x0, a64::x1});
    for (std::size_t i = 0; i < made.captures.size(); i++) {
        load(second_register, made.captures[i].outer);
        as.str(second_register, a64::ptr(result_register, static_cast<std::int32_t>(closure_captures + 8 * i)));
    }
}

void FunctionEmitter::direct_call(int slot, std::vector<BaseReg> live)
{
    call_slot(slot, std::move(live));
}

void FunctionEmitter::native_call(const void* callee, std::vector<BaseReg> live)
{
    call_native(callee, std::move(live));
}

void FunctionEmitter::closure_call(std::vector<BaseReg> live)
{
    call_closure(std::move(live));
}

}  // namespace sprig::aarch64
