/* SPDX-License-Identifier: MIT */
/* void f(void): counts down from 2^28. */
#ifndef JITSFRAME_LIB_TESTS_SPINS_HPP
#define JITSFRAME_LIB_TESTS_SPINS_HPP

namespace spins {

inline constexpr unsigned char code[] = {
	0x09, 0x00, 0xa2, 0xd2, /*    mov x9, #0x10000000 */
	0x29, 0x05, 0x00, 0xd1, /* 1: sub x9, x9, #1 */
	0xe9, 0xff, 0xff, 0xb5, /*    cbnz x9, 1b */
	0xc0, 0x03, 0x5f, 0xd6, /*    ret */
};

} // namespace spins

#endif
