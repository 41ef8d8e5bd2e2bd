/* SPDX-License-Identifier: MIT */
/* Where a function returns: what a reader must find there is known without its rows. */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_RETURNS_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_RETURNS_HPP

#include <cstdint>

namespace proof {

inline constexpr std::uint32_t return_bytes = 1;

inline bool is_return(std::uint64_t pc)
{
	return *reinterpret_cast<const unsigned char *>(pc) == 0xc3; /* ret */
}

} // namespace proof

#endif
