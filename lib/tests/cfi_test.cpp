// SPDX-License-Identifier: MIT
/* Every CFI instruction, encoding and augmentation, and bytes that are none of them. */
#include <jitsframe/cfi.hpp>
#include <jitsframe/rows.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

using namespace jitsframe;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t section_address = 0x10000;
constexpr std::uint64_t code = 0x8000;
constexpr std::uint32_t code_size = 0x100;

/* The numbers of DWARF 5, table 7.29, written once more: a test that shares them proves less. */
constexpr std::uint8_t set_loc = 0x01, advance1 = 0x02, advance2 = 0x03, advance4 = 0x04,
		       offset_extended = 0x05, restore_extended = 0x06, undefined = 0x07,
		       same_value = 0x08, in_register = 0x09, remember = 0x0a, recall = 0x0b,
		       def_cfa = 0x0c, def_cfa_register = 0x0d, def_cfa_offset = 0x0e,
		       def_cfa_expression = 0x0f, expression = 0x10, offset_extended_sf = 0x11,
		       def_cfa_sf = 0x12, def_cfa_offset_sf = 0x13, val_offset = 0x14,
		       val_offset_sf = 0x15, val_expression = 0x16, advance8 = 0x1d,
		       negate_ra_state_with_pc = 0x2c, negate_ra_state = 0x2d, args_size = 0x2e,
		       negative_offset_extended = 0x2f, advance = 0x40, offset = 0x80,
		       restore = 0xc0;
constexpr std::uint8_t breg0 = 0x70, lit0 = 0x30, deref = 0x06, plus_uconst = 0x23, plus = 0x22,
		       minus = 0x1c, and_ = 0x1a, ge = 0x2a, shl = 0x24;
constexpr std::uint8_t rbp = 6, rsp = 7, rip = 16;

Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

Bytes little(std::uint64_t value, std::size_t count)
{
	Bytes bytes;

	for (std::size_t i = 0; i < count; i++)
		bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
	return bytes;
}

Bytes block(const Bytes &bytes)
{
	return Bytes{static_cast<std::uint8_t>(bytes.size())} + bytes;
}

Bytes text(const char *string)
{
	const std::string characters = string;

	return Bytes(characters.begin(), characters.end()) + Bytes{0};
}

/* An entry without padding, which is nops. */
Bytes entry(const Bytes &body)
{
	return little(body.size(), 4) + body;
}

struct Cie {
	Bytes version = {1};
	Bytes augmentation = text("");
	Bytes behind_augmentation{};
	Bytes alignments = {1, 0x78}; /* code 1, data -8 */
	Bytes ra_column = {rip};
	Bytes augmentation_data{};
	Bytes program = {def_cfa, rsp, 8, offset | rip, 1};

	[[nodiscard]] Bytes bytes() const
	{
		return entry(little(0, 4) + version + augmentation + behind_augmentation +
			     alignments + ra_column + augmentation_data + program);
	}
};

Cie arm_cie()
{
	Cie cie;

	cie.alignments = {4, 0x78};
	cie.ra_column = {30};
	cie.program = {def_cfa, 31, 0};
	return cie;
}

Bytes fde(const Bytes &before, const Bytes &pointers, const Bytes &program)
{
	return before + entry(little(before.size() + 4, 4) + pointers + program);
}

/* One CIE, and one FDE of code_size bytes at `code`, both as absolute words. */
Bytes simple(const Bytes &program, const Cie &cie = {})
{
	return fde(cie.bytes(), little(code, 8) + little(code_size, 8), program);
}

CfiSection section_of(const Bytes &bytes, const Abi &abi)
{
	CfiSection section;

	section.bytes = std::as_bytes(std::span(bytes));
	section.address = section_address;
	section.abi = &abi;
	return section;
}

struct Outcome {
	std::vector<CfiPart> parts;
	std::vector<std::vector<Row>> rows;
	Error error;
};

/* The first FDE of the section. */
Outcome outcome(const Bytes &bytes, const Abi &abi = x86_64::abi)
{
	const CfiSection section = section_of(bytes, abi);
	CfiReader reader(section);
	CfiRows rows;
	Outcome result;

	if (!reader.next()) {
		result.error = reader.error();
		return result;
	}
	const auto function = reader.function();
	result.error = function ? rows.run(section, *function) : function.error();
	for (const CfiPart &part : rows.parts()) {
		result.parts.push_back(part);
		result.rows.emplace_back(part.rows.rows.begin(), part.rows.rows.end());
		if (part.reason == CfiReason::none) {
			EXPECT_STREQ(check_rows(abi, part.size, part.rows).why, "");
		}
	}
	return result;
}

/* The rows of a function that rows describe from end to end. */
std::vector<Row> rows_of(const Bytes &bytes, const Abi &abi = x86_64::abi)
{
	const Outcome result = outcome(bytes, abi);

	EXPECT_FALSE(result.error) << result.error.why << " at " << result.error.at;
	if (result.parts.size() != 1) {
		ADD_FAILURE() << result.parts.size() << " parts";
		return {};
	}
	EXPECT_EQ(result.parts[0].start, code);
	EXPECT_EQ(result.parts[0].size, code_size);
	EXPECT_EQ(result.parts[0].reason, CfiReason::none) << to_string(result.parts[0].reason);
	return result.rows[0];
}

Row row(std::uint32_t at, const Rule &cfa, const Rule &fp = {}, const Rule &ra = Rule::at_cfa(-8))
{
	return {.offset = at, .cfa = cfa, .ra = ra, .fp = fp};
}

const Rule sp8 = Rule::in_reg(rsp, 8), sp16 = Rule::in_reg(rsp, 16), fp16 = Rule::in_reg(rbp, 16);
const Rule saved_fp = Rule::at_cfa(-16);
using Rows = std::vector<Row>;

/* To offset 4. */
Bytes four_on(const Cie &cie)
{
	return {static_cast<std::uint8_t>(advance | 4 / cie.alignments[0])};
}

