/* SPDX-License-Identifier: MIT */
/* The kernel's reading protocol (I3), in this process. */
#ifndef JITSFRAME_LIB_AREA_READER_HPP
#define JITSFRAME_LIB_AREA_READER_HPP

#include <jitsframe/sframe.hpp>

#include <cstddef>
#include <cstdint>

namespace jitsframe {

/* Signal safe, lock free, bounded. `bytes`: of the whole area. */
[[nodiscard]] Result<Found> lookup_live(const std::byte *area, std::uint64_t bytes,
					const Abi &abi, std::uint64_t pc) noexcept;

} // namespace jitsframe

#endif
