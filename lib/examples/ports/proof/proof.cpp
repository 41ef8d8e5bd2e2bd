// SPDX-License-Identifier: MIT
#include "proof.hpp"

#include "returns.hpp"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>

#include <unwind.h>

using namespace jitsframe;

namespace proof {

namespace {

int failures = 0;
int stacks = 0;
/* Of the enter() that runs. */
std::uint64_t entered_fp = 0;

constexpr std::size_t most_frames = 64;

std::uint64_t loaded(std::uint64_t at)
{
	std::uint64_t value;

	std::memcpy(&value, reinterpret_cast<const void *>(at), sizeof(value));
	return value;
}

/* Of a frame that is in a call: only SP and FP are known. */
std::optional<std::uint64_t> applied(const Rule &rule, const Place &place, std::uint64_t cfa)
{
	const Abi &abi = host_abi();
	std::uint64_t base = cfa;

	if (rule.base == Rule::Base::reg) {
		if (rule.reg != abi.sp_reg && rule.reg != abi.fp_reg)
			return std::nullopt;
		base = rule.reg == abi.sp_reg ? place.sp : place.fp;
	}
	const std::uint64_t value = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
	return rule.deref ? loaded(value) : value;
}

std::optional<std::uint64_t> return_address(const Row &row, const Place &place, std::uint64_t cfa)
{
	const std::int32_t fixed = host_abi().fixed_ra_offset;

	if (row.ra.base != Rule::Base::none)
		return applied(row.ra, place, cfa);
	/* It cannot be in the link register of a frame that is in a call. */
	return fixed ? applied(Rule::at_cfa(fixed), place, cfa) : std::nullopt;
}

/* The caller's place; nothing if the rows lead nowhere. */
std::optional<Place> step(const Row &row, const Place &place)
{
	const auto cfa = row.outermost ? std::nullopt : applied(row.cfa, place, 0);
	if (!cfa || *cfa <= place.sp)
		return std::nullopt;
	const auto pc = return_address(row, place, *cfa);
	const auto fp = row.fp.base == Rule::Base::none ? place.fp : applied(row.fp, place, *cfa);
	if (!pc || !fp)
		return std::nullopt;
	return Place{*pc, *cfa, *fp};
}

std::string name_of(std::uint64_t start, std::span<const Function> functions)
{
	for (const Function &function : functions)
		if (function.start == start)
			return function.name;
	return "?";
}

bool is_in_enter(const Place &place)
{
	return _Unwind_FindEnclosingFunction(reinterpret_cast<void *>(place.pc - 1)) ==
		       reinterpret_cast<void *>(enter) &&
	       place.fp == entered_fp;
}

/*
 * The frame is the ABI's at this PC. Where it returns, the caller's FP is in its
 * register and, right below the CFA, in memory: LLVM goes on naming that.
 */
void expect_entry_frame(const Lookup &lookup, const Function &function, std::uint64_t pc)
{
	const Abi &abi = host_abi();
	const auto found = lookup(pc);

	expect(found && found->row.cfa == Rule::in_reg(abi.sp_reg, abi.entry_cfa_offset) &&
		       found->row.ra.base == Rule::Base::none &&
		       (found->row.fp.base == Rule::Base::none || pc != function.start),
	       (function.name + " has the ABI's frame where it begins and returns").c_str());
}

} // namespace

[[gnu::noinline]] std::int64_t enter(std::uint64_t entry, std::int64_t n)
{
	entered_fp = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
	std::int64_t result = reinterpret_cast<std::int64_t (*)(std::int64_t)>(entry)(n);
	/* So that the call is not the last thing that is done here. */
	asm volatile("" : "+r"(result));
	return result;
}

void expect_stack(const Place &from, const Lookup &lookup, std::span<const Function> functions,
		  const std::vector<std::string> &names)
{
	std::optional<Place> place = from;
	std::vector<std::string> passed;

	while (place && passed.size() < most_frames) {
		const auto found = lookup(place->pc - 1);
		if (!found)
			break;
		passed.push_back(name_of(found->start, functions));
		place = step(found->row, *place);
	}

	std::string text;
	for (const std::string &name : passed)
		text += name + " < ";
	std::printf("# stack: %s%s\n", text.c_str(), place && is_in_enter(*place) ? "enter" : "?");
	expect(passed == names, "the stack is the chain of calls");
	expect(place && is_in_enter(*place), "the stack arrives where JIT code was entered");
	stacks++;
}

void expect_known(const Lookup &lookup, const Function &function)
{
	const std::uint64_t end = function.start + function.size;
	bool is_all_its = true;

	for (std::uint64_t pc = function.start; pc < end; pc++) {
		const auto found = lookup(pc);

		is_all_its = is_all_its && found && found->start == function.start &&
			     found->size == function.size;
	}
	expect(is_all_its, (function.name + " is known, every byte of it").c_str());
	for (const std::uint64_t beside : {function.start - 1, end}) {
		const auto found = lookup(beside);

		expect(!found || found->start != function.start,
		       (function.name + " is not known beside itself").c_str());
	}
	expect(is_return(end - return_bytes), (function.name + " ends by returning").c_str());
	expect_entry_frame(lookup, function, function.start);
	expect_entry_frame(lookup, function, end - return_bytes);
}

void expect_fp_used(const Lookup &lookup, const Function &function)
{
	const std::uint16_t fp = host_abi().fp_reg;
	bool is_saved = false, is_base = false;

	for (std::uint64_t pc = function.start; pc < function.start + function.size; pc++) {
		const auto found = lookup(pc);

		is_saved = is_saved || (found && found->row.fp.base != Rule::Base::none);
		is_base = is_base || !found || found->row.cfa.reg == fp;
	}
	expect(is_saved && !is_base,
	       (function.name + " has the frame pointer for a register like any other").c_str());
}

void expect_gone(const Lookup &lookup, const Function &function)
{
	bool is_gone = true;

	for (std::uint64_t pc = function.start; pc < function.start + function.size; pc++) {
		const auto found = lookup(pc);

		is_gone = is_gone && !found && found.error().code == Code::not_found;
	}
	expect(is_gone, (function.name + " is gone").c_str());
}

void expect(bool holds, const char *what)
{
	std::printf("%s - %s\n", holds ? "ok" : "not ok", what);
	failures += !holds;
}

int verdict()
{
	expect(stacks > 0, "a stack was walked");
	return failures ? 1 : 0;
}

} // namespace proof
