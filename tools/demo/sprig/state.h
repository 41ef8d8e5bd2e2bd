// SPDX-License-Identifier: MIT
// What compiled code and the runtime share. Compiled code holds the address of
// the State in one reserved register and the current Context in another (the
// architecture folder says which).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sprig {

// A node of the calling context tree. It names a whole chain of return
// addresses: that of its site, then those of its parents. Nodes are never
// changed nor freed, so a register that holds one, as read at a sample, says
// what the true chain was at that very instant.
struct Context {
    static constexpr std::size_t cached_children = 14;

    Context* parent;
    std::uint32_t site;                 // index of the call site that made the call
    std::uint32_t depth;
    Context* child[cached_children];    // by site modulo the size; never null
};
static_assert(sizeof(Context) == 128 && offsetof(Context, parent) == 0 && offsetof(Context, site) == 8);

inline constexpr std::size_t max_functions = 256;

struct State {
    Context* context;                   // of the frame that a native function was called from
    std::uintptr_t stack_limit;
    std::uintptr_t entry[max_functions];    // indirection table: a call goes through it, always
    std::int32_t budget[max_functions];     // entries left until the function is compiled better
};

// A function value. The captured values follow, 8 bytes each.
struct Closure {
    std::int64_t slot;
};
inline constexpr std::size_t closure_captures = sizeof(Closure);

// The elements follow, 8 bytes each.
struct Array {
    std::int64_t length;

    std::int64_t* begin() { return reinterpret_cast<std::int64_t*>(this + 1); }
    const std::int64_t* begin() const { return reinterpret_cast<const std::int64_t*>(this + 1); }
};
inline constexpr std::size_t array_elements = sizeof(Array);

enum class Failure : std::int64_t { index, division, stack, length };

}  // namespace sprig
