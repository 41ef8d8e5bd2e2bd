// SPDX-License-Identifier: MIT
/* The encoding, byte for byte and there and back. */
#include <jitsframe/rows.hpp>
#include <jitsframe/sframe.hpp>

#include "naive_row.hpp"
#include "random_function.hpp"
#include "sframe/format.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>

using namespace jitsframe;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values)
{
	std::vector<std::byte> bytes;

	for (const int value : values)
		bytes.push_back(static_cast<std::byte>(value));
	return bytes;
}

std::vector<std::byte> encoded(const Abi &abi, const FunctionRows &rows)
{
	std::vector<std::byte> bytes(max_live_fde_bytes);

	bytes.resize(encode_fde(abi, rows, 0, rows.rows.size(), bytes.data()));
	return bytes;
}

std::vector<Function> normalised_all(const Abi &abi, std::vector<Function> functions)
{
	for (Function &function : functions)
		for (Row &row : function.rows)
			row = normalised(abi, row);
	return functions;
}

/* 2.2, 2.3.1, 2.3.2: what format.hpp says of offsets, in the bytes of a section. */
TEST(Format, LayoutIsTheDocuments)
{
	Function function;
	function.start = 0x1122334455667788;
	function.size = 0xaabbccdd;
	function.rows = {Row{.cfa = Rule::in_reg(x86_64::rsp, 8)}};
	const auto section =
		build_section(x86_64::abi, {&function, 1}, 0, StartEncoding::section);

	ASSERT_TRUE(section);
	EXPECT_EQ(*section,
		  bytes_of({0xe2, 0xde, 3, 1, 3, 0, 0xf8, 0,       /* preamble, ABI, fixed, aux */
			    1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0,    /* fdes, fres, fre_len */
			    4, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0,   /* fdeoff, freoff, alignment */
			    0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* start */
			    0xdd, 0xcc, 0xbb, 0xaa, 0, 0, 0, 0,    /* size, fre_off */
			    1, 0, 0, 0, 0, 0, 3, 8}));             /* attributes, row */
}

/* As gas 2.47.50 writes `push %rbp; mov %rsp, %rbp`. */
TEST(Format, DefaultRowsAsGasWritesThem)
{
	const FrameRows frame = x86_64::frame_pointer(1, 4, 0);

	EXPECT_EQ(encoded(x86_64::abi, frame.view()),
		  bytes_of({3, 0, 0, 0, 0, 0, 3, 8, 1, 5, 0x10, 0xf0, 4, 4, 0x10, 0xf0}));
}

/* As gas writes a function that realigns its stack through r10. */
TEST(Format, FlexibleRowsAsGasWritesThem)
{
	const Rule saved_fp = Rule::at_reg(x86_64::rbp, 0);
	const Row rows[] = {
		{.offset = 0, .cfa = Rule::in_reg(x86_64::rsp, 8)},
		{.offset = 5, .cfa = Rule::in_reg(x86_64::r10)},
		{.offset = 0xe, .cfa = Rule::in_reg(x86_64::r10), .fp = saved_fp},
		{.offset = 0x13, .cfa = Rule::at_reg(x86_64::rbp, -8), .fp = saved_fp},
		{.offset = 0x19, .cfa = Rule::in_reg(x86_64::rsp, 8), .fp = saved_fp},
	};

	EXPECT_EQ(encoded(x86_64::abi, {rows}),
		  bytes_of({5,    0,    0,    1,    0,                /* attributes: flexible */
			    0,    4,    0x39, 8,                      /* r7+8 */
			    5,    4,    0x51, 0,                      /* r10+0 */
			    0xe,  0xa,  0x51, 0,    0, 0x33, 0,       /* FP *(r6+0) */
			    0x13, 0xa,  0x33, 0xf8, 0, 0x33, 0,       /* CFA *(r6-8) */
			    0x19, 0xa,  0x39, 8,    0, 0x33, 0}));
}

/* As gas writes `paciasp; stp x29, x30, [sp, -32]!` with an FP at CFA-32. */
TEST(Format, SignedReturnAddressAsGasWritesIt)
{
	const Row rows[] = {{.offset = 0, .ra_signed = true, .cfa = Rule::in_reg(aarch64::sp)},
			    {.offset = 4,
			     .ra_signed = true,
			     .cfa = Rule::in_reg(aarch64::sp, 32),
			     .ra = Rule::at_cfa(-24),
			     .fp = Rule::at_cfa(-32)}};

	EXPECT_EQ(encoded(aarch64::abi, {rows, false, true}),
		  bytes_of({2, 0, 0x20, 0, 0, 0, 0x83, 0, 4, 0x87, 0x20, 0xe8, 0xe0}));
}

