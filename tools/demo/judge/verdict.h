// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace judge {

enum class Verdict {
    exact,      // frame for frame the truth, down to main()
    shorter,    // right as far as it goes, but it ends too early
    wrong,      // a frame that is not there
};

// Frames of `seen` behind the end of `truth` are those below main(), which the
// record does not have: they are not judged.
Verdict judge_chain(std::span<const std::uint64_t> seen, std::span<const std::uint64_t> truth);

struct Tally {
    std::uint64_t samples = 0, exact = 0, shorter = 0, wrong = 0;

    void add(Verdict verdict);
    // "LABEL: S samples in JIT code, E exact, H short, W wrong"
    std::string line(const std::string& label) const;
};

}  // namespace judge
