/* SPDX-License-Identifier: MIT */
/*
 * Where an area's generations begin: beyond those of every area of this process
 * that is gone. A reader that began in an area which was then unmapped, and
 * another mapped in its place, so never meets the live word again that it
 * started from, and starts over (I3).
 */
#ifndef JITSFRAME_LIB_AREA_GENERATIONS_HPP
#define JITSFRAME_LIB_AREA_GENERATIONS_HPP

#include <cstdint>

namespace jitsframe {

/* What a new area counts from. Call it when the area is mapped. */
[[nodiscard]] std::uint32_t first_generation() noexcept;

/* An area that came as far as `last` goes. Call it before the area is unmapped. */
void end_generations(std::uint32_t last) noexcept;

} // namespace jitsframe

#endif