/* In a default row that offset says "not saved"; in a flexible one it is a slot like another. */
TEST(Format, ReturnAddressAtTheCfaItself)
{
	const Row rows[] = {{.cfa = Rule::in_reg(aarch64::sp, 16),
			     .ra = Rule::at_cfa(0),
			     .fp = Rule::at_cfa(-16)}};

	EXPECT_EQ(encoded(aarch64::abi, {rows}),
		  bytes_of({1, 0, 0, 1, 0, 0, 0x0c, 0xf9, 16, 2, 0, 2, 0xf0}));
}

TEST(Format, OutermostByRowAndByNoRows)
{
	const Row rows[] = {{.outermost = true}};

	EXPECT_EQ(encoded(x86_64::abi, {rows}), bytes_of({1, 0, 0, 0, 0, 0, 0}));
	EXPECT_EQ(encoded(x86_64::abi, {}), bytes_of({0, 0, 0, 0, 0}));
}

TEST(Format, SmallestTypesAtTheirBounds)
{
	/* last row's offset, CFA offset; start width, word width */
	struct {
		std::uint32_t last;
		std::int32_t cfa;
		std::size_t start_bytes, word_bytes;
	} const cases[] = {
		{255, 127, 1, 1},     {256, 128, 2, 2},           {65535, -32768, 2, 2},
		{65536, 32768, 4, 4}, {0xfffffffe, INT32_MAX, 4, 4}, {255, -129, 1, 2},
	};

	for (const auto &c : cases) {
		const Row rows[] = {{.offset = 0, .cfa = Rule::in_reg(x86_64::rsp, 8)},
				    {.offset = c.last, .cfa = Rule::in_reg(x86_64::rsp, c.cfa)}};

		EXPECT_EQ(encoded(x86_64::abi, {rows}).size(),
			  5 + (c.start_bytes + 1 + 1) + (c.start_bytes + 1 + c.word_bytes))
			<< c.last << " " << c.cfa;
	}
}

TEST(Format, EveryRuleOfRowsIsHeld)
{
	const Rule sp8 = Rule::in_reg(x86_64::rsp, 8);
	const Rule value_of_cfa = {Rule::Base::cfa, false, 0, 8};
	const std::vector<Row> bad[] = {
		{{.offset = 1, .cfa = sp8}},                           /* not at 0 */
		{{.offset = 0, .cfa = sp8}, {.offset = 0, .cfa = sp8}}, /* not ascending */
		{{.offset = 0, .cfa = sp8}, {.offset = 16, .cfa = sp8}}, /* behind the end */
		{{.offset = 0}},                                       /* no CFA */
		{{.offset = 0, .cfa = Rule::at_cfa(8)}},               /* CFA of itself */
		{{.offset = 0, .ra_signed = true, .cfa = sp8}},        /* no PAC on x86-64 */
		{{.offset = 0, .cfa = sp8, .ra = value_of_cfa}},
		{{.offset = 0, .cfa = sp8, .fp = value_of_cfa}},
		{{.offset = 0, .cfa = Rule::in_reg(64)}},
	};

	for (const auto &rows : bad)
		EXPECT_EQ(check_rows(x86_64::abi, 16, {rows}).code, Code::invalid_rows);
	EXPECT_EQ(check_rows(x86_64::abi, 16, {{}, false, true}).code, Code::invalid_rows);

	const std::vector<Row> in_block = {{.offset = 0, .cfa = sp8}, {.offset = 8, .cfa = sp8}};
	EXPECT_FALSE(check_rows(x86_64::abi, 64, {in_block, false, false, 9}));
	EXPECT_TRUE(check_rows(x86_64::abi, 64, {in_block, false, false, 8}));
	/* binutils aborts on a row behind the end, be it a mask. */
	EXPECT_TRUE(check_rows(x86_64::abi, 8, {in_block, false, false, 9}));
}

class RoundTrip : public testing::TestWithParam<const Abi *> {};

TEST_P(RoundTrip, BuildDecodeLookup)
{
	const Abi &abi = *GetParam();
	constexpr std::uint64_t address = 0x5500000000;

	for (std::uint64_t seed = 0; seed < 200; seed++) {
		const StartEncoding starts = static_cast<StartEncoding>(seed % 3);
		const bool relative = starts == StartEncoding::text_relative;
		Random random(seed);
		std::vector<Function> functions;

		for (std::uint64_t i = 0; i < 1 + seed % 16; i++)
			functions.push_back(random_function(abi, random, 0x1000 + i * 0x40000));
		const auto section = build_section(abi, functions, address, starts);
		ASSERT_TRUE(section);

		const auto decoded = decode(*section, address, relative);
		ASSERT_TRUE(decoded) << decoded.error().why << " " << seed;
		EXPECT_EQ(normalised_all(abi, decoded->functions), functions) << seed;

		for (const Function &function : functions) {
			for (int i = 0; i < 20; i++) {
				const std::uint64_t pc = function.start + random.below(function.size);
				const auto found = lookup(*section, address, pc, relative);

				ASSERT_TRUE(found) << seed << " " << found.error().why;
				EXPECT_EQ(found->start, function.start);
				EXPECT_EQ(found->size, function.size);
				EXPECT_EQ(found->signal, function.signal);
				EXPECT_EQ(found->pauth_key_b, function.pauth_key_b);
				EXPECT_EQ(found->row, naive_row(function, pc)) << seed << " " << i;
			}
			EXPECT_EQ(lookup(*section, address, function.start + function.size, relative)
					  .error()
					  .code,
				  Code::not_found);
			EXPECT_EQ(lookup(*section, address, function.start - 1, relative)
					  .error()
					  .code,
				  Code::not_found);
		}
	}
}

