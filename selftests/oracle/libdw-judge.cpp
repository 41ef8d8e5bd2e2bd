// SPDX-License-Identifier: MIT
/*
 * libdw-judge FILE...: at every place in a file's code where libdw's account of the frame changes, or ours does,
 * do both say the same of CFA, RA and FP? And is every gap of ours one where SFrame has no words for what libdw says?
 *
 * Prints what is described, and why the rest is not. Exit 1: a difference, a needless gap, or too little described.
 */
#include "elf_file.hpp"

#include <jitsframe/cfi.hpp>

#include <array>
#include <cinttypes>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <vector>

#include <dwarf.h>
#include <elfutils/libdw.h>

using namespace jitsframe;

namespace {

constexpr double least_percent = 99.5;
constexpr std::uint64_t most_printed = 20;

/* base + offset, and if deref what memory holds there; as libdw's operations come to. */
struct Value {
	enum Base { other, number, cfa, reg } base = other;
	bool deref = false;
	unsigned reg_number = 0;
	std::int64_t offset = 0;

	bool operator==(const Value &) const = default;
};

Value number(std::int64_t n)
{
	return {Value::number, false, 0, n};
}

Value binary(unsigned atom, const Value &a, const Value &b)
{
	if (b.base != Value::number || b.deref || a.deref || a.base == Value::other)
		return {};
	Value sum = a;
	if (atom == DW_OP_plus || atom == DW_OP_minus) {
		sum.offset += atom == DW_OP_plus ? b.offset : -b.offset;
		return sum;
	}
	if (a.base != Value::number)
		return {};
	switch (atom) {
	case DW_OP_and:
		return number(a.offset & b.offset);
	case DW_OP_ge:
		return number(a.offset >= b.offset);
	case DW_OP_shl:
		return number(a.offset << b.offset);
	default:
		return {};
	}
}

/* The last value of the operations, which libdw means as a place unless they end in DW_OP_stack_value. */
Value evaluate(const Abi &abi, std::uint64_t pc, const Dwarf_Op *ops, std::size_t count, bool is_place)
{
	std::vector<Value> stack;
	const auto pop = [&stack] {
		const Value top = stack.empty() ? Value{} : stack.back();
		if (!stack.empty())
			stack.pop_back();
		return top;
	};
	const auto of_register = [&](unsigned reg, std::int64_t offset) {
		const bool is_pc = abi.arch == Arch::x86_64 && reg == x86_64::return_address;
		return is_pc ? number(static_cast<std::int64_t>(pc) + offset) : Value{Value::reg, false, reg, offset};
	};

	for (std::size_t i = 0; i < count; i++) {
		const unsigned atom = ops[i].atom;
		const auto n = static_cast<std::int64_t>(ops[i].number);

		if (atom == DW_OP_regx || (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)) {
			stack.push_back(of_register(atom == DW_OP_regx ? static_cast<unsigned>(n) : atom - DW_OP_reg0, 0));
			is_place = false;
		} else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
			stack.push_back(of_register(atom - DW_OP_breg0, n));
		} else if (atom == DW_OP_bregx) {
			stack.push_back(of_register(static_cast<unsigned>(n), static_cast<std::int64_t>(ops[i].number2)));
		} else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			stack.push_back(number(atom - DW_OP_lit0));
		} else if (atom == DW_OP_call_frame_cfa) {
			stack.push_back({Value::cfa, false, 0, 0});
		} else if (atom == DW_OP_plus_uconst) {
			stack.push_back(binary(DW_OP_plus, pop(), number(n)));
		} else if (atom == DW_OP_deref) {
			Value top = pop();
			if (top.deref)
				top = {};
			top.deref = true;
			stack.push_back(top);
		} else if (atom == DW_OP_stack_value) {
			is_place = false;
		} else if (atom == DW_OP_plus || atom == DW_OP_minus || atom == DW_OP_and || atom == DW_OP_ge || atom == DW_OP_shl) {
			const Value b = pop();
			stack.push_back(binary(atom, pop(), b));
		} else {
			return {};
		}
	}
	Value top = pop();
	if (is_place) {
		if (top.deref || top.base == Value::other)
			return {};
		top.deref = true;
	}
	return top;
}

