/* SPDX-License-Identifier: MIT */
/* What the JIT in ten_lines.cpp emits, and how its frame looks. */
#ifndef JITSFRAME_LIB_EXAMPLES_TWICE_HPP
#define JITSFRAME_LIB_EXAMPLES_TWICE_HPP

#include <jitsframe/rows.hpp>

namespace twice {

inline constexpr unsigned char code[] = {
	0xf3, 0x0f, 0x1f, 0xf8, /*  0: str x19, [sp, #-16]! */
	0xf3, 0x03, 0x00, 0x2a, /*  4: mov w19, w0 */
	0x60, 0x02, 0x13, 0x0b, /*  8: add w0, w19, w19 */
	0xf3, 0x07, 0x41, 0xf8, /* 12: ldr x19, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* 16: ret */
};

/* Each step is told with the offset of the instruction behind it. */
inline void describe(jitsframe::FrameRows &frame)
{
	frame.move_sp(4, -16).move_sp(16, 16);
}

/* An instruction in the middle, and what a reader has to find for it. */
inline constexpr unsigned middle = 8;
inline constexpr jitsframe::Rule cfa = jitsframe::Rule::in_reg(jitsframe::aarch64::sp, 16);

} // namespace twice

#endif
