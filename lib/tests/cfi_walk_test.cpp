// SPDX-License-Identifier: MIT
/*
 * A walk by the rows that the library makes of the .eh_frame of this very process, through code of the
 * test, of libc and of libstdc++ with and without frame pointers, is libgcc's walk by that .eh_frame.
 */
#include "registers.hpp"

#include <jitsframe/cfi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <alloca.h>
#include <elf.h>
#include <link.h>
#include <unwind.h>

using namespace jitsframe;

namespace {

struct Known {
	std::uint64_t end;
	bool signal;
	std::vector<Row> rows;
};

/* By start. */
using Index = std::map<std::uint64_t, Known>;

/* LSB 5, "Exception Frame Header"; linkers write the pointer as four bytes that count from themselves. */
struct EhFrameHeader {
	std::uint8_t version, pointer_encoding, count_encoding, table_encoding;
	std::int32_t pointer;
};

void add_parts(const CfiRows &rows, Index &index)
{
	for (const CfiPart &part : rows.parts())
		if (part.reason == CfiReason::none && !part.rows.repeat_block)
			index[part.start] = {part.start + part.size,
					     part.rows.signal,
					     {part.rows.rows.begin(), part.rows.rows.end()}};
}

/* Up to its terminator, or to the end of the segment. */
void add_section(std::uint64_t begin, std::uint64_t end, Index &index)
{
	CfiSection section;
	CfiRows rows;

	section.bytes = {reinterpret_cast<const std::byte *>(begin), end - begin};
	section.address = begin;
	CfiReader reader(section);
	while (reader.next()) {
		const auto function = reader.function();

		if (function && !rows.run(section, *function))
			add_parts(rows, index);
	}
}

int add_object(dl_phdr_info *object, std::size_t, void *index)
{
	const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
	const auto header = std::find_if(headers.begin(), headers.end(), [](const auto &one) {
		return one.p_type == PT_GNU_EH_FRAME;
	});
	if (header == headers.end())
		return 0;

	const std::uint64_t at = object->dlpi_addr + header->p_vaddr;
	EhFrameHeader found;
	std::memcpy(&found, reinterpret_cast<const void *>(at), sizeof(found));
	if (found.version != 1 || found.pointer_encoding != 0x1b)
		return 0;
	const std::uint64_t begin =
		at + 4 + static_cast<std::uint64_t>(std::int64_t{found.pointer});
	for (const auto &one : headers)
		if (one.p_type == PT_LOAD && begin >= object->dlpi_addr + one.p_vaddr &&
		    begin < object->dlpi_addr + one.p_vaddr + one.p_filesz)
			add_section(begin, object->dlpi_addr + one.p_vaddr + one.p_filesz,
				    *static_cast<Index *>(index));
	return 0;
}

const Index &index_of_process()
{
	static const Index index = [] {
		Index made;

		dl_iterate_phdr(add_object, &made);
		return made;
	}();
	return index;
}

std::uint64_t loaded(std::uint64_t at)
{
	std::uint64_t value;

	std::memcpy(&value, reinterpret_cast<const void *>(at), sizeof(value));
	return value;
}

std::optional<std::uint64_t> register_of(const Registers &registers, std::uint16_t reg)
{
	const Abi &abi = host_abi();

	if (reg == abi.sp_reg)
		return registers.sp;
	if (reg == abi.fp_reg)
		return registers.fp;
	if (!abi.fixed_ra_offset && reg == abi.ra_reg)
		return registers.lr;
	return std::nullopt;
}

std::optional<std::uint64_t>
applied(const Rule &rule, const Registers &registers, std::uint64_t cfa, std::uint64_t own)
{
	if (rule.base == Rule::Base::none)
		return own;
	const auto base = rule.base == Rule::Base::cfa ? std::optional(cfa)
						       : register_of(registers, rule.reg);
	if (!base)
		return std::nullopt;
	const std::uint64_t value = *base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
	return rule.deref ? loaded(value) : value;
}

const Row *row_for(std::uint64_t pc)
{
	const Index &index = index_of_process();
	auto known = index.upper_bound(pc);

	if (known == index.begin() || pc >= (--known)->second.end)
		return nullptr;
	const Row *found = nullptr;
	for (const Row &row : known->second.rows)
		if (row.offset <= pc - known->first)
			found = &row;
	return found;
}

/* To the caller; false at the end, or where this walk knows no more. */
bool step(Registers &registers, bool is_topmost)
{
	const Row *row = row_for(is_topmost ? registers.pc : registers.pc - 1);

	if (!row || row->outermost)
		return false;
	const auto cfa = applied(row->cfa, registers, 0, 0);
	if (!cfa)
		return false;
	const Abi &abi = host_abi();
	const std::uint64_t own_ra =
		abi.fixed_ra_offset
			? loaded(*cfa +
				 static_cast<std::uint64_t>(std::int64_t{abi.fixed_ra_offset}))
			: registers.lr;
	const auto ra = applied(row->ra, registers, *cfa, own_ra);
	const auto fp = applied(row->fp, registers, *cfa, registers.fp);
	if (!ra || !fp || *ra == 0)
		return false;
	const std::uint64_t pc = without_signature(*ra);
	registers = {pc, *cfa, *fp, pc};
	return true;
}

constexpr std::size_t most = 64;

struct Stack {
	std::array<std::uint64_t, most> pcs{};
	std::size_t count = 0;

