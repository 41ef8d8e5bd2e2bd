// SPDX-License-Identifier: MIT
#include "emitter.h"

#include <algorithm>
#include <stdexcept>

#include "native.h"
#include "state.h"
#include "state_offsets.h"

namespace sprig::aarch64 {

static_assert(offsetof(State, entry) == STATE_ENTRY);

namespace {

// In the hint space, so that machines without pointer authentication take them
// for nops (Arm ARM C6.2).
constexpr int paciasp = 25, pacibsp = 27, autiasp = 29, autibsp = 31;

constexpr std::int32_t pair = 16;
// The most that one instruction adds, if the stack pointer stays aligned.
constexpr std::int32_t most_added = 4096 - pair;

struct Throwing : asmjit::ErrorHandler {
    void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override
    {
        throw std::logic_error(std::string("code generation: ") + message);
    }
};

Throwing throwing;

}  // namespace

Emitter::Emitter(const EmitOptions& emit_options) : options(emit_options)
{
    code_.init(asmjit::Environment::host());
    code_.setErrorHandler(&throwing);
    code_.attach(&as);
    note_row();
}

void Emitter::note_row()
{
    using jitsframe::Rule;
    jitsframe::Row row;
    row.offset = static_cast<std::uint32_t>(as.offset());
    row.cfa = Rule::in_reg(frame_.based_on_frame_register ? jitsframe::aarch64::x29 : jitsframe::aarch64::sp, frame_.depth);
    if (frame_.return_address != 0)
        row.ra = Rule::at_cfa(frame_.return_address);
    if (frame_.frame_register != 0)
        row.fp = Rule::at_cfa(frame_.frame_register);
    row.ra_signed = frame_.is_signed;
    out_.add_row(row);
}

void Emitter::set_frame(const Frame& frame)
{
    frame_ = frame;
    note_row();
}

// A second save is of the program's own value.
void Emitter::note_saved(Gp reg, std::int32_t at)
{
    if (reg == frame_register && frame_.frame_register == 0)
        frame_.frame_register = at;
    if (reg == link_register && frame_.return_address == 0)
        frame_.return_address = at;
}

void Emitter::note_restored(std::int32_t at)
{
    if (frame_.frame_register == at)
        frame_.frame_register = 0;
    if (frame_.return_address == at)
        frame_.return_address = 0;
}

void Emitter::push(Gp reg)
{
    as.str(reg, a64::ptr_pre(a64::sp, -pair));
    frame_.depth += pair;
    note_saved(reg, -frame_.depth);
    note_row();
}

void Emitter::push(Gp low, Gp high)
{
    as.stp(low, high, a64::ptr_pre(a64::sp, -pair));
    frame_.depth += pair;
    note_saved(low, -frame_.depth);
    note_saved(high, -frame_.depth + 8);
    note_row();
}

void Emitter::pop(Gp reg)
{
    as.ldr(reg, a64::ptr_post(a64::sp, pair));
    note_restored(-frame_.depth);
    frame_.depth -= pair;
    note_row();
}

void Emitter::pop(Gp low, Gp high)
{
    as.ldp(low, high, a64::ptr_post(a64::sp, pair));
    note_restored(-frame_.depth);
    note_restored(-frame_.depth + 8);
    frame_.depth -= pair;
    note_row();
}

void Emitter::move_sp(std::int32_t bytes)
{
    while (bytes != 0) {
        std::int32_t step = std::clamp(bytes, -most_added, most_added);
        if (step < 0)
            as.sub(a64::sp, a64::sp, -step);
        else
            as.add(a64::sp, a64::sp, step);
        frame_.depth -= step;
        note_row();
        bytes -= step;
    }
}

void Emitter::sign(Signing signing)
{
    signing_ = signing;
    out_.pauth_key_b = signing == Signing::key_b;
    if (signing == Signing::none)
        return;
    as.hint(signing == Signing::key_a ? paciasp : pacibsp);
    frame_.is_signed = true;
    note_row();
}

void Emitter::authenticate()
{
    if (signing_ == Signing::none)
        return;
    as.hint(signing_ == Signing::key_a ? autiasp : autibsp);
    frame_.is_signed = false;
    note_row();
}

void Emitter::keep(const std::vector<BaseReg>& registers, const std::function<void()>& work)
{
    auto room = static_cast<std::int32_t>((registers.size() + 1) / 2) * pair;
    move_sp(-room);
    for (std::size_t i = 0; i < registers.size(); i++)
        as.str(registers[i].as<Gp>(), a64::ptr(a64::sp, static_cast<std::int32_t>(i * 8)));
    work();
    for (std::size_t i = 0; i < registers.size(); i++)
        as.ldr(registers[i].as<Gp>(), a64::ptr(a64::sp, static_cast<std::int32_t>(i * 8)));
    move_sp(room);
}

void Emitter::cold(std::function<void()> emit)
{
    cold_.emplace_back(frame_, std::move(emit));
}

void Emitter::call_site(std::vector<BaseReg> live, const std::function<std::uint32_t()>& call)
{
    std::uint32_t site = options.new_site();
    Label miss = as.newLabel();
    Label back = as.newLabel();
    auto cache = static_cast<std::int32_t>(offsetof(Context, child) + site % Context::cached_children * sizeof(Context*));
    as.ldr(scratch_register, a64::ptr(context_register, cache));
    as.ldr(second_register.w(), a64::ptr(scratch_register, offsetof(Context, site)));
    as.mov(third_register.w(), site);
    as.cmp(second_register.w(), third_register.w());
    as.b_ne(miss);
    as.bind(back);
    as.mov(context_register, scratch_register);
    auto ahead = static_cast<std::uint32_t>(as.offset());
    out_.sites.push_back({site, call()});
    as.ldr(context_register, a64::ptr(context_register, offsetof(Context, parent)));
    out_.ahead.push_back({ahead, static_cast<std::uint32_t>(as.offset())});
    cold([=, this, live = std::move(live)] { context_miss(site, live, miss, back); });
}

// Asks the runtime for the callee's context. The record stays as it is over
// this call: the runtime's own frame is not part of it.
void Emitter::context_miss(std::uint32_t site, const std::vector<BaseReg>& live, Label miss, Label back)
{
    as.bind(miss);
    keep(live, [&] {
        as.mov(a64::x0, context_register);
        as.mov(a64::x1, site);
        native(reinterpret_cast<const void*>(&native::find_context));
        as.mov(scratch_register, a64::x0);
    });
    as.b(back);
}

// Native frames do not tell where their caller's stack pointer is, so while one
// is active this frame is found by the frame register, as theirs are.
std::uint32_t Emitter::native(const void* function)
{
    Frame before = frame_;
    push(frame_register, link_register);
    as.mov(frame_register, a64::sp);
    frame_.based_on_frame_register = true;
    note_row();
    as.mov(scratch_register, reinterpret_cast<std::uintptr_t>(function));
    as.blr(scratch_register);
    auto returned = static_cast<std::uint32_t>(as.offset());
    pop(frame_register, link_register);
    set_frame(before);
    return returned;
}

void Emitter::call_native(const void* function, std::vector<BaseReg> live)
{
    call_site(std::move(live), [=, this] {
        as.str(context_register, a64::ptr(state_register, offsetof(State, context)));
        return native(function);
    });
}

void Emitter::call_slot(int slot, std::vector<BaseReg> live)
{
    call_site(std::move(live), [=, this] {
        as.mov(slot_register, slot);
        as.ldr(scratch_register, entry(slot));
        as.blr(scratch_register);
        return static_cast<std::uint32_t>(as.offset());
    });
}

void Emitter::call_closure(std::vector<BaseReg> live)
{
    live.push_back(closure_register);
    call_site(std::move(live), [this] {
        as.ldr(slot_register, a64::ptr(closure_register, offsetof(Closure, slot)));
        as.add(scratch_register, state_register, slot_register, a64::lsl(3));
        as.ldr(scratch_register, a64::ptr(scratch_register, offsetof(State, entry)));
        as.blr(scratch_register);
        return static_cast<std::uint32_t>(as.offset());
    });
}

void Emitter::fail_if(CondCode condition, Failure failure, int line)
{
    Label failed = as.newLabel();
    as.b(condition, failed);
    cold([=, this] {
        as.bind(failed);
        as.mov(a64::x0, static_cast<int>(failure));
        as.mov(a64::x1, line);
        native(reinterpret_cast<const void*>(&native::fail));
        as.udf(0);
    });
}

a64::Mem Emitter::budget(int slot) const
{
    return a64::ptr(state_register, static_cast<std::int32_t>(offsetof(State, budget)) + slot * 4);
}

a64::Mem Emitter::entry(int slot) const
{
    return a64::ptr(state_register, static_cast<std::int32_t>(offsetof(State, entry)) + slot * 8);
}

Emitted Emitter::finish()
{
    // A cold path may add others.
    for (std::size_t i = 0; i < cold_.size(); i++) {
        auto [frame, emit] = std::move(cold_[i]);
        set_frame(frame);
        emit();
    }
    code_.flatten();
    code_.resolveUnresolvedLinks();
    out_.code.resize(code_.codeSize());
    code_.copyFlattenedData(out_.code.data(), out_.code.size());
    while (out_.rows.back().offset >= out_.code.size())
        out_.rows.pop_back();
    return std::move(out_);
}

}  // namespace sprig::aarch64

namespace sprig {
namespace {

using namespace aarch64;

// Where the table leads while a function has no code: compile it, then go on to
// the code as if it had been called at once.
class LazyStub : Emitter {
public:
    using Emitter::Emitter;

    Emitted run()
    {
        sign(Signing::key_a);
        push(closure_register, link_register);
        keep({std::begin(argument_registers), std::end(argument_registers)}, [this] {
            as.mov(a64::x0, slot_register);
            call_native(reinterpret_cast<const void*>(&native::compile), {a64::x0});
            as.mov(scratch_register, a64::x0);
        });
        pop(closure_register, link_register);
        authenticate();
        as.br(scratch_register);
        return finish();
    }
};

}  // namespace

Emitted emit_lazy_stub(const EmitOptions& options)
{
    return LazyStub(options).run();
}

}  // namespace sprig
