// SPDX-License-Identifier: MIT
#include <jitsframe/sframe.hpp>

namespace jitsframe {

const Abi &host_abi() noexcept
{
	return x86_64::abi;
}

} // namespace jitsframe
