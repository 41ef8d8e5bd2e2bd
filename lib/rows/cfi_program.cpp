// SPDX-License-Identifier: MIT
/* The instructions of CIEs and FDEs (DWARF 5, 6.4.2), executed to rows and gaps. */
#include <jitsframe/cfi.hpp>

#include "cfi_expression.hpp"
#include "cursor.hpp"
#include "dwarf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace jitsframe {

namespace {

using Base = Symbolic::Base;

/* How a register of the caller is found (6.4.1, "register rules"). */
struct RegisterRule {
	enum class How : std::uint8_t {
		unset,
		undefined,
		same,
		value, /* it is `value` */
		saved, /* it is what memory holds at `value` */
	};

	How how = How::unset;
	Symbolic value{};
};

struct CfaRule {
	enum class How : std::uint8_t { unset, symbolic, plt };

	How how = How::unset;
	bool adjustable = false; /* by def_cfa_offset and def_cfa_register */
	Symbolic value{};
	PltCfa plt{};
};

/* What SFrame tracks; the other registers have rules that nobody here needs. */
struct State {
	CfaRule cfa{};
	RegisterRule ra{}, fp{}, sp{};
	bool ra_signed = false;
	bool signed_with_address = false;
};

/* Compilers nest two at most. */
constexpr std::size_t max_remembered = 16;
/* The shared decoder's SFRAME_MAX_REGS. */
constexpr std::uint64_t max_registers = 64;

bool fits_offset(std::int64_t offset) noexcept
{
	return offset >= std::numeric_limits<std::int32_t>::min() &&
	       offset <= std::numeric_limits<std::int32_t>::max();
}

/* What `value` comes to as a rule; `unsayable` is why not, if it is the form that SFrame lacks. */
CfiReason rule_of(const Symbolic &value, CfiReason unsayable, Rule &rule) noexcept
{
	if (value.base == Base::other || value.base == Base::constant)
		return unsayable;
	if (!fits_offset(value.offset))
		return CfiReason::offset_range;
	if (value.base == Base::cfa) {
		if (!value.deref)
			return CfiReason::value_from_cfa;
		rule = Rule::at_cfa(static_cast<std::int32_t>(value.offset));
		return CfiReason::none;
	}
	if (value.reg >= max_registers)
		return CfiReason::register_number;
	rule = {Rule::Base::reg, value.deref, static_cast<std::uint16_t>(value.reg),
		static_cast<std::int32_t>(value.offset)};
	return CfiReason::none;
}

/* What memory holds at `address`. */
Symbolic loaded_from(Symbolic address) noexcept
{
	if (address.base == Base::other || address.deref)
		return {};
	address.deref = true;
	return address;
}

Symbolic value_of(const RegisterRule &rule) noexcept
{
	return rule.how == RegisterRule::How::saved ? loaded_from(rule.value) : rule.value;
}

CfiReason
lower_ra(const Abi &abi, std::uint64_t ra_column, const RegisterRule &ra, Row &row) noexcept
{
	if (ra.how == RegisterRule::How::value || ra.how == RegisterRule::How::saved)
		return rule_of(value_of(ra), CfiReason::ra_expression, row.ra);
	/* Without a link register there is nothing that the RA could still be in. */
	if (abi.fixed_ra_offset)
		return CfiReason::ra_unstated;
	return rule_of({Base::reg, false, ra_column, 0}, CfiReason::ra_expression, row.ra);
}

CfiReason lower_fp(const RegisterRule &fp, Row &row) noexcept
{
	using How = RegisterRule::How;

	switch (fp.how) {
	case How::undefined:
		return CfiReason::fp_undefined;
	case How::unset:
	case How::same:
		return CfiReason::none;
	case How::value:
	case How::saved:
		return rule_of(value_of(fp), CfiReason::fp_expression, row.fp);
	}
	return CfiReason::fp_undefined;
}

/* Does the rule for SP say what SFrame takes for granted? */
bool sp_is_cfa(const Abi &abi, const State &state) noexcept
{
	using How = RegisterRule::How;
	const Symbolic sp = {Base::reg, false, abi.sp_reg, 0}, cfa = {Base::cfa, false, 0, 0};

	switch (state.sp.how) {
	case How::unset:
		return true;
	case How::undefined:
		return false;
	case How::same:
		return state.cfa.value == sp;
	case How::value:
	case How::saved: {
		const Symbolic value = value_of(state.sp);

		return value == cfa || (value.base != Base::other && value == state.cfa.value);
	}
	}
	return false;
}

CfiReason lower(const Abi &abi, std::uint64_t ra_column, const State &state, Row &row) noexcept
{
	/* Nobody needs the CFA of a frame that nothing called. */
	if (state.ra.how == RegisterRule::How::undefined) {
		row.outermost = true;
		return CfiReason::none;
	}
	if (state.cfa.how != CfaRule::How::symbolic)
		return CfiReason::cfa_unstated;

	CfiReason reason = rule_of(state.cfa.value, CfiReason::cfa_expression, row.cfa);
	if (reason == CfiReason::none)
		reason = lower_ra(abi, ra_column, state.ra, row);
	if (reason == CfiReason::none)
		reason = lower_fp(state.fp, row);
	if (reason == CfiReason::none && !sp_is_cfa(abi, state))
		reason = CfiReason::sp_is_not_cfa;
	if (reason == CfiReason::none && state.signed_with_address)
		reason = CfiReason::signed_with_address;
	row.ra_signed = state.ra_signed;
	return reason;
}

} // namespace