TEST_P(RoundTrip, SplitFunctionsMeanTheSame)
{
	const Abi &abi = *GetParam();

	for (std::uint64_t seed = 0; seed < 100; seed++) {
		Random random(seed);
		Function function = random_function(abi, random, 0x1000);

		if (function.repeat_block)
			continue;
		const auto section = build_section(abi, {&function, 1}, 0, StartEncoding::field, 3);
		ASSERT_TRUE(section);
		const auto decoded = decode(*section, 0);
		ASSERT_TRUE(decoded) << decoded.error().why;
		EXPECT_EQ(normalised_all(abi, decoded->functions), split(abi, function, 3)) << seed;
	}
}

INSTANTIATE_TEST_SUITE_P(Abi, RoundTrip, testing::Values(&x86_64::abi, &aarch64::abi),
			 [](const auto &param) {
				 return param.param->arch == Arch::x86_64 ? "x86_64" : "aarch64";
			 });

TEST(Build, OverlapAndBadRowsAreErrors)
{
	std::vector<Function> functions(2);

	functions[0].start = 0x1010;
	functions[1].start = 0x1000;
	functions[0].size = functions[1].size = 0x11;
	EXPECT_EQ(build_section(x86_64::abi, functions, 0).error().code, Code::overlap);
	functions[1].size = 0x10;
	EXPECT_TRUE(build_section(x86_64::abi, functions, 0));
	functions[1].rows = {Row{.offset = 1}};
	EXPECT_EQ(build_section(x86_64::abi, functions, 0).error().code, Code::invalid_rows);
	EXPECT_EQ(build_section(x86_64::abi, functions, 0, StartEncoding::field, 0).error().code,
		  Code::invalid_argument);
}

/* Each field of the header, broken alone. */
TEST(Decode, HeaderFieldsAreChecked)
{
	Function function;
	function.start = 0x1000;
	function.size = 16;
	function.rows = {Row{.cfa = Rule::in_reg(x86_64::rsp, 8)}};
	const auto good =
		build_section(x86_64::abi, {&function, 1}, 0, StartEncoding::section);
	ASSERT_TRUE(good);
	ASSERT_FALSE(validate(*good));

	struct {
		std::size_t at;
		int value;
		Code code;
	} const cases[] = {
		{0, 0, Code::malformed},      {2, 2, Code::unsupported}, {3, 0x80, Code::malformed},
		{4, 4, Code::unsupported},    {5, 1, Code::malformed},   {6, 0, Code::malformed},
		{7, 255, Code::malformed},    {8, 255, Code::malformed}, {12, 0, Code::malformed},
		{16, 9, Code::malformed},     {16, 4, Code::malformed},  {20, 255, Code::malformed},
		{24, 255, Code::malformed},   {48, 2, Code::malformed},  {50, 0x40, Code::malformed},
		{50, 3, Code::malformed},     {50, 0x10, Code::malformed}, {51, 2, Code::malformed},
		{53, 200, Code::malformed},   {54, 0x63, Code::malformed}, {54, 0x07, Code::malformed},
		{54, 0x43, Code::malformed},
	};
	for (const auto &c : cases) {
		std::vector<std::byte> bad = *good;

		bad[c.at] = static_cast<std::byte>(c.value);
		EXPECT_EQ(validate(bad).code, c.code) << c.at << " " << c.value;
	}
	std::vector<std::byte> swapped = *good;
	std::swap(swapped[0], swapped[1]);
	EXPECT_EQ(validate(swapped).code, Code::unsupported);
	for (std::size_t size = 0; size < good->size(); size++)
		EXPECT_TRUE(validate(std::span(*good).first(size))) << size;
}

/* Sections as ld links them are only 4-byte aligned within. */
TEST(Decode, AnyAlignment)
{
	Random random(1);
	const Function function = random_function(x86_64::abi, random, 0x1000);
	const auto section = build_section(x86_64::abi, {&function, 1}, 0x100);
	ASSERT_TRUE(section);

	for (std::size_t shift = 0; shift < 8; shift++) {
		std::vector<std::byte> moved(section->size() + shift);

		std::memcpy(moved.data() + shift, section->data(), section->size());
		const auto bytes = std::span(std::as_const(moved)).subspan(shift);
		EXPECT_TRUE(decode(bytes, 0x100));
		EXPECT_TRUE(lookup(bytes, 0x100, function.start));
	}
}

} // namespace
