// SPDX-License-Identifier: MIT
/* The lookup of a row, too simple to be wrong. */
#ifndef JITSFRAME_LIB_TESTS_NAIVE_ROW_HPP
#define JITSFRAME_LIB_TESTS_NAIVE_ROW_HPP

#include <jitsframe/sframe.hpp>

#include <cstdint>

namespace jitsframe {

/*
 * What a reader should find, the slow way: the last row at or before pc, its
 * offset not told. Where there is none, nothing called the function.
 */
inline Row naive_row(const Function &function, std::uint64_t pc)
{
	std::uint64_t offset = pc - function.start;
	Row found = {.outermost = true};

	if (function.repeat_block)
		offset %= function.repeat_block;
	for (const Row &row : function.rows)
		if (row.offset <= offset)
			found = row;
	found.offset = 0;
	return found;
}

} // namespace jitsframe

#endif