/* One run through the instructions of a CIE and then of an FDE. */
class CfiProgram {
public:
	CfiProgram(const CfiSection &section, const CfiFunction &function, CfiRows &out) noexcept
		: section_(section), abi_(section.abi ? *section.abi : host_abi()),
		  function_(function), out_(out), at_(function.start)
	{
	}

	Error run() noexcept;

private:
	void run_block(Cursor &cursor, bool initial) noexcept;
	void instruction(Cursor &cursor, bool initial) noexcept;
	void cfa_instruction(Cursor &cursor, std::uint8_t opcode) noexcept;
	void register_instruction(Cursor &cursor, std::uint8_t opcode) noexcept;
	void advance_instruction(Cursor &cursor, std::uint8_t opcode, bool initial) noexcept;
	void other_instruction(Cursor &cursor, std::uint8_t opcode) noexcept;

	void advance(Cursor &cursor, std::uint64_t delta) noexcept;
	void advance_to(Cursor &cursor, std::uint64_t address) noexcept;
	void emit(std::uint64_t end) noexcept;
	void emit_plt(std::uint64_t size) noexcept;
	void define_cfa(std::uint64_t reg, std::int64_t offset) noexcept;
	void define_cfa_expression(Cursor &cursor) noexcept;
	void set(std::uint64_t reg, const RegisterRule &rule) noexcept;
	void set_expression(Cursor &cursor, std::uint64_t reg, RegisterRule::How how) noexcept;
	void restore(std::uint64_t reg) noexcept;
	void remember(Cursor &cursor) noexcept;
	void recall(Cursor &cursor) noexcept;
	[[nodiscard]] RegisterRule *tracked(State &state, std::uint64_t reg) const noexcept;
	[[nodiscard]] std::int64_t factored(std::int64_t offset) const noexcept;
	[[nodiscard]] bool is_aarch64() const noexcept { return abi_.arch == Arch::aarch64; }

	const CfiSection &section_;
	const Abi &abi_;
	const CfiFunction &function_;
	CfiRows &out_;
	std::uint64_t at_; /* the address that the state holds from */
	std::size_t instruction_ = 0; /* where the present one is */
	State state_{};
	State initial_{};
	std::array<State, max_remembered> remembered_{};
	std::size_t remembered_count_ = 0;
};

std::int64_t CfiProgram::factored(std::int64_t offset) const noexcept
{
	/* Wraps as DWARF's own arithmetic does; what is too large for a row is found there. */
	return static_cast<std::int64_t>(
		static_cast<std::uint64_t>(offset) *
		static_cast<std::uint64_t>(function_.common.data_alignment));
}