/* The second row that `program` makes at offset 4. */
Row changed(const Bytes &program, const Abi &abi = x86_64::abi, const Cie &cie = {})
{
	const auto rows = rows_of(simple(four_on(cie) + program, cie), abi);

	if (rows.size() != 2)
		ADD_FAILURE() << rows.size() << " rows";
	return rows.empty() ? Row{} : rows.back();
}

/* Why there is no row from offset 4 on. */
CfiReason gap(const Bytes &program, const Abi &abi = x86_64::abi, const Cie &cie = {})
{
	const Outcome result = outcome(simple(four_on(cie) + program, cie), abi);

	EXPECT_FALSE(result.error) << result.error.why;
	if (result.parts.size() != 2 || result.parts[0].reason != CfiReason::none) {
		ADD_FAILURE() << result.parts.size() << " parts";
		return CfiReason::none;
	}
	EXPECT_EQ(result.parts[0].size, 4u);
	EXPECT_EQ(result.parts[1].start, code + 4);
	EXPECT_EQ(result.parts[1].size, code_size - 4);
	EXPECT_TRUE(result.rows[1].empty());
	return result.parts[1].reason;
}

/* Where `needle` is in the bytes. */
std::size_t place(const Bytes &bytes, const Bytes &needle)
{
	const auto found = std::search(bytes.begin(), bytes.end(), needle.begin(), needle.end());

	EXPECT_NE(found, bytes.end());
	return static_cast<std::size_t>(found - bytes.begin());
}

/* --- instructions --- */

TEST(CfiInstruction, None)
{
	EXPECT_EQ(rows_of(simple({})), (Rows{row(0, sp8)}));
	EXPECT_EQ(rows_of(simple({0, 0, 0})), (Rows{row(0, sp8)}));
}

TEST(CfiInstruction, FramePointerFunction)
{
	EXPECT_EQ(rows_of(simple({advance | 1, def_cfa_offset, 16, offset | rbp, 2, advance | 3,
				  def_cfa_register, rbp, advance1, 0x20, def_cfa, rsp, 8,
				  restore | rbp})),
		  (Rows{row(0, sp8), row(1, sp16, saved_fp), row(4, fp16, saved_fp),
			row(0x24, sp8)}));
}

TEST(CfiInstruction, EveryAdvance)
{
	const Bytes push = {def_cfa_offset, 16}, pop = {def_cfa_offset, 8};
	const Bytes program = Bytes{advance | 2} + push + Bytes{advance1, 3} + pop +
			      Bytes{advance2, 4, 0} + push + Bytes{advance4, 5, 0, 0, 0} + pop +
			      Bytes{advance8, 6, 0, 0, 0, 0, 0, 0, 0} + push + Bytes{set_loc} +
			      little(code + 30, 8) + pop;

	EXPECT_EQ(rows_of(simple(program)),
		  (Rows{row(0, sp8), row(2, sp16), row(5, sp8), row(9, sp16), row(14, sp8),
			row(20, sp16), row(30, sp8)}));
}

TEST(CfiInstruction, AdvanceIsFactored)
{
	const auto rows =
		rows_of(simple({advance | 2, def_cfa_offset, 16}, arm_cie()), aarch64::abi);

	ASSERT_EQ(rows.size(), 2u);
	EXPECT_EQ(rows[1].offset, 8u);
}

TEST(CfiInstruction, EveryDefinitionOfTheCfa)
{
	EXPECT_EQ(changed({def_cfa, rbp, 16}), row(4, fp16));
	EXPECT_EQ(changed({def_cfa_sf, rbp, 0x7e}), row(4, fp16)); /* -2 * -8 */
	EXPECT_EQ(changed({def_cfa_register, rbp}), row(4, Rule::in_reg(rbp, 8)));
	EXPECT_EQ(changed({def_cfa_offset, 16}), row(4, sp16));
	EXPECT_EQ(changed({def_cfa_offset_sf, 0x7e}), row(4, sp16));
	EXPECT_EQ(changed({def_cfa, 10, 0}), row(4, Rule::in_reg(10, 0)));
	EXPECT_EQ(changed({def_cfa_offset, 0x80, 0x80, 0x04}), row(4, Rule::in_reg(rsp, 0x10000)));
}

TEST(CfiInstruction, CfaByExpression)
{
	const auto cfa = [](const Bytes &ops) {
		return changed(Bytes{def_cfa_expression} + block(ops)).cfa;
	};

	/* How GCC says where DRAP was saved. */
	EXPECT_EQ(cfa({breg0 + rbp, 0x78, deref}), Rule::at_reg(rbp, -8));
	EXPECT_EQ(cfa({breg0 + rsp, 0xa0, 0x01, deref}), Rule::at_reg(rsp, 160));
	EXPECT_EQ(cfa({breg0 + rbp, 0x10}), Rule::in_reg(rbp, 16));
	EXPECT_EQ(cfa({0x92, 10, 0x10}), Rule::in_reg(10, 16)); /* bregx */
	EXPECT_EQ(cfa({breg0 + rbp, 0, plus_uconst, 24}), Rule::in_reg(rbp, 24));
	EXPECT_EQ(cfa({breg0 + rbp, 8, lit0 + 4, plus}), Rule::in_reg(rbp, 12));
	EXPECT_EQ(cfa({lit0 + 4, breg0 + rbp, 8, plus}), Rule::in_reg(rbp, 12));
	EXPECT_EQ(cfa({breg0 + rbp, 8, lit0 + 4, minus}), Rule::in_reg(rbp, 4));
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x08, 200, plus}), Rule::in_reg(rbp, 208)); /* const1u */
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x09, 0xfc, plus}), Rule::in_reg(rbp, 4)); /* const1s */
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x0a, 0, 1, plus}), Rule::in_reg(rbp, 264)); /* const2u */
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x0b, 0xff, 0xff, plus}), Rule::in_reg(rbp, 7));
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x0c, 1, 0, 0, 0, plus}), Rule::in_reg(rbp, 9));
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x0d, 0xff, 0xff, 0xff, 0xff, plus}), Rule::in_reg(rbp, 7));
	EXPECT_EQ(cfa(Bytes{breg0 + rbp, 8, 0x0e} + little(1, 8) + Bytes{plus}),
		  Rule::in_reg(rbp, 9));
	EXPECT_EQ(cfa(Bytes{breg0 + rbp, 8, 0x0f} + little(~0ull, 8) + Bytes{plus}),
		  Rule::in_reg(rbp, 7));
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x10, 3, plus}), Rule::in_reg(rbp, 11)); /* constu */
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x11, 0x7d, plus}), Rule::in_reg(rbp, 5)); /* consts */
	EXPECT_EQ(cfa({breg0 + rbp, 8, 0x12, 0x13}), Rule::in_reg(rbp, 8)); /* dup, drop */
	EXPECT_EQ(cfa({breg0 + rbp, 8, lit0, 0x14, 0x96}), Rule::in_reg(rbp, 8)); /* over, nop */
	EXPECT_EQ(cfa({breg0 + rbp, 8, lit0, 0x16, 0x16, plus}), Rule::in_reg(rbp, 8)); /* swap */
}

