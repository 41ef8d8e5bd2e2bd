/* SPDX-License-Identifier: MIT */
/* What the JIT in ten_lines.cpp emits, and how its frame looks. */
#ifndef JITSFRAME_LIB_EXAMPLES_TWICE_HPP
#define JITSFRAME_LIB_EXAMPLES_TWICE_HPP

#include <jitsframe/rows.hpp>

namespace twice {

inline constexpr unsigned char code[] = {
	0x53,             /* 0: push rbx */
	0x89, 0xfb,       /* 1: mov ebx, edi */
	0x8d, 0x04, 0x1b, /* 3: lea eax, [rbx + rbx] */
	0x5b,             /* 6: pop rbx */
	0xc3,             /* 7: ret */
};

/* Each step is told with the offset of the instruction behind it. */
inline void describe(jitsframe::FrameRows &frame)
{
	frame.push(1, jitsframe::x86_64::rbx).pop(7, jitsframe::x86_64::rbx);
}

/* An instruction in the middle, and what a reader has to find for it. */
inline constexpr unsigned middle = 3;
inline constexpr jitsframe::Rule cfa = jitsframe::Rule::in_reg(jitsframe::x86_64::rsp, 16);

} // namespace twice

#endif
