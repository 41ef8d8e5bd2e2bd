/* SPDX-License-Identifier: MIT */
/* The fuzzed function of CFI, for both drivers. */
#ifndef JITSFRAME_LIB_FUZZ_CFI_TARGET_HPP
#define JITSFRAME_LIB_FUZZ_CFI_TARGET_HPP

#include <cstddef>
#include <cstdint>

/*
 * Make rows of `bytes` as an .eh_frame, for every machine. Aborts if what comes of it is not what was
 * promised. Returns 1 if all of it could be read, else 0.
 */
int read_hostile_cfi(const std::uint8_t *bytes, std::size_t size);

#endif
