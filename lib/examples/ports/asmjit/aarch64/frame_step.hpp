/* SPDX-License-Identifier: MIT */
/* What the instructions of asmjit's prologues and epilogues do to the frame, on AArch64. */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_FRAME_STEP_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_FRAME_STEP_HPP

#include <jitsframe/rows.hpp>

#include <asmjit/arm.h>
#include <asmjit/arm/a64assembler.h>
#include <asmjit/arm/a64compiler.h>

/* Where an instruction saves or restores registers in the frame; null: it does not. */
inline const asmjit::a64::Mem *saved_at(const asmjit::InstNode &instruction)
{
	using namespace asmjit;
	const std::uint32_t last = instruction.opCount() ? instruction.opCount() - 1 : 0;

	switch (instruction.id()) {
	case a64::Inst::kIdStr:
	case a64::Inst::kIdStp:
	case a64::Inst::kIdLdr:
	case a64::Inst::kIdLdp:
	case a64::Inst::kIdStr_v:
	case a64::Inst::kIdStp_v:
	case a64::Inst::kIdLdr_v:
	case a64::Inst::kIdLdp_v:
		break;
	default:
		return nullptr;
	}
	const auto &place = instruction.op(last).as<a64::Mem>();
	return place.hasBaseReg() && place.baseId() == a64::Gp::kIdSp ? &place : nullptr;
}

/* Stores in the body are those of values: X29 and X30 hold such, too. */
inline bool is_frame_step(const asmjit::InstNode &instruction, bool is_in_body)
{
	using namespace asmjit;

	if (saved_at(instruction))
		return !is_in_body;
	return instruction.opCount() &&
	       (instruction.op(0) == a64::sp ||
		(instruction.id() == a64::Inst::kIdMov && instruction.op(1) == a64::sp));
}

/* One register of those that are saved `at_sp` or restored from there. */
inline void take_saved(const asmjit::Operand &reg, bool is_store, std::uint32_t at,
		       std::int32_t at_sp, jitsframe::FrameRows &rows)
{
	using namespace asmjit;

	if (reg == a64::x29)
		is_store ? rows.save_fp(at, at_sp) : rows.restore_fp(at);
	if (reg == a64::x30)
		is_store ? rows.save_ra(at, at_sp) : rows.restore_ra(at);
}

inline void take_saves(const asmjit::InstNode &instruction, const asmjit::a64::Mem &place,
		       std::uint32_t at, jitsframe::FrameRows &rows)
{
	using namespace asmjit;
	const auto id = instruction.id();
	const bool is_store = id == a64::Inst::kIdStr || id == a64::Inst::kIdStp;
	const bool is_vector = id != a64::Inst::kIdLdr && id != a64::Inst::kIdLdp && !is_store;
	const std::int32_t offset = place.offsetLo32();

	if (place.isPreIndex())
		rows.move_sp(at, offset);
	for (std::uint32_t i = 0; !is_vector && i + 1 < instruction.opCount(); i++)
		take_saved(instruction.op(i), is_store, at,
			   (place.isPreIndex() ? 0 : offset) + static_cast<std::int32_t>(i) * 8, rows);
	if (place.isPostIndex())
		rows.move_sp(at, offset);
}

/* `at`: the code offset behind it. False: none of those that asmjit emits. */
inline bool take_frame_step(const asmjit::InstNode &instruction, std::uint32_t at,
			    jitsframe::FrameRows &rows)
{
	using namespace asmjit;
	const Operand *op = instruction.operands();

	if (const a64::Mem *place = saved_at(instruction)) {
		take_saves(instruction, *place, at, rows);
		return true;
	}
	switch (instruction.id()) {
	case a64::Inst::kIdSub: /* sp, sp, n */
		rows.move_sp(at, -op[2].as<Imm>().valueAs<std::int32_t>());
		return true;
	case a64::Inst::kIdAdd:
		rows.move_sp(at, op[2].as<Imm>().valueAs<std::int32_t>());
		return true;
	case a64::Inst::kIdMov: /* x29, sp */
		rows.set_fp(at);
		return op[0] == a64::x29;
	default:
		return false;
	}
}

#endif