RegisterRule *CfiProgram::tracked(State &state, std::uint64_t reg) const noexcept
{
	if (reg == function_.common.ra_column)
		return &state.ra;
	if (reg == abi_.fp_reg)
		return &state.fp;
	return reg == abi_.sp_reg ? &state.sp : nullptr;
}

void CfiProgram::set(std::uint64_t reg, const RegisterRule &rule) noexcept
{
	if (RegisterRule *place = tracked(state_, reg))
		*place = rule;
}

void CfiProgram::restore(std::uint64_t reg) noexcept
{
	if (const RegisterRule *initial = tracked(initial_, reg))
		*tracked(state_, reg) = *initial;
	if (is_aarch64() && reg == dwarf::aarch64_ra_sign_state)
		state_.ra_signed = initial_.ra_signed;
}

void CfiProgram::define_cfa(std::uint64_t reg, std::int64_t offset) noexcept
{
	state_.cfa = {CfaRule::How::symbolic, true, {Base::reg, false, reg, offset}, {}};
}

void CfiProgram::define_cfa_expression(Cursor &cursor) noexcept
{
	Cursor expression = cursor.block(cursor.uleb128());
	PltCfa plt;

	if (!abi_.fixed_ra_offset || !is_plt_cfa(expression, abi_.ra_reg, plt)) {
		state_.cfa = {CfaRule::How::symbolic, false, evaluate(expression, false), {}};
		if (expression.failed())
			cursor.fail(expression.error().code, expression.error().why,
				    expression.error().at);
		return;
	}
	state_.cfa = {CfaRule::How::plt, false, {}, plt};
}

void CfiProgram::set_expression(Cursor &cursor, std::uint64_t reg, RegisterRule::How how) noexcept
{
	Cursor expression = cursor.block(cursor.uleb128());
	const Symbolic value = evaluate(expression, true);

	if (expression.failed())
		cursor.fail(expression.error().code, expression.error().why, expression.error().at);
	set(reg, {how, value});
	if (is_aarch64() && reg == dwarf::aarch64_ra_sign_state)
		state_.ra_signed = value.base == Base::constant && (value.offset & 1);
}

void CfiProgram::remember(Cursor &cursor) noexcept
{
	if (remembered_count_ == remembered_.size()) {
		cursor.fail(Code::unsupported,
			    "more states remembered than are kept (at the offset)", instruction_);
		return;
	}
	remembered_[remembered_count_++] = state_;
}

void CfiProgram::recall(Cursor &cursor) noexcept
{
	if (remembered_count_ == 0)
		cursor.fail(Code::malformed, "restore_state without remember_state (at the offset)",
			    instruction_);
	else
		state_ = remembered_[--remembered_count_];
}

/* The state is what holds up to `end`. */
void CfiProgram::emit(std::uint64_t end) noexcept
{
	const std::uint64_t last = std::min(end, function_.start + function_.size);

	if (last <= at_)
		return;
	if (state_.cfa.how == CfaRule::How::plt) {
		emit_plt(last - at_);
		return;
	}
	Row row;
	const CfiReason reason = lower(abi_, function_.common.ra_column, state_, row);
	out_.add(at_, last - at_, reason, row);
}

void CfiProgram::emit_plt(std::uint64_t size) noexcept
{
	const PltCfa &plt = state_.cfa.plt;
	const unsigned block = plt.mask + 1u;
	State state = state_;
	std::array<Row, 2> rows{};
	CfiReason reason = CfiReason::none;

	for (std::size_t i = 0; i < rows.size(); i++) {
		const std::int64_t pushed = i ? std::int64_t{1} << (plt.shift % 32) : 0;

		state.cfa = {CfaRule::How::symbolic,
			     false,
			     {Base::reg, false, plt.reg, plt.offset + pushed},
			     {}};
		rows[i].offset = i ? plt.push_end : 0;
		if (reason == CfiReason::none)
			reason = lower(abi_, function_.common.ra_column, state, rows[i]);
	}
	/* SFrame counts from the block's start, the expression from a multiple of its size. */
	if (block > std::numeric_limits<std::uint8_t>::max() || !std::has_single_bit(block) ||
	    at_ % block || plt.push_end == 0 || plt.shift > 31)
		reason = CfiReason::repeat_block;
	if (reason != CfiReason::none)
		out_.add(at_, size, reason, {});
	else
		out_.add_repeating(
			at_, size, static_cast<std::uint8_t>(block),
			std::span(rows).first(
				plt.push_end < std::min<std::uint64_t>(block, size) ? 2 : 1));
}

