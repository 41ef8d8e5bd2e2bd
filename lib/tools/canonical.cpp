// SPDX-License-Identifier: MIT
#include "canonical.hpp"

#include <cstdarg>
#include <cstdio>

namespace jitsframe {

namespace {

__attribute__((format(printf, 1, 2))) std::string print(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	std::vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return text;
}

std::string base_name(const Abi &abi, const Rule &rule)
{
	if (rule.base == Rule::Base::cfa)
		return "c";
	if (rule.reg == abi.sp_reg)
		return "sp";
	if (rule.reg == abi.fp_reg)
		return "fp";
	return print("r%u", unsigned{rule.reg});
}

std::string rule_text(const Abi &abi, const Rule &rule, const char *none)
{
	if (rule.base == Rule::Base::none)
		return none;

	const std::string place = base_name(abi, rule) + print("%+d", rule.offset);
	return rule.deref ? "*(" + place + ")" : place;
}

std::string row_text(const Abi &abi, const Row &row)
{
	const std::string off = print("row off=0x%x ", row.offset);

	if (row.outermost)
		return off + "undefined\n";
	return off + "cfa=" + rule_text(abi, row.cfa, "?") + " fp=" + rule_text(abi, row.fp, "u") +
	       " ra=" + rule_text(abi, row.ra, abi.fixed_ra_offset ? "f" : "u") +
	       (row.ra_signed ? "[s]\n" : "\n");
}

} // namespace

std::string section_text(const Abi &abi, unsigned flags, int fixed_fp, int fixed_ra,
			 std::uint64_t fdes, std::uint64_t fres)
{
	return print("section abi=%s flags=0x%x fixed_fp=%d fixed_ra=%d fdes=%llu fres=%llu\n",
		     abi.arch == Arch::x86_64 ? "amd64" : "aarch64", flags, fixed_fp, fixed_ra,
		     static_cast<unsigned long long>(fdes), static_cast<unsigned long long>(fres));
}

std::string function_text(const Abi &abi, const Function &function)
{
	std::string text = print(
		"func start=0x%llx size=0x%x type=%s rep=%u kind=%s signal=%d key=%c\n",
		static_cast<unsigned long long>(function.start), function.size,
		function.repeat_block ? "pcmask" : "pcinc", unsigned{function.repeat_block},
		function.flexible ? "flex" : "default", int{function.signal},
		function.pauth_key_b ? 'b' : 'a');

	for (const Row &row : function.rows)
		text += row_text(abi, row);
	return text;
}

} // namespace jitsframe
