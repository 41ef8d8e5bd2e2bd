// SPDX-License-Identifier: MIT
// What the program prints. The first run's text goes out, every later run must
// print the same: versions of a function may not differ in meaning.
#pragma once

#include <cstdint>

namespace sprig::output {

std::int64_t print(std::int64_t value);
void flush();
// Whether this run printed what the first one did.
bool end_run();

}  // namespace sprig::output
