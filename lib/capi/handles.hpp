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

} // namespace jitsframe::capi

#endif
