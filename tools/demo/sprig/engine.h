// SPDX-License-Identifier: MIT
// Compiles functions when they are first called, again when they are hot, and
// takes their code back when no frame of it is left.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ast.h"
#include "code_memory.h"
#include "context.h"
#include "emitted.h"
#include "heap.h"
#include "publisher.h"
#include "state.h"

namespace sprig {

enum class Tier { lazy, baseline, optimizing };

const char* to_string(Tier tier);

// One piece of published code. Times are CLOCK_MONOTONIC, in ns.
struct Version {
    std::string name;
    int slot;
    Tier tier;
    std::uintptr_t start;
    std::size_t size;
    std::uint64_t published;
    std::uint64_t freed;                // UINT64_MAX: still there
    std::vector<AheadRange> ahead;
    std::uint64_t active_at = 0;        // the last safepoint at which a frame of it was found
};

struct EngineOptions {
    std::string program = "sprig";      // goes before every name that is published
    std::size_t code_size = 128 << 10;
    std::size_t contexts = 4 << 20;       // 128 bytes each, once used
    std::int32_t optimize_after = 50;   // entries of baseline code
    std::int32_t reoptimize_after = 20000;  // entries of optimized code
    unsigned evict_every = 24;          // compilations; then the coldest function loses its code
    bool wrong_rows = false;            // leave a row out of each function, to see it noticed
    std::uint64_t seed = 1;             // of the choices that make one version unlike another
};

struct EngineCounts {
    std::uint64_t baseline = 0, optimized = 0, freed = 0, reused_bytes = 0, evicted = 0;
};

class Engine {
public:
    Engine(Program& program, const EngineOptions& options);

    // Runs main() once; everything that it allocated is released after.
    std::int64_t run();

    // A call from native code. Arguments beyond those the function has are ignored.
    std::int64_t call(const Closure* callee, std::int64_t a = 0, std::int64_t b = 0);

    // Called by compiled code: the entry point to go to, and a hint that the
    // function is hot. Both are safepoints: unreachable code is freed there.
    std::uintptr_t compile(std::int64_t slot);
    void tier_up(std::int64_t slot);

    const Closure* function_value(int slot) const { return &function_values_[slot]; }
    const Function& function(std::int64_t slot) const { return *program_.functions[slot]; }
    State& state() { return state_; }
    ContextTree& contexts() { return contexts_; }
    const ContextTree& contexts() const { return contexts_; }
    CodeMemory& memory() { return memory_; }
    const CodeMemory& memory() const { return memory_; }
    Heap& heap() { return heap_; }
    const Publisher& publisher() const { return publisher_; }
    const std::vector<Version>& versions() const { return versions_; }
    const EngineCounts& counts() const { return counts_; }
    // The version whose code is at pc now; async-signal-safe.
    const Version* find_version(std::uintptr_t pc) const;
    // The frame below which native frames are not the program's.
    void set_root_frame(const void* frame) { root_frame_ = frame; }
    // The context of a call into compiled code by the frame that holds `frame`.
    Context* enter_context(const std::uintptr_t* frame, std::uintptr_t return_address);

private:
    int install(int slot, Tier tier, const std::string& function, Emitted emitted);
    EmitOptions emit_options();
    void replace(std::int64_t slot, int version);
    void evict_coldest(std::int64_t hot);
    void free_unreachable();
    std::uint64_t random();

    Program& program_;
    EngineOptions options_;
    State state_{};
    ContextTree contexts_;
    CodeMemory memory_;
    Publisher publisher_;
    Heap heap_;
    std::unique_ptr<Closure[]> function_values_;
    std::vector<Version> versions_;
    std::vector<int> current_;          // by slot; the lazy stub's version if there is no code
    std::vector<int> retired_;          // not reachable by new calls, not yet freed
    std::vector<std::int32_t> budget_seen_; // by slot, when the coldest was last looked for
    std::vector<int> owner_;            // version by granule of code memory, freed ones too
    std::vector<std::uint8_t> ever_used_;   // by granule, to count reuse
    int lazy_ = 0;
    unsigned compilations_ = 0;
    std::uint64_t safepoint_ = 0;
    std::uint64_t random_;
    EngineCounts counts_;
    const void* root_frame_ = nullptr;
};

// The one engine of the process, for compiled code and signal handlers.
extern Engine* running_engine;

}  // namespace sprig
