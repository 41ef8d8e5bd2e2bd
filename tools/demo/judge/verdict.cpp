// SPDX-License-Identifier: MIT
#include "verdict.h"

#include <algorithm>

namespace judge {

Verdict judge_chain(std::span<const std::uint64_t> seen, std::span<const std::uint64_t> truth)
{
    std::size_t common = std::min(seen.size(), truth.size());
    if (!std::equal(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(common), truth.begin()))
        return Verdict::wrong;
    return seen.size() < truth.size() ? Verdict::shorter : Verdict::exact;
}

void Tally::add(Verdict verdict)
{
    samples++;
    exact += verdict == Verdict::exact;
    shorter += verdict == Verdict::shorter;
    wrong += verdict == Verdict::wrong;
}

std::string Tally::line(const std::string& label) const
{
    return label + ": " + std::to_string(samples) + " samples in JIT code, " + std::to_string(exact) + " exact, " +
           std::to_string(shorter) + " short, " + std::to_string(wrong) + " wrong";
}

}  // namespace judge
