// SPDX-License-Identifier: MIT
#include "function_emitter.h"

#include "native.h"

namespace sprig::x86_64 {
namespace {

constexpr Gp second_register = x86::rcx;
constexpr Gp third_register = x86::rdx;

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

x86::Mem FunctionEmitter::frame_slot(int index) const
{
    return x86::qword_ptr(x86::rsp, frame().depth - frame_base - 8 * (index + 1));
}

asmjit::Operand FunctionEmitter::home(int local) const
{
    if (homes[local].reg)
        return *homes[local].reg;
    return frame_slot(homes[local].frame_index);
}

void FunctionEmitter::move(BaseReg into, const asmjit::Operand& from)
{
    if (from.isImm() && from.as<asmjit::Imm>().value() == 0)
        as.xor_(x86::gpd(into.id()), x86::gpd(into.id()));
    else
        as.emit(x86::Inst::kIdMov, into, from);
}

void FunctionEmitter::load(BaseReg into, int local)
{
    as.emit(x86::Inst::kIdMov, into, home(local));
}

void FunctionEmitter::store(int local, BaseReg from)
{
    as.emit(x86::Inst::kIdMov, home(local), from);
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

void FunctionEmitter::store_element(int line)
{
    as.cmp(third_register, x86::qword_ptr(second_register, offsetof(Array, length)));
    fail_if(x86::CondCode::kAE, Failure::index, line);
    as.mov(x86::qword_ptr(second_register, third_register, 3, array_elements), result_register);
}

void FunctionEmitter::load_element(int line)
{
    as.cmp(result_register, x86::qword_ptr(second_register, offsetof(Array, length)));
    fail_if(x86::CondCode::kAE, Failure::index, line);
    as.mov(result_register, x86::qword_ptr(second_register, result_register, 3, array_elements));
}

void FunctionEmitter::load_length()
{
    as.mov(result_register, x86::qword_ptr(result_register, offsetof(Array, length)));
}

void FunctionEmitter::increment(int local)
{
    as.emit(x86::Inst::kIdInc, home(local));
}

void FunctionEmitter::negate()
{
    as.neg(result_register);
}

void FunctionEmitter::jump(Label target)
{
    as.jmp(target);
}

void FunctionEmitter::branch_if_zero(Label target)
{
    as.test(result_register, result_register);
    as.jz(target);
}

void FunctionEmitter::branch_unless(const Expr& comparison, Label target)
{
    asmjit::Operand second = operands(*comparison.operands[0], *comparison.operands[1]);
    as.emit(x86::Inst::kIdCmp, result_register, second);
    as.j(x86::negateCond(condition(comparison.op)), target);
}

void FunctionEmitter::branch_unless_below(int local, Label target)
{
    as.emit(x86::Inst::kIdCmp, result_register, home(local));
    as.jge(target);
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

void FunctionEmitter::binary(const Expr& expr)
{
    asmjit::Operand second = operands(*expr.operands[0], *expr.operands[1]);
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
    if (second != asmjit::Operand(second_register))
        as.emit(x86::Inst::kIdMov, second_register, second);
    as.test(second_register, second_register);
    fail_if(x86::CondCode::kZ, Failure::division, expr.line);
    as.cmp(second_register, -1);
    as.jne(ordinary);
    if (expr.op == Op::div)
        as.neg(result_register);
    else
        as.xor_(x86::eax, x86::eax);
    as.jmp(end);
    as.bind(ordinary);
    as.cqo();
    as.idiv(second_register);
    if (expr.op == Op::rem)
        as.mov(result_register, x86::rdx);
    as.bind(end);
}

void FunctionEmitter::function_value(int slot)
{
    as.mov(result_register, reinterpret_cast<std::uintptr_t>(options.function_value(slot)));
}

void FunctionEmitter::lambda(const Function& made)
{
    aligned([&] {
        as.mov(x86::edi, made.slot);
        as.mov(x86::esi, static_cast<int>(made.captures.size()));
        call_native(reinterpret_cast<const void*>(&native::make_closure), {x86::rdi, x86::rsi});
    });
    for (std::size_t i = 0; i < made.captures.size(); i++) {
        load(second_register, made.captures[i].outer);
        as.mov(x86::qword_ptr(result_register, static_cast<std::int32_t>(closure_captures + 8 * i)), second_register);
    }
}

void FunctionEmitter::direct_call(int slot, std::vector<BaseReg> live)
{
    aligned([&] { call_slot(slot, std::move(live)); });
}

void FunctionEmitter::native_call(const void* callee, std::vector<BaseReg> live)
{
    aligned([&] { call_native(callee, std::move(live)); });
}

void FunctionEmitter::closure_call(std::vector<BaseReg> live)
{
    aligned([&] { call_closure(std::move(live)); });
}

}  // namespace sprig::x86_64
