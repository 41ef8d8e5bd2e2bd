/* SPDX-License-Identifier: MIT */
/* DWARF expressions of CFI, evaluated without a machine: to what an SFrame rule
 * can say, or to "other". */
#ifndef JITSFRAME_LIB_ROWS_CFI_EXPRESSION_HPP
#define JITSFRAME_LIB_ROWS_CFI_EXPRESSION_HPP

#include "cursor.hpp"

#include <cstdint>

namespace jitsframe {

/* Base + offset, and if deref what memory holds there. */
struct Symbolic {
	enum class Base : std::uint8_t { other, constant, cfa, reg };

	Base base = Base::other;
	bool deref = false;
	std::uint64_t reg = 0;
	std::int64_t offset = 0;

	friend bool operator==(const Symbolic &, const Symbolic &) noexcept = default;
};

/*
 * What the expression leaves on top of its stack. `with_cfa`: the CFA is there
 * at the start, as for register rules. Malformed expressions fail the cursor.
 */
Symbolic evaluate(Cursor &expression, bool with_cfa) noexcept;

/*
 * The CFA in a PLT, where linkers let it depend on how far the PC is into its
 * entry: register + offset + ((PC & mask) >= push_end) << shift.
 */
struct PltCfa {
	std::uint64_t reg = 0;
	std::int64_t offset = 0;
	std::uint8_t mask = 0;
	std::uint8_t push_end = 0;
	std::uint8_t shift = 0;
};

/* Is the expression of that form? */
bool is_plt_cfa(Cursor expression, std::uint64_t pc_column, PltCfa &plt) noexcept;

} // namespace jitsframe

#endif