TEST(CfiInstruction, CfaBySuchExpressionsIsAGap)
{
	const auto reason = [](const Bytes &ops) {
		return gap(Bytes{def_cfa_expression} + block(ops));
	};

	EXPECT_EQ(reason({breg0 + rbp, 0x78, deref, deref}), CfiReason::cfa_expression);
	EXPECT_EQ(reason({breg0 + rbp, 0x78, deref, plus_uconst, 8}), CfiReason::cfa_expression);
	EXPECT_EQ(reason({breg0 + rbp, 0, breg0 + rsp, 0, plus}), CfiReason::cfa_expression);
	EXPECT_EQ(reason({breg0 + rbp, 0, breg0 + rsp, 0, minus}), CfiReason::cfa_expression);
	EXPECT_EQ(reason(Bytes{0x03} + little(0x1234, 8)), CfiReason::cfa_expression); /* addr */
	EXPECT_EQ(reason({breg0 + rsp, 0, lit0 + 15, and_}), CfiReason::cfa_expression);
	EXPECT_EQ(reason(Bytes(20, lit0)), CfiReason::cfa_expression);
	EXPECT_EQ(reason({0x92, 70, 0}), CfiReason::register_number);
	EXPECT_EQ(gap({def_cfa, 64, 0}), CfiReason::register_number);
	EXPECT_EQ(gap({def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x10}), CfiReason::offset_range);
}

TEST(CfiInstruction, EveryRuleForTheFramePointer)
{
	EXPECT_EQ(changed({offset | rbp, 2}).fp, saved_fp);
	EXPECT_EQ(changed({offset_extended, rbp, 2}).fp, saved_fp);
	EXPECT_EQ(changed({offset_extended_sf, rbp, 2}).fp, saved_fp);
	EXPECT_EQ(changed({offset_extended_sf, rbp, 0x7e}).fp, Rule::at_cfa(16));
	EXPECT_EQ(changed({negative_offset_extended, rbp, 2}).fp, Rule::at_cfa(16));
	EXPECT_EQ(changed({in_register, rbp, 3}).fp, Rule::in_reg(3));
	EXPECT_EQ(changed(Bytes{expression, rbp} + block({breg0 + rbp, 0})).fp,
		  Rule::at_reg(rbp, 0));
	/* The CFA is on the expression's stack. */
	EXPECT_EQ(changed(Bytes{expression, rbp} + block({lit0 + 24, minus})).fp,
		  Rule::at_cfa(-24));
	EXPECT_EQ(changed(Bytes{val_expression, rbp} + block({breg0 + 3, 8})).fp,
		  Rule::in_reg(3, 8));
	EXPECT_EQ(changed(Bytes{val_expression, rbp} + block({breg0 + 3, 8, deref})).fp,
		  Rule::at_reg(3, 8));
	EXPECT_EQ(changed(Bytes{val_expression, rbp} + block({lit0 + 24, minus, deref})).fp,
		  Rule::at_cfa(-24));
}

TEST(CfiInstruction, RulesForTheFramePointerThatAreGaps)
{
	EXPECT_EQ(gap({undefined, rbp}), CfiReason::fp_undefined);
	EXPECT_EQ(gap({val_offset, rbp, 2}), CfiReason::value_from_cfa);
	EXPECT_EQ(gap({val_offset_sf, rbp, 0x7e}), CfiReason::value_from_cfa);
	EXPECT_EQ(gap(Bytes{expression, rbp} + block({breg0 + rbp, 0, deref})),
		  CfiReason::fp_expression);
	EXPECT_EQ(gap(Bytes{expression, rbp} + block({lit0})), CfiReason::fp_expression);
	EXPECT_EQ(gap({in_register, rbp, 100}), CfiReason::register_number);
	EXPECT_EQ(gap({offset | rbp, 0x80, 0x80, 0x80, 0x80, 0x08}), CfiReason::offset_range);
}

TEST(CfiInstruction, TheFramePointerUnchangedAgain)
{
	const Bytes save = {offset | rbp, 2};
	const Rows both = {row(0, sp8, saved_fp), row(4, sp8)};

	EXPECT_EQ(rows_of(simple(save + Bytes{advance | 4, restore | rbp})), both);
	EXPECT_EQ(rows_of(simple(save + Bytes{advance | 4, restore_extended, rbp})), both);
	EXPECT_EQ(rows_of(simple(save + Bytes{advance | 4, same_value, rbp})), both);
}

/* What the CIE says is what restore goes back to. */
TEST(CfiInstruction, RestoreIsToTheCiesRule)
{
	Cie cie;

	cie.program = cie.program + Bytes{offset | rbp, 2};
	EXPECT_EQ(rows_of(simple({same_value, rbp, advance | 4, restore | rbp}, cie)),
		  (Rows{row(0, sp8), row(4, sp8, saved_fp)}));
}

