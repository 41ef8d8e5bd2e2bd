// SPDX-License-Identifier: MIT
/* What a JIT says of its prologues and epilogues, and the rows that come of it. */
#include <jitsframe/rows.hpp>

#include <gtest/gtest.h>

using namespace jitsframe;

namespace {

std::vector<Row> rows_of(const FrameRows &frame)
{
	EXPECT_FALSE(frame.error()) << frame.error().why;
	const auto rows = frame.view().rows;
	return {rows.begin(), rows.end()};
}

const Rule sp(std::int32_t offset) { return Rule::in_reg(x86_64::rsp, offset); }
const Rule fp(std::int32_t offset) { return Rule::in_reg(x86_64::rbp, offset); }

TEST(X86Rows, LeafNeverMovesSp)
{
	EXPECT_EQ(rows_of(x86_64::leaf()), (std::vector<Row>{{.cfa = sp(8)}}));
}

TEST(X86Rows, FixedFrame)
{
	EXPECT_EQ(rows_of(x86_64::fixed_frame(7, 0x100, 0x40)),
		  (std::vector<Row>{{.offset = 0, .cfa = sp(8)},
				    {.offset = 7, .cfa = sp(0x108)},
				    {.offset = 0x40, .cfa = sp(8)}}));
	EXPECT_EQ(rows_of(x86_64::fixed_frame(4, 16, 0)).size(), 2u);
}

TEST(X86Rows, FramePointer)
{
	EXPECT_EQ(rows_of(x86_64::frame_pointer(1, 4, 0x20)),
		  (std::vector<Row>{{.offset = 0, .cfa = sp(8)},
				    {.offset = 1, .cfa = sp(16), .fp = Rule::at_cfa(-16)},
				    {.offset = 4, .cfa = fp(16), .fp = Rule::at_cfa(-16)},
				    {.offset = 0x20, .cfa = sp(8)}}));
}

/*
 * 0: 55        push rbp     (a general register here)
 * 1: 53        push rbx
 * 2: 48 83 ec 18 sub rsp, 24
 * 6: ..
 * 20: 48 83 c4 18 add rsp, 24
 * 24: 5b       pop rbx
 * 25: 5d       pop rbp
 * 26: c3       ret
 * 27: ..       the rest of the body
 */
TEST(X86Rows, PushesAndEpilogueInTheMiddle)
{
	FrameRows frame(x86_64::abi);

	frame.push(1, x86_64::rbp)
		.push(2, x86_64::rbx)
		.move_sp(6, -24)
		.remember()
		.move_sp(24, 24)
		.pop(25, x86_64::rbx)
		.pop(26, x86_64::rbp)
		.recall(27);
	const Rule saved = Rule::at_cfa(-16);
	EXPECT_EQ(rows_of(frame), (std::vector<Row>{{.offset = 0, .cfa = sp(8)},
						    {.offset = 1, .cfa = sp(16), .fp = saved},
						    {.offset = 2, .cfa = sp(24), .fp = saved},
						    {.offset = 6, .cfa = sp(48), .fp = saved},
						    {.offset = 24, .cfa = sp(24), .fp = saved},
						    {.offset = 25, .cfa = sp(16), .fp = saved},
						    {.offset = 26, .cfa = sp(8)},
						    {.offset = 27, .cfa = sp(48), .fp = saved}}));
}

/* `pop rbp` finds the saved RBP wherever SP went meanwhile. */
TEST(X86Rows, PopOfTheFramePointerEndsTheFrame)
{
	FrameRows frame(x86_64::abi);

	frame.push(1, x86_64::rbp).set_fp(4).move_sp(8, -64).pop(20, x86_64::rbp);
	EXPECT_EQ(rows_of(frame).back(), (Row{.offset = 20, .cfa = sp(8)}));
}

TEST(X86Rows, StepsAtOneOffsetMakeOneRow)
{
	FrameRows frame(x86_64::abi);

	frame.move_sp(5, -8).move_sp(5, -8).move_sp(9, 0);
	EXPECT_EQ(rows_of(frame), (std::vector<Row>{{.offset = 0, .cfa = sp(8)},
						    {.offset = 5, .cfa = sp(24)}}));
}

TEST(X86Rows, OutermostAndRowByRow)
{
	FrameRows frame(x86_64::abi);

	frame.clear_rows();
	EXPECT_TRUE(frame.view().rows.empty());
	frame.row({.offset = 0, .cfa = sp(40)}).move_sp(3, -8).outermost(9);
	EXPECT_EQ(rows_of(frame), (std::vector<Row>{{.offset = 0, .cfa = sp(40)},
						    {.offset = 3, .cfa = sp(48)},
						    {.offset = 9, .outermost = true}}));
}

TEST(Rows, FlagsAreSeenAndCleared)
{
	FrameRows frame(aarch64::abi);

	frame.signal().pauth_key_b().repeat_block(16);
	EXPECT_TRUE(frame.view().signal);
	EXPECT_TRUE(frame.view().pauth_key_b);
	EXPECT_EQ(frame.view().repeat_block, 16);
	frame.clear();
	EXPECT_FALSE(frame.view().signal || frame.view().pauth_key_b || frame.view().repeat_block);
}

TEST(Rows, BrokenRulesAreRemembered)
{
	const auto error = [](auto &&steps) {
		FrameRows frame(x86_64::abi);

		steps(frame);
		frame.move_sp(1000, -8); /* does not hide it */
		return frame.error();
	};

	EXPECT_EQ(error([](FrameRows &f) { f.move_sp(8, -8).move_sp(4, -8); }).at, 4u);
	EXPECT_EQ(error([](FrameRows &f) { f.recall(3); }).code, Code::invalid_rows);
	EXPECT_EQ(error([](FrameRows &f) {
			  f.push(1, x86_64::rbp).set_fp(4).restore_fp(5);
		  }).at,
		  5u);
	EXPECT_EQ(error([](FrameRows &f) { f.outermost(3).move_sp(4, -8); }).at, 4u);
	FrameRows frame(x86_64::abi);
	frame.recall(3).clear();
	EXPECT_FALSE(frame.error());
}

TEST(Rows, ManyRowsAndMoves)
{
	FrameRows frame(x86_64::abi);

	for (std::uint32_t i = 1; i < 500; i++)
		frame.move_sp(i, i % 2 ? -8 : 8);
	EXPECT_EQ(frame.view().rows.size(), 500u);
	FrameRows moved(std::move(frame));
	EXPECT_EQ(moved.view().rows.size(), 500u);
	EXPECT_EQ(moved.view().rows[499].cfa, sp(16));
	EXPECT_EQ(frame.view().rows.size(), 1u); // NOLINT: moved-from is as new
	FrameRows leaf = x86_64::leaf();
	moved = std::move(leaf);
	EXPECT_EQ(moved.view().rows.size(), 1u);
}

TEST(Aarch64Rows, FramePointerRecord)
{
	const Rule sp_32 = Rule::in_reg(aarch64::sp, 32), fp_32 = Rule::in_reg(aarch64::x29, 32);
	const Rule saved_fp = Rule::at_cfa(-32), saved_ra = Rule::at_cfa(-24);

	EXPECT_EQ(rows_of(aarch64::frame_pointer(4, 8, 24, 32)),
		  (std::vector<Row>{
			  {.offset = 0, .cfa = Rule::in_reg(aarch64::sp)},
			  {.offset = 4, .cfa = sp_32, .ra = saved_ra, .fp = saved_fp},
			  {.offset = 8, .cfa = fp_32, .ra = saved_ra, .fp = saved_fp},
			  {.offset = 24, .cfa = Rule::in_reg(aarch64::sp)}}));
}

TEST(Aarch64Rows, LeafAndFixedFrame)
{
	EXPECT_EQ(rows_of(aarch64::leaf()),
		  (std::vector<Row>{{.cfa = Rule::in_reg(aarch64::sp)}}));
	EXPECT_EQ(rows_of(aarch64::fixed_frame(4, 48, 8, 40, 20)),
		  (std::vector<Row>{{.offset = 0, .cfa = Rule::in_reg(aarch64::sp)},
				    {.offset = 4, .cfa = Rule::in_reg(aarch64::sp, 48)},
				    {.offset = 8,
				     .cfa = Rule::in_reg(aarch64::sp, 48),
				     .ra = Rule::at_cfa(-8)},
				    {.offset = 20, .cfa = Rule::in_reg(aarch64::sp)}}));
}

TEST(Aarch64Rows, SignedReturnAddress)
{
	FrameRows frame(aarch64::abi);

	frame.sign_ra(4).move_sp(8, -16).save_fp(8, 0).save_ra(8, 8).entry(20).sign_ra(20).sign_ra(
		24, false);
	const auto rows = rows_of(frame);
	ASSERT_EQ(rows.size(), 5u);
	EXPECT_FALSE(rows[0].ra_signed);
	EXPECT_TRUE(rows[1].ra_signed && rows[2].ra_signed && rows[3].ra_signed);
	EXPECT_FALSE(rows[4].ra_signed);
	EXPECT_EQ(rows[2].ra, Rule::at_cfa(-8));
}

} // namespace
