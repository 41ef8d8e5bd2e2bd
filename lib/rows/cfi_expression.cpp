// SPDX-License-Identifier: MIT
#include "cfi_expression.hpp"

#include "dwarf.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace jitsframe {

namespace {

using Base = Symbolic::Base;

constexpr std::size_t word_bytes = 8;

/* As DWARF has it: addresses wrap. */
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) noexcept
{
	return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
					 static_cast<std::uint64_t>(b));
}

std::int64_t wrapping_negate(std::int64_t a) noexcept
{
	return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
}

Symbolic constant(std::int64_t value) noexcept
{
	return {Base::constant, false, 0, value};
}

Symbolic plus_constant(Symbolic value, std::int64_t n) noexcept
{
	if (n == 0)
		return value;
	if (value.base == Base::other || value.deref)
		return {};
	value.offset = wrapping_add(value.offset, n);
	return value;
}

Symbolic sum(const Symbolic &a, const Symbolic &b) noexcept
{
	if (a.base == Base::constant && !a.deref)
		return plus_constant(b, a.offset);
	if (b.base == Base::constant && !b.deref)
		return plus_constant(a, b.offset);
	return {};
}

Symbolic difference(const Symbolic &a, const Symbolic &b) noexcept
{
	if (b.base != Base::constant || b.deref)
		return {};
	return plus_constant(a, wrapping_negate(b.offset));
}

Symbolic loaded(Symbolic address) noexcept
{
	if (address.base == Base::other || address.deref)
		return {};
	address.deref = true;
	return address;
}

/* DWARF's stack of values. Too deep is no error, but more than anything here can be. */
class Stack {
public:
	explicit Stack(Cursor &expression) noexcept : expression_(expression) {}

	void push(const Symbolic &value) noexcept
	{
		if (depth_ == values_.size())
			overflown_ = true;
		else
			values_[depth_++] = value;
	}

	Symbolic pop() noexcept
	{
		if (depth_)
			return values_[--depth_];
		expression_.fail(Code::malformed,
				 "an expression pops what is not there (behind it)",
				 expression_.at());
		return {};
	}

	[[nodiscard]] bool overflown() const noexcept { return overflown_; }

private:
	Cursor &expression_;
	std::array<Symbolic, 16> values_{};
	std::size_t depth_ = 0;
	bool overflown_ = false;
};

/* Does `op` push what the bytes behind it say, and nothing else? */
bool push_literal(Cursor &expression, std::uint8_t op, Stack &stack) noexcept
{
	if (op >= dwarf::op_lit0 && op <= dwarf::op_lit31) {
		stack.push(constant(op - dwarf::op_lit0));
		return true;
	}
	if (op >= dwarf::op_breg0 && op <= dwarf::op_breg31) {
		stack.push({Base::reg, false, std::uint64_t{op} - dwarf::op_breg0,
			    expression.sleb128()});
		return true;
	}
	switch (op) {
	case dwarf::op_bregx: {
		const std::uint64_t reg = expression.uleb128();

		stack.push({Base::reg, false, reg, expression.sleb128()});
		return true;
	}
	case dwarf::op_const1u:
	case dwarf::op_const2u:
	case dwarf::op_const4u:
	case dwarf::op_const8u:
		stack.push(constant(static_cast<std::int64_t>(
			expression.fixed(std::size_t{1} << (op - dwarf::op_const1u) / 2))));
		return true;
	case dwarf::op_const1s:
	case dwarf::op_const2s:
	case dwarf::op_const4s:
	case dwarf::op_const8s:
		stack.push(constant(
			expression.signed_fixed(std::size_t{1} << (op - dwarf::op_const1s) / 2)));
		return true;
	case dwarf::op_addr:
		stack.push(constant(static_cast<std::int64_t>(expression.fixed(word_bytes))));
		return true;
	case dwarf::op_constu:
		stack.push(constant(static_cast<std::int64_t>(expression.uleb128())));
		return true;
	case dwarf::op_consts:
		stack.push(constant(expression.sleb128()));
		return true;
	default:
		return false;
	}
}

/* One operation; false if it is one that no rule can come of. */
bool execute(Cursor &expression, std::uint8_t op, Stack &stack) noexcept
{
	if (push_literal(expression, op, stack))
		return true;
	switch (op) {
	case dwarf::op_nop:
		return true;
	case dwarf::op_deref:
		stack.push(loaded(stack.pop()));
		return true;
	case dwarf::op_plus_uconst: {
		const auto n = static_cast<std::int64_t>(expression.uleb128());

		stack.push(plus_constant(stack.pop(), n));
		return true;
	}
	case dwarf::op_plus: {
		const Symbolic b = stack.pop(), a = stack.pop();

		stack.push(sum(a, b));
		return true;
	}
	case dwarf::op_minus: {
		const Symbolic b = stack.pop(), a = stack.pop();

		stack.push(difference(a, b));
		return true;
	}
	case dwarf::op_dup: {
		const Symbolic a = stack.pop();

		stack.push(a);
		stack.push(a);
		return true;
	}
	case dwarf::op_drop:
		(void)stack.pop();
		return true;
	case dwarf::op_over: {
		const Symbolic b = stack.pop(), a = stack.pop();

		for (const Symbolic &value : {a, b, a})
			stack.push(value);
		return true;
	}
	case dwarf::op_swap: {
		const Symbolic b = stack.pop(), a = stack.pop();

		stack.push(b);
		stack.push(a);
		return true;
	}
	default:
		return false;
	}
}

/* A small number that is written as a literal or in one byte. */
bool read_small(Cursor &expression, std::uint8_t &value) noexcept
{
	const std::uint8_t op = expression.u8();

	if (op == dwarf::op_const1u) {
		value = expression.u8();
		return true;
	}
	value = static_cast<std::uint8_t>(op - dwarf::op_lit0);
	return op >= dwarf::op_lit0 && op <= dwarf::op_lit31;
}

bool read_register(Cursor &expression, std::uint64_t &reg, std::int64_t &offset) noexcept
{
	const std::uint8_t op = expression.u8();

	if (op < dwarf::op_breg0 || op > dwarf::op_breg31)
		return false;
	reg = std::uint64_t{op} - dwarf::op_breg0;
	offset = expression.sleb128();
	return true;
}

} // namespace

Symbolic evaluate(Cursor &expression, bool with_cfa) noexcept
{
	Stack stack(expression);

	if (with_cfa)
		stack.push({Base::cfa, false, 0, 0});
	while (expression.left())
		if (!execute(expression, expression.u8(), stack) || stack.overflown())
			return {};
	return stack.pop();
}

bool is_plt_cfa(Cursor expression, std::uint64_t pc_column, PltCfa &plt) noexcept
{
	std::uint64_t pc = 0;
	std::int64_t pc_offset = 0;
	const auto is = [&expression](std::uint8_t op) { return expression.u8() == op; };

	return read_register(expression, plt.reg, plt.offset) &&
	       read_register(expression, pc, pc_offset) && pc == pc_column && pc_offset == 0 &&
	       read_small(expression, plt.mask) && is(dwarf::op_and) &&
	       read_small(expression, plt.push_end) && is(dwarf::op_ge) &&
	       read_small(expression, plt.shift) && is(dwarf::op_shl) && is(dwarf::op_plus) &&
	       !expression.failed() && expression.left() == 0;
}

} // namespace jitsframe