TEST(CfiInstruction, EveryRuleForTheReturnAddress)
{
	EXPECT_EQ(changed({offset | rip, 2}).ra, Rule::at_cfa(-16));
	EXPECT_EQ(changed({in_register, rip, 0}).ra, Rule::in_reg(0));
	EXPECT_EQ(changed(Bytes{expression, rip} + block({breg0 + rsp, 0xa8, 0x01})).ra,
		  Rule::at_reg(rsp, 168));
	EXPECT_EQ(changed({undefined, rip}), (Row{.offset = 4, .outermost = true}));
	EXPECT_EQ(gap({same_value, rip}), CfiReason::ra_unstated);
	EXPECT_EQ(gap({val_offset, rip, 1}), CfiReason::value_from_cfa);
	EXPECT_EQ(gap(Bytes{val_expression, rip} + block({lit0})), CfiReason::ra_expression);
}

TEST(CfiInstruction, RegistersThatNobodyTracksChangeNothing)
{
	EXPECT_EQ(rows_of(simple(Bytes{advance | 1, offset | 3, 3, advance | 1, undefined, 12,
				       advance | 1, val_offset, 13, 4, advance | 1, in_register, 14,
				       15, advance | 1, restore | 3, advance | 1, expression, 12} +
				 block({breg0 + rsp, 0, deref, deref}))),
		  (Rows{row(0, sp8)}));
}

TEST(CfiInstruction, RememberAndRestoreState)
{
	const Bytes frame = {def_cfa_offset, 16, offset | rbp, 2};
	const Bytes epilogue = {remember, advance | 4, def_cfa_offset, 8, restore | rbp};

	EXPECT_EQ(rows_of(simple(frame + epilogue + Bytes{advance | 4, recall} + epilogue +
				 Bytes{advance | 4, recall})),
		  (Rows{row(0, sp16, saved_fp), row(4, sp8), row(8, sp16, saved_fp), row(12, sp8),
			row(16, sp16, saved_fp)}));
}

TEST(CfiInstruction, RememberNests)
{
	EXPECT_EQ(rows_of(simple({remember, def_cfa_offset, 16, remember, advance | 4,
				  def_cfa_offset, 24, advance | 4, recall, advance | 4, recall})),
		  (Rows{row(0, sp16), row(4, Rule::in_reg(rsp, 24)), row(8, sp16), row(12, sp8)}));
}

TEST(CfiInstruction, ArgsSizeIsPassedOver)
{
	EXPECT_EQ(rows_of(simple({advance | 4, args_size, 0x80, 0x01, advance | 4, args_size, 0})),
		  (Rows{row(0, sp8)}));
}

TEST(CfiInstruction, SpMustBeTheCfa)
{
	const Bytes sp_at_160 = {breg0 + rsp, 0xa0, 0x01};
	const Bytes cfa_160 = Bytes{def_cfa_expression} + block(sp_at_160 + Bytes{deref});

	EXPECT_EQ(changed({val_offset, rsp, 0, def_cfa_offset, 16}), row(4, sp16));
	EXPECT_EQ(gap({val_offset, rsp, 1}), CfiReason::sp_is_not_cfa);
	EXPECT_EQ(gap({offset | rsp, 2}), CfiReason::sp_is_not_cfa);
	EXPECT_EQ(gap({in_register, rsp, 8}), CfiReason::sp_is_not_cfa);
	EXPECT_EQ(gap({undefined, rsp}), CfiReason::sp_is_not_cfa);
	EXPECT_EQ(gap({same_value, rsp}), CfiReason::sp_is_not_cfa);
	EXPECT_EQ(changed({in_register, rsp, 8, def_cfa, 8, 0}), row(4, Rule::in_reg(8, 0)));
	EXPECT_EQ(changed({same_value, rsp, def_cfa_offset, 0}), row(4, Rule::in_reg(rsp, 0)));
	/* glibc's signal trampoline. */
	EXPECT_EQ(changed(cfa_160 + Bytes{expression, rsp} + block(sp_at_160)),
		  row(4, Rule::at_reg(rsp, 160)));
	EXPECT_EQ(gap(cfa_160 + Bytes{expression, rsp} + block({breg0 + rsp, 0})),
		  CfiReason::sp_is_not_cfa);
}

TEST(CfiInstruction, RowsAtOneLocationAreOneAndBehindTheEndNone)
{
	EXPECT_EQ(rows_of(simple({advance | 4, def_cfa_offset, 16, def_cfa_offset, 24, advance | 4,
				  advance2, 0, 1, def_cfa_offset, 8})),
		  (Rows{row(0, sp8), row(4, Rule::in_reg(rsp, 24))}));
	EXPECT_EQ(rows_of(simple({advance2, 0, 1, def_cfa_offset, 16})), (Rows{row(0, sp8)}));
}

/* --- AArch64 --- */

TEST(CfiAarch64, FrameRecord)
{
	const Rule sp32 = Rule::in_reg(31, 32), fp32 = Rule::in_reg(29, 32);
	const Rule fp = Rule::at_cfa(-32), ra = Rule::at_cfa(-24);
	const auto rows = rows_of(simple({advance | 1, def_cfa_offset, 32, offset | 29, 4,
					  offset | 30, 3, advance | 1, def_cfa_register, 29,
					  advance | 8, restore | 30, restore | 29, def_cfa, 31, 0},
					 arm_cie()),
				  aarch64::abi);
	const Row entry = normalised(aarch64::abi, rows.at(0));

	EXPECT_EQ(entry, (Row{.offset = 0, .cfa = Rule::in_reg(31)}));
	EXPECT_EQ(rows.at(1), (Row{.offset = 4, .cfa = sp32, .ra = ra, .fp = fp}));
	EXPECT_EQ(rows.at(2), (Row{.offset = 8, .cfa = fp32, .ra = ra, .fp = fp}));
	EXPECT_EQ(rows.at(3), (Row{.offset = 40, .cfa = rows[0].cfa, .ra = rows[0].ra}));
	EXPECT_EQ(rows.size(), 4u);
}

