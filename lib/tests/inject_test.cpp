// SPDX-License-Identifier: MIT
/*
 * The writer is stopped at every numbered point of every move, and a reader
 * looks: it must find the state before the move or the one behind it, for each
 * PC, and never go back; the live section must be valid (I4), and what it
 * reaches must not have changed but for counters and words (I1).
 */
#include <jitsframe/area.hpp>

#include "area/inject.hpp"
#include "sframe/format.hpp"

#include <linux/jit_sframe.h>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>

using namespace jitsframe;

namespace {

std::function<void(InjectPoint)> at_point;
std::set<InjectPoint> points_met;

} // namespace

namespace jitsframe {

void inject_point(InjectPoint point) noexcept
{
	points_met.insert(point);
	if (at_point)
		at_point(point);
}

} // namespace jitsframe

namespace {

constexpr std::uint64_t text = 0x7e0000000000;
constexpr std::uint64_t text_size = 4096;

using Answer = std::optional<std::int32_t>; /* the CFA's offset */

/* start -> size, rows */
struct Piece {
	std::uint32_t size;
	std::vector<Row> rows;
};
using Model = std::map<std::uint64_t, Piece>;

std::vector<Row> rows_of(std::int32_t first, std::uint32_t count)
{
	std::vector<Row> rows;

	for (std::uint32_t i = 0; i < count; i++)
		rows.push_back({.offset = i,
				.cfa = Rule::in_reg(x86_64::rsp,
						    first + 8 * static_cast<std::int32_t>(i))});
	return rows;
}

Answer expected(const Model &model, std::uint64_t pc)
{
	for (const auto &[start, code] : model) {
		if (pc < start || pc - start >= code.size)
			continue;
		const std::uint64_t row = std::min<std::uint64_t>(pc - start, code.rows.size() - 1);
		return code.rows[row].cfa.offset;
	}
	return {};
}

/* A copy of what the live section reaches, and how it may differ later. */
struct Reached {
	std::uint64_t live = 0;
	std::vector<std::byte> bytes;
	std::uint32_t num_fdes = 0, num_fres = 0, fre_len = 0, fre_at = 0;
};

class Reader {
public:
	explicit Reader(Area &area) : area_(area), generation_(area.stats().generation) {}

	void begin(const Model &before, const Model &after)
	{
		before_ = before;
		after_ = after;
		seen_new_.fill(false);
	}
	void look(InjectPoint point)
	{
		SCOPED_TRACE(static_cast<unsigned>(point));
		look_at_answers();
		look_at_bytes();
	}
	void finish()
	{
		for (std::uint64_t i = 0; i < text_size; i++)
			ASSERT_EQ(ask(text + i), expected(after_, text + i)) << i;
	}

private:
	[[nodiscard]] Answer ask(std::uint64_t pc) const
	{
		const auto found = area_.lookup(pc);

		if (found)
			return found->row.cfa.offset;
		EXPECT_EQ(found.error().code, Code::not_found);
		return {};
	}
	void look_at_answers()
	{
		for (std::uint64_t i = 0; i < text_size; i += 5) {
			const Answer old = expected(before_, text + i);
			const Answer next = expected(after_, text + i);
			const Answer got = ask(text + i);

			const bool may_be_old = old == next || !seen_new_[i];
			ASSERT_TRUE(got == next || (may_be_old && got == old)) << i;
			seen_new_[i] = got == next;
		}
	}
	[[nodiscard]] Reached reach() const
	{
		const auto *base = static_cast<const std::byte *>(area_.address());
		Reached reached;
		format::Header header;

		std::memcpy(&reached.live, base + offsetof(struct jit_sframe_area, live), 8);
		const std::uint32_t offset = JIT_SFRAME_LIVE_OFFSET(reached.live);
		if (!offset)
			return reached;
		std::memcpy(&header, base + offset, sizeof(header));
		reached.num_fdes = header.num_fdes;
		reached.num_fres = header.num_fres;
		reached.fre_len = header.fre_len;
		reached.fre_at = static_cast<std::uint32_t>(sizeof(header)) + header.freoff;
		reached.bytes.assign(base + offset,
				     base + offset + reached.fre_at + reached.fre_len);
		return reached;
	}
	/* May this byte of a section change while it is live? */
	[[nodiscard]] static bool may_change(const Reached &then, std::size_t at)
	{
		constexpr std::size_t index = format::aligned_index_offset;

		if (at >= offsetof(format::Header, num_fdes) && at < offsetof(format::Header, fdeoff))
			return true;
		if (at < index || at >= then.fre_at)
			return false;
		return at >= index + then.num_fdes * 16u || (at - index) % 16 >= 8;
	}
	void look_at_bytes()
	{
		const Reached now = reach();

		if (!now.bytes.empty()) {
			const auto section = decode(now.bytes, 0);
			ASSERT_TRUE(section) << section.error().why;
		}
		if (now.live == last_.live) {
			ASSERT_GE(now.num_fdes, last_.num_fdes);
			ASSERT_GE(now.num_fres, last_.num_fres);
			ASSERT_GE(now.fre_len, last_.fre_len);
			for (std::size_t i = 0; i < last_.bytes.size(); i++)
				ASSERT_TRUE(may_change(last_, i) || now.bytes[i] == last_.bytes[i])
					<< i;
		} else {
			ASSERT_EQ(JIT_SFRAME_LIVE_GENERATION(now.live), ++generation_);
			look_at_places(now);
		}
		last_ = now;
	}
	/* A flip goes where the section before it does not reach. */
	void look_at_places(const Reached &now) const
	{
		const std::uint64_t a = JIT_SFRAME_LIVE_OFFSET(now.live);
		const std::uint64_t b = JIT_SFRAME_LIVE_OFFSET(last_.live);

		ASSERT_GE(a, sizeof(struct jit_sframe_area));
		ASSERT_TRUE(a + now.bytes.size() <= b || b + last_.bytes.size() <= a || !b);
	}

