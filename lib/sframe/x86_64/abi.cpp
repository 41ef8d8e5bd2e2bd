// SPDX-License-Identifier: MIT
#include <jitsframe/sframe.hpp>

namespace jitsframe::x86_64 {

const Abi abi = {
	.arch = Arch::x86_64,
	.abi_arch = 3, /* SFRAME_ABI_AMD64_ENDIAN_LITTLE, 2.2.1 */
	.fixed_ra_offset = -8,
	.sp_reg = rsp,
	.fp_reg = rbp,
	.ra_reg = return_address,
	.entry_cfa_offset = 8,
	.min_instruction = 1,
};

} // namespace jitsframe::x86_64