TEST(CfiAarch64, SignedReturnAddress)
{
	const auto rows = rows_of(simple({advance | 1, negate_ra_state, advance | 1, remember,
					  negate_ra_state, advance | 1, recall},
					 arm_cie()),
				  aarch64::abi);

	ASSERT_EQ(rows.size(), 4u);
	EXPECT_FALSE(rows[0].ra_signed || rows[2].ra_signed);
	EXPECT_TRUE(rows[1].ra_signed && rows[3].ra_signed);
}

TEST(CfiAarch64, SignStateAsARegister)
{
	const Bytes on = Bytes{val_expression, 34} + block({lit0 + 1});
	const Bytes off = Bytes{val_expression, 34} + block({lit0});
	const auto rows = rows_of(simple(on + Bytes{advance | 1} + off + Bytes{advance | 1} + on +
						 Bytes{advance | 1, restore | 34},
					 arm_cie()),
				  aarch64::abi);

	ASSERT_EQ(rows.size(), 4u);
	EXPECT_TRUE(rows[0].ra_signed && rows[2].ra_signed);
	EXPECT_FALSE(rows[1].ra_signed || rows[3].ra_signed);
}

TEST(CfiAarch64, SignedWithTheAddressIsAGap)
{
	EXPECT_EQ(gap({negate_ra_state_with_pc}, aarch64::abi, arm_cie()),
		  CfiReason::signed_with_address);
	EXPECT_EQ(rows_of(simple({negate_ra_state_with_pc, negate_ra_state_with_pc}, arm_cie()),
			  aarch64::abi)
			  .size(),
		  1u);
}

TEST(CfiAarch64, TheReturnAddressInAnotherRegister)
{
	EXPECT_EQ(changed({in_register, 30, 5}, aarch64::abi, arm_cie()).ra, Rule::in_reg(5));
	/* __kernel_rt_sigreturn and its like name a column of their own. */
	Cie cie = arm_cie();
	cie.ra_column = {5};
	EXPECT_EQ(rows_of(simple({}, cie), aarch64::abi).at(0).ra, Rule::in_reg(5));
}

TEST(CfiAarch64, TheFlagsAndTheKey)
{
	Cie cie = arm_cie();

	cie.augmentation = text("zRSBG");
	cie.augmentation_data = block({0x00});
	const Outcome result = outcome(
		fde(cie.bytes(), little(code, 8) + little(code_size, 8), Bytes{0}), aarch64::abi);
	ASSERT_EQ(result.parts.size(), 1u);
	EXPECT_TRUE(result.parts[0].rows.signal && result.parts[0].rows.pauth_key_b);
	cie.augmentation = text("zRB");
	EXPECT_EQ(outcome(simple({}, cie)).error.code, Code::unsupported); /* not x86-64's */
}

TEST(CfiAarch64, InstructionsOfAnotherMachineAreUnsupported)
{
	EXPECT_EQ(outcome(simple({negate_ra_state})).error.code, Code::unsupported);
	EXPECT_EQ(outcome(simple({negate_ra_state_with_pc})).error.code, Code::unsupported);
}

/* --- PLTs --- */

Bytes plt_expression(std::uint8_t mask = lit0 + 15)
{
	return Bytes{def_cfa_expression} + block({breg0 + rsp, 8, breg0 + rip, 0, mask, and_,
						  lit0 + 11, ge, lit0 + 3, shl, plus});
}

/* As GNU ld writes it: the first entry pushes twice, the others once. */
TEST(CfiPlt, BecomesARepeatingBlock)
{
	const Outcome result = outcome(
		simple(Bytes{def_cfa_offset, 16, advance | 6, def_cfa_offset, 24, advance | 10} +
		       plt_expression()));

	ASSERT_EQ(result.parts.size(), 2u);
	EXPECT_EQ(result.rows[0], (Rows{row(0, sp16), row(6, Rule::in_reg(rsp, 24))}));
	EXPECT_EQ(result.parts[1].start, code + 16);
	EXPECT_EQ(result.parts[1].size, code_size - 16);
	EXPECT_EQ(result.parts[1].rows.repeat_block, 16);
	EXPECT_EQ(result.rows[1], (Rows{row(0, sp8), row(11, sp16)}));
}

TEST(CfiPlt, ThatDoesNotFitABlockIsAGap)
{
	EXPECT_EQ(gap(plt_expression()), CfiReason::repeat_block); /* not at a multiple of 16 */
	const Outcome result = outcome(simple(plt_expression(lit0 + 14)));
	ASSERT_EQ(result.parts.size(), 1u);
	EXPECT_EQ(result.parts[0].reason, CfiReason::repeat_block);
}

/* --- sections, CIEs, FDEs --- */

TEST(CfiSections, GapsInTheMiddleSplitAFunction)
{
	const Outcome result = outcome(simple({advance | 8, remember, undefined, rbp, advance | 8,
					       recall, advance | 8, def_cfa_offset, 16}));

	ASSERT_EQ(result.parts.size(), 3u);
	EXPECT_EQ(result.parts[0].size, 8u);
	EXPECT_EQ(result.parts[1].reason, CfiReason::fp_undefined);
	EXPECT_EQ(result.parts[2].start, code + 16);
	EXPECT_EQ(result.parts[2].size, code_size - 16);
	EXPECT_EQ(result.rows[2], (Rows{row(0, sp8), row(8, sp16)}));
}

struct Pointer {
	std::uint8_t encoding;
	Bytes start; /* of an FDE that is at `at` */
	std::size_t size_bytes;
};

