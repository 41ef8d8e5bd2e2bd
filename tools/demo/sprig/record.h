// SPDX-License-Identifier: MIT
// The truth, for the judge: code and its times, call sites, calling contexts.
//
// A text file, one record a line, numbers hexadecimal:
//   sprig-record 1 PID REGISTER       which bit of sample_regs_user
//   text START SIZE
//   contexts ADDRESS STRIDE          node i lies at ADDRESS + i * STRIDE
//   V START SIZE PUBLISHED FREED TIER NAME     version 0, 1, ... (the perf map's lines)
//   A VERSION BEGIN END              offsets where the register is one call ahead
//   S RETURN_ADDRESS VERSION         site 0, 1, ...; version ffffffff: native code
//   C PARENT SITE                    context 0, 1, ...; 1 is the root, 0 means nothing
//   end
#pragma once

#include <string>

#include "engine.h"

namespace sprig {

// Throws std::runtime_error.
void write_record(const Engine& engine, const std::string& path);

}  // namespace sprig
