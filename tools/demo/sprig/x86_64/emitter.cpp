// SPDX-License-Identifier: MIT
#include "emitter.h"

#include <stdexcept>

#include "native.h"
#include "state.h"
#include "state_offsets.h"

namespace sprig::x86_64 {

static_assert(offsetof(State, entry) == STATE_ENTRY);

namespace {

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
    jitsframe::Row row;
    row.offset = static_cast<std::uint32_t>(as.offset());
    row.cfa = jitsframe::Rule::in_reg(jitsframe::x86_64::rsp, frame_.depth);
    if (frame_.frame_register != 0)
        row.fp = jitsframe::Rule::at_cfa(frame_.frame_register);
    out_.add_row(row);
}

void Emitter::set_frame(const Frame& frame)
{
    frame_ = frame;
    note_row();
}

void Emitter::push(Gp reg)
{
    as.push(reg);
    frame_.depth += 8;
    // A second push of the frame register is of the program's own value.
    if (reg == x86::rbp && frame_.frame_register == 0)
        frame_.frame_register = -frame_.depth;
    note_row();
}

void Emitter::pop(Gp reg)
{
    as.pop(reg);
    if (frame_.frame_register == -frame_.depth)
        frame_.frame_register = 0;
    frame_.depth -= 8;
    note_row();
}

void Emitter::move_sp(std::int32_t bytes)
{
    if (bytes == 0)
        return;
    if (bytes < 0)
        as.sub(x86::rsp, -bytes);
    else
        as.add(x86::rsp, bytes);
    frame_.depth -= bytes;
    note_row();
}

void Emitter::cold(std::function<void()> emit)
{
    cold_.emplace_back(frame_, std::move(emit));
}

void Emitter::call_site(std::vector<BaseReg> live, const std::function<void()>& call)
{
    std::uint32_t site = options.new_site();
    Label miss = as.newLabel();
    Label back = as.newLabel();
    auto cache = static_cast<std::int32_t>(offsetof(Context, child) + site % Context::cached_children * sizeof(Context*));
    as.mov(scratch_register, x86::qword_ptr(context_register, cache));
    as.cmp(x86::dword_ptr(scratch_register, offsetof(Context, site)), site);
    as.jne(miss);
    as.bind(back);
    as.mov(context_register, scratch_register);
    auto ahead = static_cast<std::uint32_t>(as.offset());
    call();
    out_.sites.push_back({site, static_cast<std::uint32_t>(as.offset())});
    as.mov(context_register, x86::qword_ptr(context_register, offsetof(Context, parent)));
    out_.ahead.push_back({ahead, static_cast<std::uint32_t>(as.offset())});
    cold([=, this, live = std::move(live)] { context_miss(site, live, miss, back); });
}

// Asks the runtime for the callee's context. The record stays as it is over
// this call: the runtime's own frame is not part of it.
void Emitter::context_miss(std::uint32_t site, const std::vector<BaseReg>& live, Label miss, Label back)
{
    as.bind(miss);
    auto room = static_cast<std::int32_t>(live.size() * 8);
    room += (frame_.depth + room) % 16;
    move_sp(-room);
    for (std::size_t i = 0; i < live.size(); i++)
        as.mov(x86::qword_ptr(x86::rsp, static_cast<std::int32_t>(i * 8)), live[i].as<Gp>());
    as.mov(x86::rdi, context_register);
    as.mov(x86::esi, site);
    as.mov(x86::rax, reinterpret_cast<std::uintptr_t>(&native::find_context));
    as.call(x86::rax);
    as.mov(scratch_register, x86::rax);
    for (std::size_t i = 0; i < live.size(); i++)
        as.mov(live[i].as<Gp>(), x86::qword_ptr(x86::rsp, static_cast<std::int32_t>(i * 8)));
    move_sp(room);
    as.jmp(back);
}

void Emitter::call_native(const void* function, std::vector<BaseReg> live)
{
    call_site(std::move(live), [=, this] {
        as.mov(x86::qword_ptr(state_register, offsetof(State, context)), context_register);
        as.mov(x86::rax, reinterpret_cast<std::uintptr_t>(function));
        as.call(x86::rax);
    });
}

void Emitter::call_slot(int slot, std::vector<BaseReg> live)
{
    call_site(std::move(live), [=, this] {
        as.mov(x86::eax, slot);
        as.call(entry(slot));
    });
}

void Emitter::call_closure(std::vector<BaseReg> live)
{
    live.push_back(closure_register);
    call_site(std::move(live), [this] {
        as.mov(x86::rax, x86::qword_ptr(closure_register, offsetof(Closure, slot)));
        as.call(x86::qword_ptr(state_register, x86::rax, 3, offsetof(State, entry)));
    });
}

void Emitter::fail_if(x86::CondCode condition, Failure failure, int line)
{
    Label failed = as.newLabel();
    as.j(condition, failed);
    cold([=, this] {
        as.bind(failed);
        move_sp(-misalignment());
        as.mov(x86::edi, static_cast<int>(failure));
        as.mov(x86::esi, line);
        as.mov(x86::rax, reinterpret_cast<std::uintptr_t>(&native::fail));
        as.call(x86::rax);
        as.ud2();
    });
}

x86::Mem Emitter::budget(int slot) const
{
    return x86::dword_ptr(state_register, static_cast<std::int32_t>(offsetof(State, budget)) + slot * 4);
}

x86::Mem Emitter::entry(int slot) const
{
    return x86::qword_ptr(state_register, static_cast<std::int32_t>(offsetof(State, entry)) + slot * 8);
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

}  // namespace sprig::x86_64

namespace sprig {
namespace {

using namespace x86_64;

// Where the table leads while a function has no code: compile it, then go on to
// the code as if it had been called at once.
class LazyStub : Emitter {
public:
    using Emitter::Emitter;

    Emitted run()
    {
        constexpr std::int32_t room = 7 * 8;   // an odd number of words: the stack is aligned behind it
        move_sp(-room);
        for (int i = 0; i < 6; i++)
            as.mov(x86::qword_ptr(x86::rsp, i * 8), argument_registers[i].as<Gp>());
        as.mov(x86::qword_ptr(x86::rsp, 48), closure_register);
        as.mov(x86::rdi, x86::rax);
        call_native(reinterpret_cast<const void*>(&native::compile), {x86::rdi});
        for (int i = 0; i < 6; i++)
            as.mov(argument_registers[i].as<Gp>(), x86::qword_ptr(x86::rsp, i * 8));
        as.mov(closure_register, x86::qword_ptr(x86::rsp, 48));
        move_sp(room);
        as.jmp(x86::rax);
        return finish();
    }
};

}  // namespace

Emitted emit_lazy_stub(const EmitOptions& options)
{
    return LazyStub(options).run();
}

}  // namespace sprig
