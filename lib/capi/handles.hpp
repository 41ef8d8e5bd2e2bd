/* SPDX-License-Identifier: MIT */
/* What the C API's handles hold, and how its errors are told. */
#ifndef JITSFRAME_LIB_CAPI_HANDLES_HPP
#define JITSFRAME_LIB_CAPI_HANDLES_HPP

#include <jitsframe/jitsframe.h>

#include <jitsframe/area.hpp>

struct jitsframe_rows {
	jitsframe::FrameRows rows;
};

struct jitsframe_area {
	jitsframe::Area area;
};

namespace jitsframe::capi {

inline jitsframe_code tell(const Error &error, struct jitsframe_error *out) noexcept
{
	const auto code = static_cast<jitsframe_code>(error.code);

	if (out)
		*out = {code, error.os_errno, error.what, error.why, error.at};
	return code;
}

inline jitsframe_code null_handle(struct jitsframe_error *out) noexcept
{
	return tell({Code::invalid_argument, 0, "C API", "a null handle", 0}, out);
}

inline const Abi *abi_from(jitsframe_arch arch) noexcept
{
	switch (arch) {
	case JITSFRAME_ARCH_X86_64:
		return &x86_64::abi;
	case JITSFRAME_ARCH_AARCH64:
		return &aarch64::abi;
	default:
		return &host_abi();
	}
}

inline struct jitsframe_rule rule_to(const Rule &rule) noexcept
{
	return {static_cast<jitsframe_base>(rule.base), rule.deref, rule.reg, rule.offset};
}

inline struct jitsframe_found found_to(const Found &found) noexcept
{
	const Row &row = found.row;

	return {found.start, found.size, found.signal, found.pauth_key_b,
		{row.offset, row.outermost, row.ra_signed, rule_to(row.cfa), rule_to(row.ra),
		 rule_to(row.fp)}};
}

inline struct jitsframe_status status_to(const Status &status) noexcept
{
	return {static_cast<jitsframe_registration>(status.registration), status.os_errno, status.why};
}

} // namespace jitsframe::capi

#endif
