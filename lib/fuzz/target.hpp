/* SPDX-License-Identifier: MIT */
/* The fuzzed function, for both drivers. */
#ifndef JITSFRAME_LIB_FUZZ_TARGET_HPP
#define JITSFRAME_LIB_FUZZ_TARGET_HPP

#include <cstddef>
#include <cstdint>

/* Decode, look up and print whatever `bytes` are. Aborts if the decoders disagree. */
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size);

#endif
