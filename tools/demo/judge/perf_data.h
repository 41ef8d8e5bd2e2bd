// SPDX-License-Identifier: MIT
// The samples of a perf.data file, read as they lie there: perf script prints
// some addresses relative to their file, and which ones differs by version.
// Layout: tools/perf/Documentation/perf.data-file-format.txt and
// perf_event_open(2) of Linux.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace judge {

struct Sample {
    std::uint32_t pid = 0;
    std::uint64_t time = 0;             // ns of the clock that was asked for
    std::uint64_t ip = 0;
    std::vector<std::uint64_t> chain;   // user part, innermost first, context markers taken out
    std::uint64_t user_register = 0;    // the one that was asked for
    bool has_register = false;
    bool deferred = false;              // the chain was to come in a record of its own
    bool chain_missing = false;         // and that never came
};

struct PerfData {
    std::vector<Sample> samples;
    std::uint64_t lost = 0;             // samples that perf says it lost
};

// Reads the samples with user register number `register_bit`. Throws
// std::runtime_error for a file that is cut off or has what is not known here.
PerfData read_perf_data(const std::string& path, unsigned register_bit);

}  // namespace judge
