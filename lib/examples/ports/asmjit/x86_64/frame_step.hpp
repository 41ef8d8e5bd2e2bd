/* SPDX-License-Identifier: MIT */
/* What the instructions of asmjit's prologues and epilogues do to the frame, on x86-64. */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_FRAME_STEP_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_FRAME_STEP_HPP

#include <jitsframe/rows.hpp>

#include <asmjit/x86.h>

/* As instructions number them; DWARF's are others. */
inline std::uint16_t dwarf(const asmjit::Operand &reg)
{
	using namespace jitsframe::x86_64;
	constexpr std::uint16_t numbers[] = {rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi,
					     r8,  r9,  r10, r11, r12, r13, r14, r15};

	return numbers[reg.as<asmjit::BaseReg>().id()];
}

/* Does it write SP, or set the frame pointer up? The body does neither. */
inline bool is_frame_step(const asmjit::InstNode &instruction, [[maybe_unused]] bool is_in_body)
{
	using namespace asmjit;
	const auto id = instruction.id();

	if (id == x86::Inst::kIdPush || id == x86::Inst::kIdPop)
		return true;
	return instruction.opCount() && (instruction.op(0) == x86::rsp ||
		(id == x86::Inst::kIdMov && instruction.op(0) == x86::rbp &&
		 instruction.op(1) == x86::rsp));
}

/* `at`: the code offset behind it. False: none of those that asmjit emits. */
inline bool take_frame_step(const asmjit::InstNode &instruction, std::uint32_t at,
			    jitsframe::FrameRows &rows)
{
	using namespace asmjit;
	const Operand *op = instruction.operands();
	const auto amount = [op] { return op[1].as<Imm>().valueAs<std::int32_t>(); };

	switch (instruction.id()) {
	case x86::Inst::kIdPush:
		rows.push(at, dwarf(op[0]));
		return true;
	case x86::Inst::kIdPop:
		rows.pop(at, dwarf(op[0]));
		return true;
	case x86::Inst::kIdSub:
		rows.move_sp(at, -amount());
		return true;
	case x86::Inst::kIdAdd:
		rows.move_sp(at, amount());
		return true;
	case x86::Inst::kIdMov: /* rbp, rsp; or rsp, rbp */
		op[0] == x86::rbp ? rows.set_fp(at) : rows.sp_from_fp(at, 0);
		return true;
	case x86::Inst::kIdLea: /* rsp, [rbp - n] */
		rows.sp_from_fp(at, op[1].as<x86::Mem>().offsetLo32());
		return true;
	case x86::Inst::kIdAnd: /* rsp, -alignment */
		rows.lose_sp();
		return true;
	default:
		return false;
	}
}

#endif
