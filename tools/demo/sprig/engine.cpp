// SPDX-License-Identifier: MIT
#include "engine.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "arch.h"

extern "C" std::int64_t sprig_enter(sprig::State* state, const sprig::Closure* callee, const std::int64_t* arguments);

namespace sprig {

Engine* running_engine;

namespace {

constexpr std::size_t stack_bytes = 512 << 10;
constexpr int no_version = -1;

std::uint64_t now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

const char* to_string(Tier tier)
{
    switch (tier) {
    case Tier::lazy:
        return "lazy";
    case Tier::baseline:
        return "baseline";
    case Tier::optimizing:
        return "optimizing";
    }
    return "?";
}

Engine::Engine(Program& program, const EngineOptions& options)
    : program_(program),
      options_(options),
      contexts_(options.contexts),
      memory_(options.code_size),
      publisher_(memory_.start(), memory_.size()),
      owner_(memory_.size() / CodeMemory::granule, no_version),
      ever_used_(owner_.size()),
      random_(options.seed * 2 + 1)
{
    if (program.functions.size() > max_functions)
        throw std::runtime_error("more than " + std::to_string(max_functions) + " functions");
    versions_.reserve(1 << 16);
    EmitOptions emit;
    emit.new_site = [this] { return contexts_.add_site(); };
    lazy_ = install(-1, Tier::lazy, "compile", emit_lazy_stub(emit));
    function_values_ = std::make_unique<Closure[]>(program.functions.size());
    for (std::size_t slot = 0; slot < program.functions.size(); slot++) {
        function_values_[slot].slot = static_cast<std::int64_t>(slot);
        state_.entry[slot] = versions_[lazy_].start;
    }
    current_.assign(program.functions.size(), lazy_);
    budget_seen_.assign(program.functions.size(), 0);
    state_.stack_limit = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - stack_bytes;
}

std::int64_t Engine::run()
{
    heap_.release();
    state_.context = nullptr;
    return call(function_value(program_.main->slot));
}

std::int64_t Engine::call(const Closure* callee, std::int64_t a, std::int64_t b)
{
    const std::int64_t arguments[max_params] = {a, b};
    Context* caller = state_.context;
    std::int64_t result = sprig_enter(&state_, callee, arguments);
    state_.context = caller;
    return result;
}

// The native part of the chain is what frame pointers say, from the entry down
// to the compiled frame that called native code, or to the root.
Context* Engine::enter_context(const std::uintptr_t* frame, std::uintptr_t return_address)
{
    std::array<std::uintptr_t, 64> natives;
    std::size_t count = 0;
    Context* context = contexts_.root();
    for (;;) {
        std::uintptr_t caller = arch::stripped(frame[1]);
        if (memory_.contains(caller)) {
            context = state_.context;
            if (!context || contexts_.site(context).return_address != caller) {
                std::fprintf(stderr, "sprig: the record of calls disagrees with the stack at %#lx\n", static_cast<unsigned long>(caller));
                std::abort();
            }
            break;
        }
        natives.at(count++) = caller;
        frame = reinterpret_cast<const std::uintptr_t*>(frame[0]);
        if (frame == root_frame_)
            break;
    }
    while (count > 0)
        context = contexts_.child(context, contexts_.native_site(natives[--count]));
    return contexts_.child(context, contexts_.native_site(return_address));
}

int Engine::install(int slot, Tier tier, const std::string& function, Emitted emitted)
{
    const std::string name = options_.program + ':' + function;
    std::size_t size = emitted.code.size();
    std::uintptr_t start = memory_.allocate(size);
    if (start == 0)
        return no_version;
    memory_.write(start, emitted.code);
    int version = static_cast<int>(versions_.size());
    for (const EmittedSite& site : emitted.sites)
        contexts_.set_site(site.site, {start + site.return_offset, version});
    for (std::size_t i = (start - memory_.start()) / CodeMemory::granule, end = (start - memory_.start() + size - 1) / CodeMemory::granule;
         i <= end; i++) {
        owner_[i] = version;
        counts_.reused_bytes += ever_used_[i] ? CodeMemory::granule : 0;
        ever_used_[i] = true;
    }
    if (options_.wrong_rows && emitted.rows.size() > 1)
        emitted.rows.erase(emitted.rows.begin() + 1);
    // The order that makes it safe: bytes, rows, and only then a way to get there.
    publisher_.publish(start, emitted, name);
    versions_.push_back({name, slot, tier, start, size, now(), UINT64_MAX, std::move(emitted.ahead)});
    return version;
}

const Version* Engine::find_version(std::uintptr_t pc) const
{
    if (!memory_.contains(pc))
        return nullptr;
    int version = owner_[(pc - memory_.start()) / CodeMemory::granule];
    if (version == no_version || pc - versions_[version].start >= versions_[version].size)
        return nullptr;
    return &versions_[version];
}

EmitOptions Engine::emit_options()
{
    EmitOptions emit;
    emit.new_site = [this] { return contexts_.add_site(); };
    emit.function_value = [this](int slot) { return function_value(slot); };
    emit.variant = random();
    return emit;
}

void Engine::replace(std::int64_t slot, int version)
{
    if (current_[slot] != lazy_)
        retired_.push_back(current_[slot]);
    current_[slot] = version;
    state_.entry[slot] = versions_[version].start;
    state_.budget[slot] = versions_[version].tier == Tier::baseline ? options_.optimize_after : options_.reoptimize_after;
    budget_seen_[slot] = state_.budget[slot];
}

std::uintptr_t Engine::compile(std::int64_t slot)
{
    free_unreachable();
    // Another way may have led here first: two calls read the table, one compiled.
    if (current_[slot] == lazy_) {
        const Function& function = *program_.functions[slot];
        int version = install(static_cast<int>(slot), Tier::baseline, function.name, emit_baseline(function, emit_options()));
        if (version == no_version)
            throw std::runtime_error("no room for code");
        replace(slot, version);
        counts_.baseline++;
        if (++compilations_ % options_.evict_every == 0)
            evict_coldest(slot);
    }
    return state_.entry[slot];
}

void Engine::tier_up(std::int64_t slot)
{
    free_unreachable();
    state_.budget[slot] = options_.reoptimize_after;
    if (current_[slot] == lazy_)
        return;     // evicted while a frame of it is active: the next call compiles it
    const Function& function = *program_.functions[slot];
    int version = install(static_cast<int>(slot), Tier::optimizing, function.name, emit_optimized(function, emit_options()));
    if (version == no_version)
        return;
    replace(slot, version);
    counts_.optimized++;
    if (++compilations_ % options_.evict_every == 0)
        evict_coldest(slot);
}

// Coldest: entered least often since this was last asked.
void Engine::evict_coldest(std::int64_t hot)
{
    int coldest = -1;
    std::int32_t fewest = 0;
    for (int slot = 0; slot < static_cast<int>(current_.size()); slot++) {
        std::int32_t entries = budget_seen_[slot] - state_.budget[slot];
        budget_seen_[slot] = state_.budget[slot];
        if (slot == hot || current_[slot] == lazy_ || (coldest >= 0 && entries >= fewest))
            continue;
        coldest = slot;
        fewest = entries;
    }
    if (coldest < 0)
        return;
    retired_.push_back(current_[coldest]);
    current_[coldest] = lazy_;
    state_.entry[coldest] = versions_[lazy_].start;
    counts_.evicted++;
}

// A retired version can be freed when no frame returns into it. The record of
// calls says which those are: this is a safepoint, so it is complete.
void Engine::free_unreachable()
{
    safepoint_++;
    for (const Context* context = state_.context; context; context = context->parent) {
        if (int version = contexts_.site(context).version; version != no_version)
            versions_[version].active_at = safepoint_;
    }
    std::erase_if(retired_, [&](int id) {
        Version& version = versions_[id];
        if (version.active_at == safepoint_)
            return false;
        publisher_.retire(version.start);
        version.freed = now();
        memory_.free(version.start, version.size);
        counts_.freed++;
        return true;
    });
}

// xorshift64 (Marsaglia 2003)
std::uint64_t Engine::random()
{
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ >> 11;
}

}  // namespace sprig
