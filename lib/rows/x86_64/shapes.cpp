// SPDX-License-Identifier: MIT
#include <jitsframe/rows.hpp>

namespace jitsframe::x86_64 {

FrameRows leaf() noexcept
{
	return FrameRows(abi);
}

FrameRows fixed_frame(std::uint32_t after_prologue, std::uint32_t frame_bytes,
		      std::uint32_t after_epilogue) noexcept
{
	FrameRows frame(abi);

	frame.move_sp(after_prologue, -static_cast<std::int32_t>(frame_bytes));
	if (after_epilogue)
		frame.entry(after_epilogue);
	return frame;
}

FrameRows frame_pointer(std::uint32_t after_push, std::uint32_t after_mov,
			std::uint32_t after_pop) noexcept
{
	FrameRows frame(abi);

	frame.push(after_push, rbp).set_fp(after_mov);
	if (after_pop)
		frame.entry(after_pop);
	return frame;
}

} // namespace jitsframe::x86_64
