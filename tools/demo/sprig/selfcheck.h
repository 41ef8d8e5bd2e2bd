// SPDX-License-Identifier: MIT
// Judges the published rows from inside the process: a timer signal stops the
// program anywhere, then it goes on one instruction at a time for a while, and
// at every stop in compiled code the stack is unwound through the area, with
// the decoder that the kernel uses, and compared with the record.
#pragma once

#include <cstdint>

#include "engine.h"

namespace sprig {

struct SelfcheckCounts {
    std::uint64_t samples = 0;          // stops in compiled code
    std::uint64_t exact = 0;
    std::uint64_t frames = 0;           // of all exact stacks
    std::uint64_t deepest = 0;
    std::uint64_t ahead = 0;            // stops where the record is one call ahead
    std::uint64_t frame_moved = 0;      // stops where the frame register was saved
};

// From now on, for this thread. Throws std::system_error.
void start_selfcheck(Engine& engine);
const SelfcheckCounts& selfcheck_so_far();
SelfcheckCounts stop_selfcheck();

}  // namespace sprig
