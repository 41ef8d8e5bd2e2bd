// SPDX-License-Identifier: MIT
#include "../host.hpp"

#include <cstring>

namespace jitsframe::host {

void serialise() noexcept
{
	asm volatile("isb" ::: "memory");
}

/*
 * DC CVAU is in program order with stores to the same line only if they went to
 * the same address; ours went to an alias (Arm ARM, "Ordering and completion
 * of data and instruction cache instructions").
 */
void finish_stores() noexcept
{
	asm volatile("dsb ish" ::: "memory");
}

void fill_with_traps(std::byte *to, std::size_t bytes) noexcept
{
	/* UDF #0 is four bytes of 0, whatever lies before. */
	std::memset(to, 0, bytes);
}

} // namespace jitsframe::host