TEST(CfiSections, EveryPointerEncoding)
{
	Cie cie;
	cie.augmentation = text("zR");
	cie.augmentation_data = block({0});
	const std::size_t field = cie.bytes().size() + 8;
	const std::uint64_t from_field = code - (section_address + field);
	const Pointer pointers[] = {
		{0x00, little(code, 8), 8},
		{0x01, {0x80, 0x80, 0x02}, 0},
		{0x02, little(code, 2), 2},
		{0x03, little(code, 4), 4},
		{0x04, little(code, 8), 8},
		{0x09, {0x80, 0x80, 0x02}, 0},
		{0x0b, little(code, 4), 4},
		{0x0c, little(code, 8), 8},
		{0x10, little(from_field, 8), 8},
		{0x1b, little(from_field, 4), 4},
		{0x1c, little(from_field, 8), 8},
		{0x2a, little(code - 0x1000, 2), 2},
		{0x23, little(code - 0x1000, 4), 4}, /* textrel */
		{0x33, little(code - 0x2000, 4), 4}, /* datarel */
		{0x50, Bytes((0 - field) % 8) + little(code, 8), 8}, /* aligned */
		{0x80, little(0x4444, 8), 8}, /* indirect */
		{0x9b, little(0x4444 - (section_address + field), 4), 4}, /* indirect, pcrel */
	};

	for (const Pointer &pointer : pointers) {
		cie.augmentation_data = block({pointer.encoding});
		const Bytes size = pointer.size_bytes ? little(code_size, pointer.size_bytes)
						      : Bytes{0x80, 0x02};
		const Bytes bytes = fde(cie.bytes(), pointer.start + size, Bytes{0});
		CfiSection section = section_of(bytes, x86_64::abi);

		section.text_base = 0x1000;
		section.data_base = 0x2000;
		section.load = [](void *, std::uint64_t at, std::uint64_t &value) noexcept {
			value = code;
			return at == 0x4444;
		};
		CfiReader reader(section);
		ASSERT_TRUE(reader.next()) << int{pointer.encoding};
		const auto function = reader.function();
		ASSERT_TRUE(function) << int{pointer.encoding} << function.error().why;
		EXPECT_EQ(function->start, code) << int{pointer.encoding};
		EXPECT_EQ(function->size, code_size) << int{pointer.encoding};
	}
}

TEST(CfiSections, EveryAugmentation)
{
	struct Case {
		const char *letters;
		Bytes behind, data;
		bool has_data, signal;
	};
	const Case cases[] = {
		{"", {}, {}, false, false},
		{"eh", little(0x1234, 8), {}, false, false},
		{"z", {}, block({}), true, false},
		{"zR", {}, block({0x00}), true, false},
		{"zRS", {}, block({0x00}), true, true},
		{"zLR", {}, block({0x1b, 0x00}), true, false},
		{"zPLR", {}, block(Bytes{0x9b} + little(1, 4) + Bytes{0x1b, 0x00}), true, false},
		{"zPR", {}, block(Bytes{0x00} + little(1, 8) + Bytes{0x00}), true, false},
		{"zPR", {}, block({0xff, 0x00}), true, false}, /* no personality */
		{"zPLRS", {}, block(Bytes{0x03} + little(1, 4) + Bytes{0x1b, 0x00}), true, true},
		/* Longer than its letters say. */
		{"zR", {}, block({0x00, 1, 2, 3}), true, false},
	};

	for (const Case &one : cases) {
		Cie cie;

		cie.augmentation = text(one.letters);
		cie.behind_augmentation = one.behind;
		cie.augmentation_data = one.data;
		const Bytes lsda = one.has_data ? block({9, 9, 9}) : Bytes{};
		const Outcome result =
			outcome(fde(cie.bytes(), little(code, 8) + little(code_size, 8) + lsda,
				    {advance | 4, def_cfa_offset, 16}));
		ASSERT_FALSE(result.error) << one.letters << ": " << result.error.why;
		ASSERT_EQ(result.parts.size(), 1u) << one.letters;
		EXPECT_EQ(result.rows[0], (Rows{row(0, sp8), row(4, sp16)})) << one.letters;
		EXPECT_EQ(result.parts[0].rows.signal, one.signal) << one.letters;
	}
}

TEST(CfiSections, EveryVersion)
{
	Cie three, four;

	three.version = {3};
	three.ra_column = {0x90, 0x00}; /* a LEB128 number now, here longer than it need be */
	EXPECT_EQ(rows_of(simple({}, three)).size(), 1u);
	four.version = {4};
	four.behind_augmentation = {8, 0};
	EXPECT_EQ(rows_of(simple({}, four)).size(), 1u);
	four.behind_augmentation = {4, 0};
	EXPECT_EQ(outcome(simple({}, four)).error.code, Code::unsupported);
	for (const std::uint8_t version : Bytes{0, 2, 5, 255}) {
		Cie other;

		other.version = {version};
		EXPECT_EQ(outcome(simple({}, other)).error.code, Code::unsupported) << int{version};
		EXPECT_EQ(outcome(simple({}, other)).error.at, 8u);
	}
}

TEST(CfiSections, ExtendedLength)
{
	const Bytes cie = Cie().bytes();
	const Bytes body = little(cie.size() + 12, 4) + little(code, 8) + little(code_size, 8);

	EXPECT_EQ(rows_of(cie + little(0xffffffff, 4) + little(body.size(), 8) + body).size(), 1u);
}

TEST(CfiSections, ManyEntriesUpToTheTerminator)
{
	Bytes bytes = Cie().bytes();
	std::vector<std::uint64_t> starts;

	for (std::uint64_t i = 0; i < 5; i++) {
		bytes = fde(bytes, little(i == 2 ? 0 : code + i * 0x1000, 8) + little(16, 8), {});
		/* An FDE of another CIE, which is the last one. */
		bytes = bytes + Cie().bytes();
	}
	/* The FDEs' pointers are to the section's start, so to the first CIE. */
	bytes = bytes + little(0, 4) + Bytes{1, 2, 3};
	const CfiSection section = section_of(bytes, x86_64::abi);
	CfiReader reader(section);
	while (reader.next())
		starts.push_back(reader.function()->start);
	EXPECT_FALSE(reader.error());
	EXPECT_EQ(starts, (std::vector<std::uint64_t>{code, code + 0x1000, code + 0x3000,
						      code + 0x4000})); /* discarded: 0 */
	EXPECT_FALSE(reader.next());
}

