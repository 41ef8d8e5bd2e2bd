// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace sprig {

// How to unwind from an instruction on. Compiled code addresses its frame from
// the stack pointer alone; the frame register is one to save like any other.
struct Row {
    std::uint32_t offset;               // of the first instruction it holds for
    std::int32_t cfa;                   // CFA less stack pointer, bytes
    std::int32_t frame_register;        // where it is saved, from the CFA; 0: not saved
};

}  // namespace sprig