struct Frame {
	Value cfa, ra, fp, sp;
	bool outermost = false;
	bool fp_undefined = false;
	std::uint64_t end = 0; /* where the next one begins */
};

Value register_value(const Abi &abi, Dwarf_Frame *frame, std::uint64_t pc, unsigned reg, bool &is_undefined)
{
	Dwarf_Op memory[3], *ops = nullptr;
	std::size_t count = 0;

	is_undefined = false;
	if (dwarf_frame_register(frame, static_cast<int>(reg), memory, &ops, &count) != 0)
		return {};
	if (count == 0) {
		is_undefined = ops == memory;
		return {Value::reg, false, reg, 0};
	}
	return evaluate(abi, pc, ops, count, true);
}

std::optional<Frame> frame_at(const Abi &abi, Dwarf_CFI *cfi, std::uint64_t pc)
{
	Dwarf_Frame *raw = nullptr;
	Dwarf_Addr start, end;
	Dwarf_Op *ops = nullptr;
	std::size_t count = 0;
	bool signal, ignored;
	Frame frame;

	if (dwarf_cfi_addrframe(cfi, pc, &raw) != 0)
		return std::nullopt;
	const int ra_column = dwarf_frame_info(raw, &start, &end, &signal);
	if (ra_column >= 0 && dwarf_frame_cfa(raw, &ops, &count) == 0) {
		frame.end = end;
		frame.cfa = evaluate(abi, pc, ops, count, false);
		frame.ra = register_value(abi, raw, pc, static_cast<unsigned>(ra_column), frame.outermost);
		/* A column of the code's own, without a rule: libdw cannot tell that from "undefined"; libgcc goes on with it. */
		if (frame.outermost && ra_column != abi.ra_reg) {
			frame.outermost = false;
			frame.ra = {Value::reg, false, static_cast<unsigned>(ra_column), 0};
		}
		frame.fp = register_value(abi, raw, pc, abi.fp_reg, frame.fp_undefined);
		frame.sp = register_value(abi, raw, pc, abi.sp_reg, ignored);
	}
	std::free(raw);
	return ra_column >= 0 ? std::optional(frame) : std::nullopt;
}

/* Ours in the same words. `own` is what no rule means. */
Value value_of(const Rule &rule, const Value &own)
{
	switch (rule.base) {
	case Rule::Base::cfa:
		return {Value::cfa, rule.deref, 0, rule.offset};
	case Rule::Base::reg:
		return {Value::reg, rule.deref, rule.reg, rule.offset};
	default:
		return own;
	}
}

bool agrees(const Abi &abi, const Row &row, const Frame &frame)
{
	const Value own_ra = abi.fixed_ra_offset ? Value{Value::cfa, true, 0, abi.fixed_ra_offset} : Value{Value::reg, false, abi.ra_reg, 0};
	const Value own_fp = {Value::reg, false, abi.fp_reg, 0};

	if (row.outermost || frame.outermost)
		return row.outermost && frame.outermost;
	return !frame.fp_undefined && value_of(row.cfa, {}) == frame.cfa && value_of(row.ra, own_ra) == frame.ra &&
	       value_of(row.fp, own_fp) == frame.fp;
}

bool is_sayable(const Abi &abi, const Frame &frame)
{
	const auto is_rule = [](const Value &value) {
		return (value.base == Value::cfa && value.deref) || value.base == Value::reg;
	};
	const Value cfa = {Value::cfa, false, 0, 0}, sp = {Value::reg, false, abi.sp_reg, 0};

	if (frame.outermost)
		return true;
	return frame.cfa.base == Value::reg && is_rule(frame.ra) && !frame.fp_undefined && is_rule(frame.fp) &&
	       (frame.sp == cfa || frame.sp == frame.cfa || frame.sp == sp);
}

struct Verdict {
	std::uint64_t fdes = 0, places = 0, wrong = 0;
	std::array<std::uint64_t, cfi_reasons> bytes{};

	void complain(const char *what, std::uint64_t pc)
	{
		if (wrong++ < most_printed)
			std::printf("  %s at 0x%" PRIx64 "\n", what, pc);
	}
};

