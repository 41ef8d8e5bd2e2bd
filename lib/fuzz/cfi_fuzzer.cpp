// SPDX-License-Identifier: MIT
/* libFuzzer's way into the target. */
#include "cfi_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size)
{
	(void)read_hostile_cfi(bytes, size);
	return 0;
}
