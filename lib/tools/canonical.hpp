/* SPDX-License-Identifier: MIT */
/*
 * Sections as text, one form for all: sframe-dump prints it of bytes,
 * sframe-emit of what it meant, and the oracle of what binutils says.
 */
#ifndef JITSFRAME_LIB_TOOLS_CANONICAL_HPP
#define JITSFRAME_LIB_TOOLS_CANONICAL_HPP

#include <jitsframe/sframe.hpp>

#include <cstdint>
#include <string>

namespace jitsframe {

std::string section_text(const Abi &abi, unsigned flags, int fixed_fp, int fixed_ra,
			 std::uint64_t fdes, std::uint64_t fres);
/* The function's line and those of its rows; Function::flexible must be set. */
std::string function_text(const Abi &abi, const Function &function);

} // namespace jitsframe

#endif