/* The row at `pc`, and where the next one begins. */
const Row *row_at(const CfiPart &part, std::uint64_t pc, std::uint64_t &end)
{
	const std::uint64_t at = pc - part.start;
	const std::uint64_t block = part.rows.repeat_block ? part.rows.repeat_block : part.size;
	const Row *found = nullptr;

	end = part.start + at - at % block + block;
	for (const Row &row : part.rows.rows) {
		if (row.offset > at % block) {
			end = part.start + at - at % block + row.offset;
			break;
		}
		found = &row;
	}
	return found;
}

void judge_part(const Abi &abi, Dwarf_CFI *cfi, const CfiPart &part, Verdict &verdict)
{
	const std::uint64_t part_end = part.start + part.size;

	verdict.bytes[static_cast<std::size_t>(part.reason)] += part.size;
	for (std::uint64_t pc = part.start, next; pc < part_end; pc = next) {
		const auto frame = frame_at(abi, cfi, pc);
		std::uint64_t row_end = part_end;

		verdict.places++;
		next = part_end;
		if (!frame) {
			verdict.complain("libdw says nothing", pc);
			continue;
		}
		if (part.reason == CfiReason::none) {
			const Row *row = row_at(part, pc, row_end);

			if (!row || !agrees(abi, *row, *frame))
				verdict.complain("libdw says another thing", pc);
		} else if (is_sayable(abi, *frame)) {
			verdict.complain("a gap that need not be", pc);
		}
		next = std::min(row_end, frame->end);
	}
}

/* How many FDEs the linker's table has, for none to be passed over. */
std::uint64_t fdes_by_header(const ElfFile &file)
{
	const auto header = file.section(".eh_frame_hdr");
	std::uint32_t count = 0;

	/* version, three encodings (of these the second udata4), a pointer of four bytes, the count */
	if (header && header->bytes.size() >= 12 && header->bytes[2] == std::byte{DW_EH_PE_udata4})
		std::memcpy(&count, header->bytes.data() + 8, sizeof(count));
	return count;
}

Verdict judge(const CfiSection &section, Dwarf_CFI *cfi)
{
	CfiReader reader(section);
	CfiRows rows;
	Verdict verdict;

	while (reader.next()) {
		const auto function = reader.function();

		verdict.fdes++;
		if (!function || rows.run(section, *function)) {
			verdict.complain("cannot be read", function ? function->start : 0);
			continue;
		}
		for (const CfiPart &part : rows.parts())
			judge_part(*section.abi, cfi, part, verdict);
	}
	if (reader.error())
		verdict.complain("the section ends early", reader.error().at);
	return verdict;
}

bool report(const char *path, const ElfFile &file, const Verdict &verdict)
{
	std::uint64_t total = 0;

	for (const std::uint64_t bytes : verdict.bytes)
		total += bytes;
	const double percent = total ? 100.0 * static_cast<double>(verdict.bytes[0]) / static_cast<double>(total) : 0;
	std::printf("%s: %" PRIu64 " FDEs, %" PRIu64 " places, %" PRIu64 " differences; described %" PRIu64 " of %" PRIu64
		    " bytes, %.4f %%\n",
		    path, verdict.fdes, verdict.places, verdict.wrong, verdict.bytes[0], total, percent);
	for (std::size_t i = 1; i < cfi_reasons; i++)
		if (verdict.bytes[i])
			std::printf("  %" PRIu64 " bytes: %s\n", verdict.bytes[i], to_string(static_cast<CfiReason>(i)));
	const std::uint64_t expected = fdes_by_header(file);
	if (expected != verdict.fdes)
		std::printf("  .eh_frame_hdr has %" PRIu64 " FDEs\n", expected);
	return verdict.wrong == 0 && expected == verdict.fdes && percent >= least_percent;
}

bool handle(const char *path)
{
	ElfFile file;
	CfiSection section;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !file.read(path) || !file.abi())
		return false;
	const auto found = file.section(".eh_frame");
	if (!found)
		return false;
	section.bytes = found->bytes;
	section.address = found->address;
	section.abi = file.abi();

	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, nullptr);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : nullptr;
	const bool good = cfi && report(path, file, judge(section, cfi));
	if (cfi)
		dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	return good;
}

} // namespace

int main(int argc, char **argv)
{
	int status = argc > 1 ? 0 : 1;

	for (int i = 1; i < argc; i++) {
		if (handle(argv[i]))
			continue;
		std::printf("%s: fails\n", argv[i]);
		status = 1;
	}
	return status;
}
