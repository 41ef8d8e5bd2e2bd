// SPDX-License-Identifier: MIT
// The functions that compiled code calls. They keep frame pointers, and so does
// everything they call on the way back into compiled code.
#pragma once

#include <cstdint>

#include "state.h"

namespace sprig::native {

// Keeps no record of itself: see Emitter::context_miss.
Context* find_context(Context* parent, std::uint32_t site);

std::uintptr_t compile(std::int64_t slot);
void tier_up(std::int64_t slot);
[[noreturn]] void fail(Failure failure, int line);

Closure* make_closure(std::int64_t slot, std::int64_t captures);
Array* make_array(std::int64_t length, std::int64_t value);
std::int64_t print(std::int64_t value);
Array* map(const Array* array, const Closure* function);
std::int64_t fold(const Array* array, const Closure* function, std::int64_t value);
// A stable merge sort; function(a, b) is not 0 if a goes before b.
std::int64_t sort(Array* array, const Closure* before);

}  // namespace sprig::native