/* One that is broken is told of, and the others are read. */
TEST(CfiSections, ABrokenFdeDoesNotHideTheNext)
{
	Bytes bytes = Cie().bytes();

	bytes = fde(bytes, little(code, 8), {}); /* no size */
	bytes = fde(bytes, little(code, 8) + little(16, 8), {0x3f}); /* no instruction */
	bytes = bytes + entry(little(0x7fff, 4) + little(code, 8)); /* no CIE */
	bytes = bytes + Bytes{2, 0, 0, 0, 1, 1}; /* no id */
	bytes = fde(bytes, little(code + 64, 8) + little(16, 8), {});
	const CfiSection section = section_of(bytes, x86_64::abi);
	CfiReader reader(section);
	CfiRows rows;

	ASSERT_TRUE(reader.next());
	EXPECT_EQ(reader.function().error().code, Code::malformed);
	ASSERT_TRUE(reader.next());
	EXPECT_EQ(rows.run(section, *reader.function()).code, Code::unsupported);
	EXPECT_TRUE(rows.parts().empty());
	ASSERT_TRUE(reader.next());
	EXPECT_EQ(reader.function().error().code, Code::malformed);
	ASSERT_TRUE(reader.next());
	EXPECT_EQ(reader.function().error().code, Code::malformed);
	ASSERT_TRUE(reader.next());
	EXPECT_FALSE(rows.run(section, *reader.function()));
	EXPECT_EQ(rows.parts().size(), 1u);
	EXPECT_FALSE(reader.next());
	EXPECT_FALSE(reader.error());
}

TEST(CfiSections, NothingAtAll)
{
	CfiReader reader(section_of({}, x86_64::abi));

	EXPECT_FALSE(reader.next());
	EXPECT_FALSE(reader.error());
	EXPECT_TRUE(rows_of(simple({})).size());
	const Outcome empty = outcome(fde(Cie().bytes(), little(code, 8) + little(0, 8), {}));
	EXPECT_FALSE(empty.error);
	EXPECT_TRUE(empty.parts.empty());
}

/* --- malformed --- */

TEST(CfiMalformed, EveryCut)
{
	const Bytes whole =
		simple({advance | 4, def_cfa_offset, 16, advance1, 4, def_cfa_expression, 3,
			breg0 + rbp, 0x78, deref, set_loc, 0, 0x81, 0, 0, 0, 0, 0, 0});
	const std::size_t fde_at = Cie().bytes().size();

	ASSERT_FALSE(outcome(whole).error);
	for (std::size_t length = 1; length < whole.size(); length++) {
		if (length == fde_at)
			continue;
		const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
		const Error error = outcome(cut).error;

		EXPECT_EQ(error.code, Code::malformed) << length;
		EXPECT_EQ(error.at, length < fde_at ? 0 : fde_at) << length;
	}
}

/* The same cuts, but with lengths that agree: the instruction is said to be cut. */
TEST(CfiMalformed, EveryInstructionCutShort)
{
	const Bytes programs[] = {
		{advance1},
		{advance2, 1},
		{advance4, 1, 2, 3},
		{set_loc, 1},
		{def_cfa, rsp},
		{def_cfa_offset},
		{offset | 3},
		{offset_extended, 3},
		{expression, 3, 5, 1},
		{def_cfa_expression, 2, breg0},
		{val_expression, 3},
		{in_register, 3},
		{args_size},
		{restore_extended},
		{undefined},
		{advance8, 1},
		{def_cfa_offset, 0x80},
	};

	for (const Bytes &program : programs) {
		const Error error = outcome(simple(program)).error;

		EXPECT_EQ(error.code, Code::malformed) << int{program[0]};
		EXPECT_EQ(error.at,
			  simple({}).size() + program.size() - (program[0] == expression ? 1 : 0) -
				  (program[0] == def_cfa_expression ? 1 : 0) -
				  (program[0] == advance2 ? 1 : 0) -
				  (program[0] == advance4 ? 3 : 0) -
				  (program[0] == set_loc || program[0] == advance8 ? 1 : 0))
			<< int{program[0]};
	}
}

TEST(CfiMalformed, ExpressionsCutShort)
{
	const Bytes expressions[] = {{breg0 + rbp}, {0x92, 1},     {0x0a, 1},     {0x0e, 1, 2},
				     {0x10, 0x80},  {plus_uconst}, {0x03, 1},     {0x08},
				     {deref},       {lit0, plus},  {lit0, minus}, {0x12},
				     {0x13},        {lit0, 0x14},  {lit0, 0x16},  {}};

	for (const Bytes &ops : expressions)
		EXPECT_EQ(outcome(simple(Bytes{def_cfa_expression} + block(ops))).error.code,
			  Code::malformed)
			<< (ops.empty() ? -1 : int{ops[0]});
}

TEST(CfiMalformed, OverlongLeb128)
{
	const Bytes nine(9, 0xff);
	const auto error = [](const Bytes &program) { return outcome(simple(program)).error; };
	const Bytes before = simple({});

	EXPECT_FALSE(error(Bytes{args_size} + nine + Bytes{0x01}));
	EXPECT_EQ(error(Bytes{args_size} + nine + Bytes{0x02}).code, Code::malformed);
	EXPECT_EQ(error(Bytes{args_size} + nine + Bytes{0x02}).at, before.size() + 1);
	EXPECT_EQ(error(Bytes{args_size} + nine + Bytes{0x81, 0}).code, Code::malformed);
	EXPECT_EQ(error(Bytes{args_size} + Bytes(12, 0x80) + Bytes{0}).code, Code::malformed);
	/* Signed: the bits beyond must repeat the sign. */
	const Bytes sf = {offset_extended_sf, 3};
	EXPECT_FALSE(error(sf + nine + Bytes{0x7f}));
	EXPECT_FALSE(error(sf + nine + Bytes{0x00}));
	EXPECT_EQ(error(sf + nine + Bytes{0x01}).code, Code::malformed);
	EXPECT_EQ(error(sf + Bytes(12, 0x80) + Bytes{0}).code, Code::malformed);
}

