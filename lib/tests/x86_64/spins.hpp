/* SPDX-License-Identifier: MIT */
/* void f(void): counts down from 2^28. */
#ifndef JITSFRAME_LIB_TESTS_SPINS_HPP
#define JITSFRAME_LIB_TESTS_SPINS_HPP

namespace spins {

inline constexpr unsigned char code[] = {
	0xb9, 0x00, 0x00, 0x00, 0x10, /*    mov ecx, 1 << 28 */
	0xff, 0xc9,                   /* 1: dec ecx */
	0x75, 0xfc,                   /*    jnz 1b */
	0xc3,                         /*    ret */
};

} // namespace spins

#endif
