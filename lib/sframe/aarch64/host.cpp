// SPDX-License-Identifier: MIT
#include <jitsframe/sframe.hpp>

namespace jitsframe {

const Abi &host_abi() noexcept
{
	return aarch64::abi;
}

} // namespace jitsframe