TEST(CfiMalformed, RulesThatCannotBe)
{
	const auto error = [](const Bytes &program) { return outcome(simple(program)).error; };
	const std::size_t before = simple({}).size();
	const Bytes cfa_on_stack = Bytes{def_cfa_expression} + block({breg0 + rbp, 0, deref});

	EXPECT_EQ(error({recall}).code, Code::malformed);
	EXPECT_EQ(error({recall}).at, before);
	EXPECT_EQ(error({0, 0, recall}).at, before + 2);
	EXPECT_EQ(error(cfa_on_stack + Bytes{def_cfa_offset, 8}).code, Code::malformed);
	EXPECT_EQ(error(cfa_on_stack + Bytes{def_cfa_register, 6}).code, Code::malformed);
	EXPECT_EQ(error({0x3f}).code, Code::unsupported);
	EXPECT_EQ(error({advance | 8, 0x17}).at, before + 1);
	EXPECT_EQ(error(Bytes{advance | 8, set_loc} + little(code + 4, 8)).code, Code::malformed);
	EXPECT_EQ(error(Bytes{advance8} + little(~0ull, 8)).code, Code::malformed);
	EXPECT_EQ(error(Bytes(40, remember)).code, Code::unsupported);
	EXPECT_EQ(outcome(fde(Cie().bytes(), little(~0ull - 4, 8) + little(16, 8), {})).error.code,
		  Code::malformed);
	EXPECT_EQ(
		outcome(fde(Cie().bytes(), little(code, 8) + little(1ull << 32, 8), {})).error.code,
		Code::unsupported);
}

TEST(CfiMalformed, Cies)
{
	Cie advances, unknown, bare, personality, encoding, encoding16;

	advances.program = {advance | 1};
	EXPECT_EQ(outcome(simple({}, advances)).error.code, Code::malformed);
	advances.program = {advance1, 1};
	EXPECT_EQ(outcome(simple({}, advances)).error.code, Code::malformed);
	unknown.augmentation = text("zQ");
	unknown.augmentation_data = block({0});
	EXPECT_EQ(outcome(simple({}, unknown)).error.code, Code::unsupported);
	EXPECT_EQ(outcome(simple({}, unknown)).error.at, place(unknown.bytes(), {'Q'}));
	bare.augmentation = text("S");
	EXPECT_EQ(outcome(simple({}, bare)).error.code, Code::unsupported);
	personality.augmentation = text("zPR");
	personality.augmentation_data = block({0x0f, 0});
	EXPECT_EQ(outcome(simple({}, personality)).error.code, Code::malformed);
	personality.augmentation_data = block({0x00, 1, 2});
	EXPECT_EQ(outcome(simple({}, personality)).error.code, Code::malformed);
	for (const std::uint8_t bad : Bytes{0x05, 0x0f, 0x60, 0x70, 0xff}) {
		encoding.augmentation = text("zR");
		encoding.augmentation_data = block({bad});
		EXPECT_EQ(outcome(simple({}, encoding)).error.code, Code::malformed) << int{bad};
	}
	/* Nothing to load it with. */
	encoding.augmentation_data = block({0x80});
	EXPECT_EQ(outcome(simple({}, encoding)).error.code, Code::unsupported);
}

/* An FDE that leads to an FDE. */
TEST(CfiMalformed, AnFdeWhoseCieIsNone)
{
	Bytes bytes = simple({});
	const std::size_t first = Cie().bytes().size();
	const std::size_t second = bytes.size();

	bytes = bytes + entry(little(second + 4 - first, 4) + little(code, 8) + little(16, 8));
	const CfiSection section = section_of(bytes, x86_64::abi);
	CfiReader reader(section);

	ASSERT_TRUE(reader.next() && reader.next());
	EXPECT_EQ(reader.function().error().code, Code::malformed);
	EXPECT_EQ(reader.function().error().at, first);
}

TEST(CfiMalformed, WhatIsNoFdeOfTheSection)
{
	const Bytes bytes = simple({});
	const CfiSection section = section_of(bytes, x86_64::abi);
	CfiFunction function;
	CfiRows rows;

	function.end = bytes.size() + 1;
	EXPECT_EQ(rows.run(section, function).code, Code::invalid_argument);
	function.end = 0;
	function.program = 1;
	EXPECT_EQ(rows.run(section, function).code, Code::invalid_argument);
}

/* Each byte changed to each value that says another thing: an answer or an error, never more. */
TEST(CfiMalformed, EveryByteChanged)
{
	Cie cie;

	cie.augmentation = text("zPLR");
	cie.augmentation_data = block(Bytes{0x9b} + little(1, 4) + Bytes{0x1b, 0x00});
	const Bytes whole = fde(cie.bytes(), little(code, 8) + little(code_size, 8) + block({1, 2}),
				Bytes{advance | 4, def_cfa_offset, 16, remember, offset | rbp, 2,
				      advance2, 5, 0, recall} +
					plt_expression());
	std::size_t errors = 0, answers = 0;

	for (std::size_t at = 0; at < whole.size(); at++)
		for (int value = 0; value < 256; value++) {
			Bytes bytes = whole;

			bytes[at] = static_cast<std::uint8_t>(value);
			(outcome(bytes).error ? errors : answers)++;
		}
	EXPECT_GT(errors, 1000u);
	EXPECT_GT(answers, 1000u);
}

TEST(CfiReasons, HaveNames)
{
	for (std::size_t i = 0; i < cfi_reasons; i++)
		EXPECT_STRNE(to_string(static_cast<CfiReason>(i)), "?") << i;
	EXPECT_STREQ(to_string(static_cast<CfiReason>(cfi_reasons)), "?");
}

} // namespace