	void add(std::uint64_t pc)
	{
		if (count < most)
			pcs[count++] = pc;
	}
};

_Unwind_Reason_Code add_frame(_Unwind_Context *context, void *stack)
{
	static_cast<Stack *>(stack)->add(_Unwind_GetIP(context));
	return _URC_NO_REASON;
}

int walks = 0;
std::size_t deepest = 0;

/* From here to main, by both; the frames of main and of what called it are the last that agree. */
[[gnu::noinline]] void expect_same_walk()
{
	Stack theirs, ours;
	ucontext_t context;

	_Unwind_Backtrace(add_frame, &theirs);
	ASSERT_EQ(getcontext(&context), 0);
	Registers registers = registers_of(context);
	bool is_topmost = true;
	do
		ours.add(registers.pc);
	while (step(registers, std::exchange(is_topmost, false)) && ours.count < most);

	/* The first is this function, where each was when it asked. */
	ASSERT_GT(ours.count, 3u);
	const std::size_t count = std::min(ours.count, theirs.count);
	for (std::size_t i = 1; i < count; i++)
		EXPECT_EQ(ours.pcs[i], theirs.pcs[i]) << "frame " << i << " of " << count;
	/* libgcc may count what called the outermost frame. */
	EXPECT_LE(theirs.count - count, 1u);
	EXPECT_EQ(ours.count, count);
	walks++;
	deepest = std::max(deepest, count);
}

int compare(const void *a, const void *b)
{
	const int one = *static_cast<const int *>(a), other = *static_cast<const int *>(b);

	expect_same_walk();
	return one < other ? -1 : one > other;
}

TEST(CfiWalk, FromHere)
{
	expect_same_walk();
	EXPECT_GT(walks, 0);
}

TEST(CfiWalk, ThroughLibc)
{
	int values[] = {5, 1, 4, 2, 3};
	const int before = walks;

	std::qsort(values, std::size(values), sizeof(values[0]), compare);
	int wanted = 3;
	(void)std::bsearch(&wanted, values, std::size(values), sizeof(values[0]), compare);
	EXPECT_GT(walks, before + 4);
}

[[gnu::noinline]] int with_alloca(int depth)
{
	auto *memory =
		static_cast<volatile char *>(alloca(static_cast<std::size_t>(depth) * 100 + 1));

	memory[0] = static_cast<char>(depth);
	if (depth)
		return with_alloca(depth - 1) + memory[0];
	expect_same_walk();
	return memory[0];
}

[[gnu::noinline]] int realigned(int depth)
{
	alignas(128) volatile char buffer[256];

	buffer[128] = static_cast<char>(depth);
	if (depth)
		return realigned(depth - 1) + buffer[128];
	return with_alloca(3) + buffer[128];
}

TEST(CfiWalk, ThroughAllocaAndRealignedStacks)
{
	EXPECT_EQ(realigned(4), 4 + 3 + 2 + 1 + 3 + 2 + 1);
	EXPECT_GT(deepest, 9u);
}

struct Unwound {
	~Unwound() { expect_same_walk(); }
};

[[gnu::noinline]] void throws(int depth)
{
	const Unwound unwound;

	if (depth)
		throws(depth - 1);
	else
		throw depth;
}

/* Destructors run from landing pads, in cold parts of the functions. */
TEST(CfiWalk, FromLandingPads)
{
	const int before = walks;

	EXPECT_THROW(throws(3), int);
	EXPECT_EQ(walks, before + 4);
}

} // namespace