void CfiProgram::advance_to(Cursor &cursor, std::uint64_t address) noexcept
{
	if (address < at_) {
		cursor.fail(Code::malformed, "a location that goes back (at the offset)",
			    instruction_);
		return;
	}
	if (!cursor.failed())
		emit(address);
	at_ = address;
}

void CfiProgram::advance(Cursor &cursor, std::uint64_t delta) noexcept
{
	const std::uint64_t factor = function_.common.code_alignment;

	if (factor && delta > (std::numeric_limits<std::uint64_t>::max() - at_) / factor) {
		cursor.fail(Code::malformed, "a location past the last address (at the offset)",
			    instruction_);
		return;
	}
	advance_to(cursor, at_ + delta * factor);
}

void CfiProgram::advance_instruction(Cursor &cursor, std::uint8_t opcode, bool initial) noexcept
{
	if (initial) {
		cursor.fail(Code::malformed, "a CIE that advances the location (at the offset)",
			    instruction_);
		return;
	}
	switch (opcode) {
	case dwarf::cfa_set_loc:
		advance_to(cursor, read_pointer(cursor, function_.common.pointer_encoding, section_,
						function_.start));
		break;
	case dwarf::cfa_advance_loc1:
		advance(cursor, cursor.fixed(1));
		break;
	case dwarf::cfa_advance_loc2:
		advance(cursor, cursor.fixed(2));
		break;
	case dwarf::cfa_advance_loc4:
		advance(cursor, cursor.fixed(4));
		break;
	default: /* cfa_mips_advance_loc8 */
		advance(cursor, cursor.fixed(8));
		break;
	}
}

void CfiProgram::cfa_instruction(Cursor &cursor, std::uint8_t opcode) noexcept
{
	CfaRule &cfa = state_.cfa;
	const bool adjusts = opcode == dwarf::cfa_def_cfa_register ||
			     opcode == dwarf::cfa_def_cfa_offset ||
			     opcode == dwarf::cfa_def_cfa_offset_sf;

	if (adjusts && !cfa.adjustable)
		cursor.fail(Code::malformed,
			    "adjusts a CFA that is not register + n (at the offset)", instruction_);
	switch (opcode) {
	case dwarf::cfa_def_cfa: {
		const std::uint64_t reg = cursor.uleb128();

		define_cfa(reg, static_cast<std::int64_t>(cursor.uleb128()));
		break;
	}
	case dwarf::cfa_def_cfa_sf: {
		const std::uint64_t reg = cursor.uleb128();

		define_cfa(reg, factored(cursor.sleb128()));
		break;
	}
	case dwarf::cfa_def_cfa_register:
		cfa.value.reg = cursor.uleb128();
		break;
	case dwarf::cfa_def_cfa_offset:
		cfa.value.offset = static_cast<std::int64_t>(cursor.uleb128());
		break;
	case dwarf::cfa_def_cfa_offset_sf:
		cfa.value.offset = factored(cursor.sleb128());
		break;
	default: /* cfa_def_cfa_expression */
		define_cfa_expression(cursor);
		break;
	}
}

