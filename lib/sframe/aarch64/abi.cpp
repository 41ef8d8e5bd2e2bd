// SPDX-License-Identifier: MIT
#include <jitsframe/sframe.hpp>

namespace jitsframe::aarch64 {

const Abi abi = {
	.arch = Arch::aarch64,
	.abi_arch = 2, /* SFRAME_ABI_AARCH64_ENDIAN_LITTLE, 2.2.1 */
	.fixed_ra_offset = 0,
	.sp_reg = sp,
	.fp_reg = x29,
	.ra_reg = x30,
	.entry_cfa_offset = 0,
	.min_instruction = 4,
};

} // namespace jitsframe::aarch64
