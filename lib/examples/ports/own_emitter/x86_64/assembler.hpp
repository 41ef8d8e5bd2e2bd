/* SPDX-License-Identifier: MIT */
/*
 * A JIT's own emitter for x86-64. Its functions take a number in RDI and keep it
 * in RBX; RBP is a register like any other.
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
		locals_ = locals;
		push(rbp);
		push(rbx);
		move_sp(-locals);
		bytes({0x48, 0x89, 0xfb}); /* mov rbx, rdi */
		bytes({0x48, 0xc7, 0xc5}); /* mov rbp, junk: it is no frame pointer here */
		word(0x5a5a5a5a);
		body_ = here();
	}
	/* Return; if code follows, it runs in the frame as it is now. */
	void epilogue(bool is_last)
	{
		rows_.remember();
		move_sp(locals_);
		pop(rbx);
		pop(rbp);
		bytes({0xc3}); /* ret */
		if (!is_last)
			rows_.recall(here());
	}

	/* Jump behind what is emitted until land(jump) if the number is not 0. */
	[[nodiscard]] std::size_t jump_if_number()
	{
		bytes({0x48, 0x85, 0xdb, 0x0f, 0x85}); /* test rbx, rbx; jnz */
		word(0);
		return here();
	}
	void land(std::size_t jump)
	{
		const std::uint32_t distance = here() - static_cast<std::uint32_t>(jump);

		std::memcpy(&code_[jump - sizeof(distance)], &distance, sizeof(distance));
	}
	/* Call what `slot` holds with the number + `more`. */
	void call_slot(const std::uint64_t *slot, std::int8_t more)
	{
		load_argument(more);
		address(reinterpret_cast<std::uint64_t>(slot));
		bytes({0xff, 0x10}); /* call [rax] */
	}
	void call_native(std::int64_t (*native)(std::int64_t), std::int8_t more)
	{
		load_argument(more);
		address(reinterpret_cast<std::uint64_t>(native));
		bytes({0xff, 0xd0}); /* call rax */
	}
	void add_to_result(std::int8_t more)
	{
		bytes({0x48, 0x83, 0xc0, static_cast<std::uint8_t>(more)}); /* add rax, more */
	}

	[[nodiscard]] std::span<const std::byte> code() const { return code_; }
	/* A code offset behind the prologue. */
	[[nodiscard]] std::uint32_t body() const { return body_; }
	[[nodiscard]] const jitsframe::FrameRows &rows() const { return rows_; }

private:
	/* As instructions number them; DWARF's are others. */
	enum Register : std::uint8_t { rbx = 3, rbp = 5 };

	[[nodiscard]] static std::uint16_t dwarf(Register reg)
	{
		return reg == rbp ? jitsframe::x86_64::rbp : jitsframe::x86_64::rbx;
	}
	[[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(code_.size()); }

	void push(Register reg)
	{
		bytes({static_cast<std::uint8_t>(0x50 + reg)});
		rows_.push(here(), dwarf(reg));
	}
	void pop(Register reg)
	{
		bytes({static_cast<std::uint8_t>(0x58 + reg)});
		rows_.pop(here(), dwarf(reg));
	}
	void move_sp(std::int32_t by)
	{
		bytes({0x48, 0x81, 0xc4}); /* add rsp, by */
		word(static_cast<std::uint32_t>(by));
		rows_.move_sp(here(), by);
	}

	void load_argument(std::int8_t more)
	{
		bytes({0x48, 0x8d, 0x7b, static_cast<std::uint8_t>(more)}); /* lea rdi, [rbx + more] */
	}
	void address(std::uint64_t value)
	{
		bytes({0x48, 0xb8}); /* mov rax, value */
		word(static_cast<std::uint32_t>(value));
		word(static_cast<std::uint32_t>(value >> 32));
	}
	void bytes(std::initializer_list<std::uint8_t> those)
	{
		for (const std::uint8_t byte : those)
			code_.push_back(std::byte{byte});
	}
	void word(std::uint32_t value)
	{
		for (int shift = 0; shift < 32; shift += 8)
			bytes({static_cast<std::uint8_t>(value >> shift)});
	}

	std::vector<std::byte> code_;
	jitsframe::FrameRows rows_;
	std::int32_t locals_ = 0;
	std::uint32_t body_ = 0;
};

#endif