	Area &area_;
	Model before_, after_;
	std::array<bool, text_size> seen_new_{};
	Reached last_;
	std::uint32_t generation_;
};

class InjectTest : public testing::Test {
protected:
	InjectTest()
	{
		reader.begin({}, {});
		at_point = [this](InjectPoint point) {
			if (!HasFatalFailure())
				reader.look(point);
		};
	}
	~InjectTest() override { at_point = nullptr; }

	/* Do `move`, which makes the model `after`. */
	template <typename Move>
	void expect_step(const Model &after, Move &&move)
	{
		reader.begin(model, after);
		const Error error = move();
		ASSERT_FALSE(error) << error.why;
		model = after;
		reader.finish();
	}
	void publish(std::uint64_t offset, std::uint32_t size, std::int32_t first,
		     std::uint32_t rows = 2)
	{
		Model after = model;
		const Piece &code = after[text + offset] = {size, rows_of(first, rows)};

		expect_step(after, [&] { return area.publish(text + offset, size, {code.rows}); });
	}
	void replace(std::uint64_t offset, std::uint32_t size, std::int32_t first,
		     std::uint32_t rows = 2)
	{
		Model after = model;
		const Piece &code = after[text + offset] = {size, rows_of(first, rows)};

		expect_step(after, [&] { return area.replace(text + offset, size, {code.rows}); });
	}
	void retire(std::uint64_t offset)
	{
		Model after = model;

		after.erase(text + offset);
		expect_step(after, [&] { return area.retire(text + offset); });
	}

	static Area make()
	{
		AreaOptions o;

		o.text_start = text;
		o.text_size = text_size;
		o.reserve_bytes = 64 << 10;
		o.initial_functions = 2;
		o.register_with_kernel = false;
		o.abi = &x86_64::abi;
		return std::move(Area::create(o)).value();
	}

	Area area = make();
	Model model;
	Reader reader{area};
};

TEST_F(InjectTest, EveryMoveAtEveryPoint)
{
	points_met.clear();
	publish(1000, 64, 8);      /* first flip */
	publish(1100, 64, 1000);   /* append */
	publish(1200, 300, 8, 200); /* in four parts */
	publish(0, 64, 2000);      /* flip: before all */
	publish(1064, 36, 3000);   /* flip: between */
	retire(1064);
	publish(1064, 30, 4000);   /* retarget of a tombstone */
	replace(1064, 36, 5000);   /* retarget of the living */
	replace(1200, 300, 16, 190); /* flip: a function in parts */
	retire(1200);              /* several words */
	publish(1210, 20, 6000);   /* flip: drops tombstones */
	replace(1210, 90, 7000, 80);
	retire(0);
	publish(0, 900, 8000);
	{
		Model same = model;
		expect_step(same, [&] { return area.compact(8); });
	}
	for (unsigned i = 0; i < static_cast<unsigned>(InjectPoint::count); i++)
		EXPECT_TRUE(points_met.contains(static_cast<InjectPoint>(i))) << i;
	EXPECT_FALSE(points_met.empty());
}

/* Enough flips that each block is written over many times. */
TEST_F(InjectTest, BlocksAreReused)
{
	for (std::int32_t round = 0; round < 40 && !HasFatalFailure(); round++) {
		publish(1000 - static_cast<std::uint64_t>(round) * 20, 20, 8 + round * 16);
		if (round % 3 == 2)
			retire(1000 - static_cast<std::uint64_t>(round - 1) * 20);
	}
	EXPECT_GT(area.stats().flips, 30u);
}

TEST_F(InjectTest, AllAtOnceOrNothing)
{
	const auto rows = rows_of(8, 3), more = rows_of(16, 100);
	const Publication functions[] = {
		{text, 100, {rows}}, {text + 200, 200, {more}}, {text + 500, 10, {rows}}};
	Model after = {{text, {100, rows}}, {text + 200, {200, more}}, {text + 500, {10, rows}}};

	expect_step(after, [&] { return area.publish_all(functions); });
	const Publication appended[] = {{text + 600, 10, {rows}}, {text + 700, 10, {rows}}};
	after[text + 600] = {10, rows};
	after[text + 700] = {10, rows};
	expect_step(after, [&] { return area.publish_all(appended); });
}

} // namespace
