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

const Rule sp(std::int32_t offset)
{
	return Rule::in_reg(x86_64::rsp, offset);
}
const Rule fp(std::int32_t offset)
{
	return Rule::in_reg(x86_64::rbp, offset);
}

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
	EXPECT_EQ(rows_of(frame),
		  (std::vector<Row>{{.offset = 0, .cfa = sp(8)}, {.offset = 5, .cfa = sp(24)}}));
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

/*
 * Two exits with a tail call, and a cold part elsewhere that is entered with the frame up:
 *
 * 0: push rbp; 1: mov rbp, rsp; 4: push rbx; 5: sub rsp, 24; 9: jcc cold
 * 20: lea rsp, [rbp - 8]; 24: pop rbx; 25: pop rbp; 26: ret
 * 27: ...; 40: leave; 41: jmp elsewhere
 * 46: ...
 * cold 0: call abort; cold 5: add rsp, 24; cold 9: pop rbx; cold 10: pop rbp; cold 11: jmp
 */
TEST(X86Rows, SeveralExitsAndAColdPart)
{
	FrameRows hot(x86_64::abi), cold(x86_64::abi);
	const Rule saved = Rule::at_cfa(-16);
	const Row up = {.cfa = fp(16), .fp = saved}, entry = {.cfa = sp(8)};
	const auto at = [](Row row, std::uint32_t offset) {
		row.offset = offset;
		return row;
	};

	hot.push(1, x86_64::rbp).set_fp(4).push(5, x86_64::rbx).move_sp(9, -24).remember();
	cold.continue_from(hot);
	hot.sp_from_fp(24, -8)
		.pop(25, x86_64::rbx)
		.pop(26, x86_64::rbp)
		.recall(27)
		.leave(41)
		.recall(46);
	EXPECT_EQ(rows_of(hot), (std::vector<Row>{entry,
						  {.offset = 1, .cfa = sp(16), .fp = saved},
						  at(up, 4),
						  at(entry, 26),
						  at(up, 27),
						  at(entry, 41),
						  at(up, 46)}));
	cold.move_sp(9, 24).pop(10, x86_64::rbx).pop(11, x86_64::rbp).recall(16);
	EXPECT_EQ(rows_of(cold), (std::vector<Row>{up, at(entry, 11), at(up, 16)}));
}

TEST(X86Rows, ColdPartOfAFrameWithoutFramePointer)
{
	FrameRows hot(x86_64::abi), cold(aarch64::abi);

	hot.push(1, x86_64::rbx).move_sp(5, -32).signal();
	cold.continue_from(hot).move_sp(4, 32).pop(5, x86_64::rbx);
	EXPECT_EQ(&cold.abi(), &x86_64::abi);
	EXPECT_TRUE(cold.view().signal);
	EXPECT_EQ(rows_of(cold), (std::vector<Row>{{.cfa = sp(48)},
						   {.offset = 4, .cfa = sp(16)},
						   {.offset = 5, .cfa = sp(8)}}));
	cold.move_sp(2, 0);
	EXPECT_TRUE(cold.continue_from(cold).error());
}

/* alloca: pushes of arguments change nothing, and what is saved there nobody can find. */
TEST(X86Rows, SpIsLostAndFoundAgain)
{
	FrameRows frame(x86_64::abi);

	frame.push(1, x86_64::rbp)
		.set_fp(4)
		.lose_sp()
		.push(9, x86_64::rbx)
		.move_sp(12, -640)
		.pop(14, x86_64::rbx);
	EXPECT_EQ(rows_of(frame).size(), 3u);
	FrameRows saves(x86_64::abi);
	saves.continue_from(frame).save_fp(3, 0);
	EXPECT_EQ(saves.error().at, 3u);
	frame.sp_from_fp(18, -24).move_sp(20, 24).pop(21, x86_64::rbp);
	EXPECT_EQ(rows_of(frame).back(), (Row{.offset = 21, .cfa = sp(8)}));
	EXPECT_EQ(rows_of(frame).size(), 4u);

	FrameRows without(x86_64::abi);
	without.move_sp(4, -16).lose_sp();
	EXPECT_EQ(without.error().at, 4u);
	without.clear().sp_from_fp(3, 0);
	EXPECT_EQ(without.error().at, 3u);
}