void CfiProgram::register_instruction(Cursor &cursor, std::uint8_t opcode) noexcept
{
	using How = RegisterRule::How;
	const std::uint64_t reg = cursor.uleb128();
	const auto cfa_plus = [](std::int64_t offset) {
		return Symbolic{Base::cfa, false, 0, offset};
	};
	const auto unsigned_factored = [&] {
		return factored(static_cast<std::int64_t>(cursor.uleb128()));
	};

	switch (opcode) {
	case dwarf::cfa_offset_extended:
		set(reg, {How::saved, cfa_plus(unsigned_factored())});
		break;
	case dwarf::cfa_offset_extended_sf:
		set(reg, {How::saved, cfa_plus(factored(cursor.sleb128()))});
		break;
	case dwarf::cfa_gnu_negative_offset_extended:
		set(reg, {How::saved,
			  cfa_plus(factored(-static_cast<std::int64_t>(
				  cursor.uleb128() & std::numeric_limits<std::int64_t>::max())))});
		break;
	case dwarf::cfa_val_offset:
		set(reg, {How::value, cfa_plus(unsigned_factored())});
		break;
	case dwarf::cfa_val_offset_sf:
		set(reg, {How::value, cfa_plus(factored(cursor.sleb128()))});
		break;
	case dwarf::cfa_restore_extended:
		restore(reg);
		break;
	case dwarf::cfa_undefined:
		set(reg, {How::undefined, {}});
		break;
	case dwarf::cfa_same_value:
		set(reg, {How::same, {}});
		break;
	case dwarf::cfa_register:
		set(reg, {How::value, {Base::reg, false, cursor.uleb128(), 0}});
		break;
	case dwarf::cfa_expression:
		set_expression(cursor, reg, How::saved);
		break;
	default: /* cfa_val_expression */
		set_expression(cursor, reg, How::value);
		break;
	}
}

void CfiProgram::other_instruction(Cursor &cursor, std::uint8_t opcode) noexcept
{
	switch (opcode) {
	case dwarf::cfa_nop:
		return;
	case dwarf::cfa_remember_state:
		remember(cursor);
		return;
	case dwarf::cfa_restore_state:
		recall(cursor);
		return;
	case dwarf::cfa_gnu_args_size: /* for landing pads only */
		(void)cursor.uleb128();
		return;
	case dwarf::cfa_aarch64_negate_ra_state:
		if (!is_aarch64())
			break; /* SPARC's window_save */
		state_.ra_signed = !state_.ra_signed;
		return;
	case dwarf::cfa_aarch64_negate_ra_state_with_pc:
		if (!is_aarch64())
			break;
		state_.ra_signed = state_.signed_with_address = !state_.ra_signed;
		return;
	default:
		break;
	}
	cursor.fail(Code::unsupported, "an unknown instruction (at its offset)", instruction_);
}

void CfiProgram::instruction(Cursor &cursor, bool initial) noexcept
{
	instruction_ = cursor.at();
	const std::uint8_t opcode = cursor.u8();
	const std::uint8_t operand = opcode & 0x3f;

	switch (opcode & 0xc0) {
	case dwarf::cfa_advance_loc:
		if (initial)
			advance_instruction(cursor, opcode, initial);
		else
			advance(cursor, operand);
		return;
	case dwarf::cfa_offset:
		set(operand,
		    {RegisterRule::How::saved,
		     {Base::cfa, false, 0, factored(static_cast<std::int64_t>(cursor.uleb128()))}});
		return;
	case dwarf::cfa_restore:
		restore(operand);
		return;
	default:
		break;
	}
	switch (opcode) {
	case dwarf::cfa_set_loc:
	case dwarf::cfa_advance_loc1:
	case dwarf::cfa_advance_loc2:
	case dwarf::cfa_advance_loc4:
	case dwarf::cfa_mips_advance_loc8:
		advance_instruction(cursor, opcode, initial);
		return;
	case dwarf::cfa_def_cfa:
	case dwarf::cfa_def_cfa_sf:
	case dwarf::cfa_def_cfa_register:
	case dwarf::cfa_def_cfa_offset:
	case dwarf::cfa_def_cfa_offset_sf:
	case dwarf::cfa_def_cfa_expression:
		cfa_instruction(cursor, opcode);
		return;
	case dwarf::cfa_offset_extended:
	case dwarf::cfa_offset_extended_sf:
	case dwarf::cfa_gnu_negative_offset_extended:
	case dwarf::cfa_val_offset:
	case dwarf::cfa_val_offset_sf:
	case dwarf::cfa_restore_extended:
	case dwarf::cfa_undefined:
	case dwarf::cfa_same_value:
	case dwarf::cfa_register:
	case dwarf::cfa_expression:
	case dwarf::cfa_val_expression:
		register_instruction(cursor, opcode);
		return;
	default:
		other_instruction(cursor, opcode);
		return;
	}
}

