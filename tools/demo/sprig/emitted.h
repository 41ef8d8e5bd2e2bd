// SPDX-License-Identifier: MIT
// What code generation hands to the engine, and what it may ask of it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <jitsframe/rows.hpp>

#include "ast.h"
#include "state.h"

namespace sprig {

// Offsets of code where the context register already, or still, names the
// callee's context, because a call is about to be made or has just returned.
struct AheadRange {
    std::uint32_t begin;
    std::uint32_t end;
};

struct EmittedSite {
    std::uint32_t site;
    std::uint32_t return_offset;
};

struct Emitted {
    std::vector<std::uint8_t> code;     // position independent
    std::vector<jitsframe::Row> rows;
    bool pauth_key_b = false;           // AArch64: return addresses are signed with key B
    std::vector<EmittedSite> sites;
    std::vector<AheadRange> ahead;

    // Of the instruction to come; one that says what the last says is left out.
    void add_row(jitsframe::Row row);
};

struct EmitOptions {
    std::function<std::uint32_t()> new_site;
    std::function<const Closure*(int slot)> function_value;
    std::uint64_t variant = 0;          // which of the equivalent shapes to make
};

// Made by the architecture folder.
Emitted emit_lazy_stub(const EmitOptions& options);
Emitted emit_baseline(const Function& function, const EmitOptions& options);
Emitted emit_optimized(const Function& function, const EmitOptions& options);

}  // namespace sprig