TEST(Rows, AssignedFromAView)
{
	const std::array<Row, 2> rows = {Row{.cfa = sp(8)}, Row{.offset = 6, .cfa = sp(24)}};
	FrameRows frame(x86_64::abi);

	frame.push(1, x86_64::rbx).assign({rows, true, false, 16});
	EXPECT_EQ(rows_of(frame), std::vector<Row>(rows.begin(), rows.end()));
	EXPECT_TRUE(frame.view().signal);
	EXPECT_EQ(frame.view().repeat_block, 16);
	EXPECT_EQ(rows_of(frame.move_sp(9, -8)).back(), (Row{.offset = 9, .cfa = sp(32)}));
	EXPECT_TRUE(frame.assign({}).view().rows.empty());
}

TEST(Splitter, PiecesSayWhatTheWholeSays)
{
	constexpr std::uint32_t size = 5000;
	FrameRows frame(x86_64::abi);

	for (std::uint32_t i = 1; i < 500; i++)
		frame.move_sp(10 * i, i % 2 ? -8 : 8);
	for (const std::size_t most : {std::size_t{1}, std::size_t{7}, max_live_rows}) {
		std::uint32_t end = 0;
		std::size_t count = 0;
		RowPiece piece;

		for (RowSplitter splitter(frame.view(), size, most); splitter.next(piece);) {
			EXPECT_EQ(piece.offset, end);
			EXPECT_LE(piece.rows.rows.size(), most);
			EXPECT_FALSE(check_rows(x86_64::abi, piece.size, piece.rows));
			for (Row row : piece.rows.rows) {
				row.offset += piece.offset;
				EXPECT_EQ(row, frame.view().rows[count++]);
			}
			end = piece.offset + piece.size;
		}
		EXPECT_EQ(end, size);
		EXPECT_EQ(count, 500u);
	}
}

TEST(Splitter, FlagsStayAndNoRowsAreOnePiece)
{
	RowPiece piece;
	RowSplitter none({{}, true, false, 0}, 40);

	EXPECT_TRUE(none.next(piece));
	EXPECT_TRUE(piece.rows.signal && piece.rows.rows.empty());
	EXPECT_EQ(piece.size, 40u);
	EXPECT_FALSE(none.next(piece));
	FrameRows block(x86_64::abi);
	block.move_sp(11, -8).repeat_block(16);
	RowSplitter repeating(block.view(), 160);
	EXPECT_TRUE(repeating.next(piece));
	EXPECT_EQ(piece.size, 160u);
	EXPECT_EQ(piece.rows.repeat_block, 16);
	EXPECT_FALSE(repeating.next(piece));
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
	EXPECT_EQ(error([](FrameRows &f) { f.push(1, x86_64::rbp).set_fp(4).restore_fp(5); }).at,
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
		  (std::vector<Row>{{.offset = 0, .cfa = Rule::in_reg(aarch64::sp)},
				    {.offset = 4, .cfa = sp_32, .ra = saved_ra, .fp = saved_fp},
				    {.offset = 8, .cfa = fp_32, .ra = saved_ra, .fp = saved_fp},
				    {.offset = 24, .cfa = Rule::in_reg(aarch64::sp)}}));
}

TEST(Aarch64Rows, LeafAndFixedFrame)
{
	EXPECT_EQ(rows_of(aarch64::leaf()), (std::vector<Row>{{.cfa = Rule::in_reg(aarch64::sp)}}));
	EXPECT_EQ(
		rows_of(aarch64::fixed_frame(4, 48, 8, 40, 20)),
		(std::vector<Row>{
			{.offset = 0, .cfa = Rule::in_reg(aarch64::sp)},
			{.offset = 4, .cfa = Rule::in_reg(aarch64::sp, 48)},
			{.offset = 8, .cfa = Rule::in_reg(aarch64::sp, 48), .ra = Rule::at_cfa(-8)},
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