void CfiProgram::run_block(Cursor &cursor, bool initial) noexcept
{
	while (cursor.left())
		instruction(cursor, initial);
}

Error CfiProgram::run() noexcept
{
	const CfiCommon &common = function_.common;
	Cursor initial(section_.bytes, common.program, common.end);

	run_block(initial, true);
	if (initial.failed())
		return initial.error();
	initial_ = state_;

	Cursor cursor(section_.bytes, function_.program, function_.end);
	run_block(cursor, false);
	if (cursor.failed())
		return cursor.error();
	emit(function_.start + function_.size);
	return {};
}

/* What comes of it. */

namespace {

bool same_frame(const Row &a, Row b) noexcept
{
	b.offset = a.offset;
	return a == b;
}

Error broken(Code code, const char *why, std::size_t at) noexcept
{
	return {code, 0, "read CFI", why, at};
}

/* Fields that a caller may have made up himself. */
Error check_function(const CfiSection &section, const CfiFunction &function) noexcept
{
	const std::size_t bytes = section.bytes.size();

	if (function.program > function.end || function.end > bytes ||
	    function.common.program > function.common.end || function.common.end > bytes)
		return broken(Code::invalid_argument, "not an FDE of this section", function.at);
	if (function.size > std::numeric_limits<std::uint32_t>::max())
		return broken(Code::unsupported,
			      "a function of more than 4 GiB (at the FDE's offset)", function.at);
	if (function.size > -function.start - 1)
		return broken(Code::malformed, "code past the last address (at the FDE's offset)",
			      function.at);
	return {};
}

} // namespace

void CfiRows::clear() noexcept
{
	rows_.clear();
	first_.clear();
	parts_.clear();
}

void CfiRows::add(std::uint64_t start, std::uint64_t size, CfiReason reason, const Row &row)
{
	const bool goes_on = !parts_.empty() && parts_.back().reason == reason &&
			     !parts_.back().rows.repeat_block;

	if (!goes_on) {
		parts_.push_back({.start = start, .size = 0, .reason = reason, .rows = {}});
		first_.push_back(rows_.size());
	}
	CfiPart &part = parts_.back();
	if (reason == CfiReason::none && (!goes_on || !same_frame(rows_.back(), row))) {
		rows_.push_back(row);
		rows_.back().offset = part.size;
	}
	part.size += static_cast<std::uint32_t>(size);
}

void CfiRows::add_repeating(std::uint64_t start, std::uint64_t size, std::uint8_t block,
			    std::span<const Row> rows)
{
	parts_.push_back({.start = start,
			  .size = static_cast<std::uint32_t>(size),
			  .reason = CfiReason::none,
			  .rows = {{}, false, false, block}});
	first_.push_back(rows_.size());
	rows_.insert(rows_.end(), rows.begin(), rows.end());
}

/* Only now do the rows lie still. */
void CfiRows::finish(const CfiCommon &common) noexcept
{
	first_.push_back(rows_.size());
	for (std::size_t i = 0; i < parts_.size(); i++) {
		FunctionRows &rows = parts_[i].rows;

		rows.rows =
			std::span<const Row>(rows_).subspan(first_[i], first_[i + 1] - first_[i]);
		rows.signal = common.signal;
		rows.pauth_key_b = common.pauth_key_b;
	}
}

Error CfiRows::run(const CfiSection &section, const CfiFunction &function) noexcept
{
	clear();
	if (Error error = check_function(section, function))
		return error;
	if (Error error = CfiProgram(section, function, *this).run()) {
		clear();
		return error;
	}
	finish(function.common);
	return {};
}

} // namespace jitsframe
