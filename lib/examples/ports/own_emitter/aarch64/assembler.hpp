/* SPDX-License-Identifier: MIT */
/*
 * A JIT's own emitter for AArch64. Its functions take a number in X0 and keep it
 * in X19; X29 is a register like any other.
 *
 * What the port adds is `rows_` and the lines that name it: each stands behind
 * the instruction that it tells of.
 */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_ASSEMBLER_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_ASSEMBLER_HPP

#include <jitsframe/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

class Assembler {
public:
	/* `locals`: bytes, 8 more than a multiple of 16. */
	void prologue(std::int32_t locals)
	{
		locals_ = locals + 8;
		word(0xa9be7bfd); /* stp x29, x30, [sp, -32]! */
		rows_.move_sp(here(), -32).save_fp(here(), 0).save_ra(here(), 8);
		word(0xf9000bf3); /* str x19, [sp, 16] */
		move_sp(-locals_);
		word(0xaa0003f3); /* mov x19, x0 */
		word(0xd28b4b5d); /* mov x29, junk: it is no frame pointer here */
		body_ = here();
	}
	/* Return; if code follows, it runs in the frame as it is now. */
	void epilogue(bool is_last)
	{
		rows_.remember();
		move_sp(locals_);
		word(0xf9400bf3); /* ldr x19, [sp, 16] */
		word(0xa8c27bfd); /* ldp x29, x30, [sp], 32 */
		rows_.restore_fp(here()).restore_ra(here()).move_sp(here(), 32);
		word(0xd65f03c0); /* ret */
		if (!is_last)
			rows_.recall(here());
	}

	/* Jump behind what is emitted until land(jump) if the number is not 0. */
	[[nodiscard]] std::size_t jump_if_number()
	{
		word(0xb5000013); /* cbnz x19 */
		return here() - 4;
	}
	void land(std::size_t jump)
	{
		std::uint32_t instruction;

		std::memcpy(&instruction, &code_[jump], sizeof(instruction));
		instruction |= (here() - static_cast<std::uint32_t>(jump)) / 4 << 5;
		std::memcpy(&code_[jump], &instruction, sizeof(instruction));
	}
	/* Call what `slot` holds with the number + `more`. */
	void call_slot(const std::uint64_t *slot, std::int8_t more)
	{
		load_argument(more);
		address(reinterpret_cast<std::uint64_t>(slot));
		word(0xf9400210); /* ldr x16, [x16] */
		word(0xd63f0200); /* blr x16 */
	}
	void call_native(std::int64_t (*native)(std::int64_t), std::int8_t more)
	{
		load_argument(more);
		address(reinterpret_cast<std::uint64_t>(native));
		word(0xd63f0200); /* blr x16 */
	}
	void add_to_result(std::int8_t more)
	{
		word(add_or_sub(more)); /* add x0, x0, more */
	}

	[[nodiscard]] std::span<const std::byte> code() const { return code_; }
	/* A code offset behind the prologue. */
	[[nodiscard]] std::uint32_t body() const { return body_; }
	[[nodiscard]] const jitsframe::FrameRows &rows() const { return rows_; }

private:
	[[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(code_.size()); }

	static std::uint32_t imm12(std::int32_t value)
	{
		return static_cast<std::uint32_t>(value) << 10;
	}
	/* x0 += more, or x0 = x`from` + more */
	static std::uint32_t add_or_sub(std::int8_t more, std::uint32_t from = 0)
	{
		return (more < 0 ? 0xd1000000u | imm12(-more) : 0x91000000u | imm12(more)) | from << 5;
	}

	void move_sp(std::int32_t by)
	{
		word(by < 0 ? 0xd10003ff | imm12(-by) : 0x910003ff | imm12(by)); /* sub, or add */
		rows_.move_sp(here(), by);
	}

	void load_argument(std::int8_t more)
	{
		word(add_or_sub(more, 19)); /* add x0, x19, more */
	}
	void address(std::uint64_t value)
	{
		constexpr std::uint32_t moves[] = {0xd2800010, 0xf2a00010, 0xf2c00010, 0xf2e00010};

		for (const std::uint32_t move : moves) { /* movz, movk x16 */
			word(move | static_cast<std::uint32_t>(value & 0xffff) << 5);
			value >>= 16;
		}
	}
	void word(std::uint32_t value)
	{
		for (int shift = 0; shift < 32; shift += 8)
			code_.push_back(static_cast<std::byte>(value >> shift));
	}

	std::vector<std::byte> code_;
	jitsframe::FrameRows rows_;
	std::int32_t locals_ = 0;
	std::uint32_t body_ = 0;
};

#endif
