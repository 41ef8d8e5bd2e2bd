// SPDX-License-Identifier: MIT
#include <jitsframe/result.hpp>

#include <cstdio>
#include <cstring>

namespace jitsframe {

const char *to_string(Code code) noexcept
{
	switch (code) {
	case Code::ok:
		return "ok";
	case Code::invalid_argument:
		return "invalid argument";
	case Code::invalid_rows:
		return "invalid rows";
	case Code::outside_text:
		return "outside text";
	case Code::overlap:
		return "overlap";
	case Code::not_found:
		return "not found";
	case Code::area_full:
		return "area full";
	case Code::no_memory:
		return "no memory";
	case Code::malformed:
		return "malformed";
	case Code::unsupported:
		return "unsupported";
	case Code::system:
		return "system call failed";
	}
	return "unknown code";
}

std::size_t Error::format(char *buffer, std::size_t size) const noexcept
{
	int n;

	if (code == Code::ok)
		n = std::snprintf(buffer, size, "ok");
	else if (os_errno)
		n = std::snprintf(buffer, size, "%s: %s (%s)", what, why, std::strerror(os_errno));
	else if (at)
		n = std::snprintf(buffer, size, "%s: %s (0x%llx)", what, why,
				  static_cast<unsigned long long>(at));
	else
		n = std::snprintf(buffer, size, "%s: %s", what, why);
	return n < 0 ? 0 : static_cast<std::size_t>(n);
}

} // namespace jitsframe
