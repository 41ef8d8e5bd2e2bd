/* SPDX-License-Identifier: MIT */
/* The shared decoder's answers in this library's types. */
#ifndef JITSFRAME_LIB_SFRAME_LOOKUP_ROW_HPP
#define JITSFRAME_LIB_SFRAME_LOOKUP_ROW_HPP

#include <jitsframe/sframe.hpp>

#include "sframe_row.h"

#include <cerrno>

namespace jitsframe {

inline Rule rule_from(const struct sframe_rule &rule) noexcept
{
	switch (rule.kind) {
	case SFRAME_RULE_CFA:
		return {Rule::Base::cfa, false, 0, rule.offset};
	case SFRAME_RULE_CFA_DEREF:
		return Rule::at_cfa(rule.offset);
	case SFRAME_RULE_REG:
		return Rule::in_reg(rule.reg, rule.offset);
	case SFRAME_RULE_REG_DEREF:
		return Rule::at_reg(rule.reg, rule.offset);
	default:
		return {};
	}
}

/* Templates, because each user of the decoder compiles its own copy of it. */
template <typename Section, typename Fde>
Found found_from(const Section &sec, const Fde &fde, const struct sframe_row &row) noexcept
{
	const Arch arch =
		sec.abi_arch == x86_64::abi.abi_arch ? Arch::x86_64 : Arch::aarch64;
	Row out;

	out.outermost = row.outermost;
	/* x86-64 signs nothing, so the bit means nothing there. */
	out.ra_signed = row.ra_mangled && arch == Arch::aarch64;
	out.cfa = rule_from(row.cfa);
	out.ra = rule_from(row.ra);
	out.fp = rule_from(row.fp);
	return {fde.start, fde.size, row.signal != 0, row.pauth_key_b != 0,
		normalised(abi_of(arch), out)};
}

inline Error lookup_error(int ret) noexcept
{
	switch (ret) {
	case -ENOENT:
		return {Code::not_found, 0, "lookup", "nothing covers this PC", 0};
	case -E2BIG:
		return {Code::unsupported, 0, "lookup", "more rows than a reader looks at", 0};
	default:
		return {Code::malformed, 0, "lookup", "the section makes no sense", 0};
	}
}

} // namespace jitsframe

#endif
