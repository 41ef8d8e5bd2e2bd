// SPDX-License-Identifier: MIT
#include <jitsframe/rows.hpp>

namespace jitsframe::aarch64 {

FrameRows leaf() noexcept
{
	return FrameRows(abi);
}

FrameRows fixed_frame(std::uint32_t after_prologue, std::uint32_t frame_bytes,
		      std::uint32_t after_save, std::int32_t ra_offset,
		      std::uint32_t after_epilogue) noexcept
{
	FrameRows frame(abi);

	frame.move_sp(after_prologue, -static_cast<std::int32_t>(frame_bytes))
		.save_ra(after_save, ra_offset);
	if (after_epilogue)
		frame.entry(after_epilogue);
	return frame;
}

FrameRows frame_pointer(std::uint32_t after_stp, std::uint32_t after_mov, std::uint32_t after_ldp,
			std::uint32_t frame_bytes) noexcept
{
	constexpr std::int32_t ra_slot = 8; /* AAPCS64 6.2.3: the frame record is {x29, x30} */
	FrameRows frame(abi);

	frame.move_sp(after_stp, -static_cast<std::int32_t>(frame_bytes))
		.save_fp(after_stp, 0)
		.save_ra(after_stp, ra_slot)
		.set_fp(after_mov);
	if (after_ldp)
		frame.entry(after_ldp);
	return frame;
}

} // namespace jitsframe::aarch64
