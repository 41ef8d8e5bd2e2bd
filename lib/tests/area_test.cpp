// SPDX-License-Identifier: MIT
/* The four moves, one by one: which is taken when, and what readers see of it. */
#include <jitsframe/area.hpp>

#include <linux/jit_sframe.h>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace jitsframe;

namespace {

constexpr std::uint64_t text = 0x7e0000000000;
constexpr std::uint64_t text_size = 1 << 20;

AreaOptions options()
{
	AreaOptions options;

	options.text_start = text;
	options.text_size = text_size;
	options.reserve_bytes = 1 << 20;
	options.initial_functions = 4;
	options.register_with_kernel = false;
	options.abi = &x86_64::abi;
	return options;
}

/* Frames that differ, so that one cannot pass for another. */
FrameRows frame_of(std::int32_t bytes)
{
	FrameRows frame(x86_64::abi);

	frame.move_sp(4, -bytes);
	return frame;
}

class AreaTest : public testing::Test {
protected:
	void expect_frame(std::uint64_t start, std::uint32_t size, std::int32_t bytes)
	{
		for (const std::uint32_t at : {4u, size - 1}) {
			const auto found = area.lookup(start + at);

			ASSERT_TRUE(found) << found.error().why;
			EXPECT_EQ(found->start, start);
			EXPECT_EQ(found->row.cfa, Rule::in_reg(x86_64::rsp, 8 + bytes));
		}
		expect_valid();
	}
	void expect_nothing(std::uint64_t pc)
	{
		EXPECT_EQ(area.lookup(pc).error().code, Code::not_found);
	}
	/* I4: at every instant a valid section. */
	void expect_valid()
	{
		std::uint64_t address;
		const auto copy = area.snapshot(&address);

		ASSERT_FALSE(copy.empty());
		const auto section = decode(copy, address);
		ASSERT_TRUE(section) << section.error().why;
		EXPECT_EQ(section->functions.size(),
			  area.stats().functions + area.stats().tombstones);
	}
	Error publish(std::uint64_t start, std::uint32_t size, std::int32_t bytes)
	{
		return area.publish(start, size, frame_of(bytes));
	}

	Area area = std::move(Area::create(options())).value();
};

TEST_F(AreaTest, HeadSaysWhatItIs)
{
	AreaOptions o = options();
	o.owner = "a name that is longer than the field for it";
	o.fp_fallback = false;
	o.frame_reg = x86_64::r14;
	const auto made = Area::create(o);
	ASSERT_TRUE(made);

	struct jit_sframe_area head;
	std::memcpy(&head, made->address(), sizeof(head));
	EXPECT_EQ(head.magic, JIT_SFRAME_MAGIC);
	EXPECT_EQ(std::memcmp(&head.magic, "JSFA", 4), 0);
	EXPECT_EQ(head.version, JIT_SFRAME_VERSION);
	EXPECT_EQ(head.header_size, sizeof(head));
	EXPECT_EQ(head.live, 0u);
	EXPECT_EQ(head.text_start, text);
	EXPECT_EQ(head.text_size, text_size);
	EXPECT_EQ(head.area_size, made->size());
	EXPECT_EQ(head.flags, JIT_SFRAME_NO_FP_FALLBACK | JIT_SFRAME_FRAME_REG);
	EXPECT_EQ(head.frame_reg, x86_64::r14);
	EXPECT_EQ(std::string(head.owner), "a name that is longer than the "  );
}

TEST_F(AreaTest, NamedInMaps)
{
	char wanted[64];
	std::ifstream maps("/proc/self/maps");
	std::string line;
	bool kernel_names = false, named = false;

	std::snprintf(wanted, sizeof(wanted), "%lx-",
		      static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(area.address())));
	while (std::getline(maps, line)) {
		kernel_names = kernel_names || line.find("[anon:") != std::string::npos;
		if (line.starts_with(wanted))
			named = line.ends_with("[anon:jit_sframe]");
	}
	if (!kernel_names)
		GTEST_SKIP() << "this kernel does not name anonymous memory";
	EXPECT_TRUE(named);
}

TEST_F(AreaTest, OptionsAreChecked)
{
	const auto code = [](auto &&change) {
		AreaOptions o = options();

		change(o);
		return Area::create(o).error().code;
	};

	EXPECT_EQ(code([](AreaOptions &o) { o.text_size = 0; }), Code::invalid_argument);
	EXPECT_EQ(code([](AreaOptions &o) { o.text_size = -text + 1; }), Code::invalid_argument);
	EXPECT_EQ(code([](AreaOptions &o) { o.reserve_bytes = (1ull << 32) + 1; }),
		  Code::invalid_argument);
	EXPECT_EQ(code([](AreaOptions &o) { o.initial_functions = 0; }), Code::invalid_argument);
	EXPECT_EQ(code([](AreaOptions &o) { o.reserve_bytes = 1; }), Code::ok);
}

TEST_F(AreaTest, NothingPublishedNothingFound)
{
	std::uint64_t address;

	expect_nothing(text);
	EXPECT_TRUE(area.snapshot(&address).empty());
	EXPECT_EQ(area.retire(text).code, Code::not_found);
	EXPECT_EQ(area.retire_range(text, text_size), 0u);
}

TEST_F(AreaTest, AscendingIsAppended)
{
	for (std::uint32_t i = 0; i < 4; i++)
		ASSERT_FALSE(publish(text + i * 64, 64, 16 * static_cast<std::int32_t>(i)));
	EXPECT_EQ(area.stats().flips, 1u);
	EXPECT_EQ(area.stats().appends, 3u);
	for (std::uint32_t i = 0; i < 4; i++)
		expect_frame(text + i * 64, 64, 16 * static_cast<std::int32_t>(i));
	expect_nothing(text + 256);
}

TEST_F(AreaTest, RetiredStartIsRetargeted)
{
	ASSERT_FALSE(publish(text, 64, 16));
	ASSERT_FALSE(publish(text + 128, 64, 16));
	ASSERT_FALSE(area.retire(text));
	expect_nothing(text);
	expect_frame(text + 128, 64, 16);
	EXPECT_EQ(area.stats().tombstones, 1u);
	/* Up to the next entry's start, and no further. */
	ASSERT_FALSE(publish(text, 128, 32));
	expect_frame(text, 128, 32);
	EXPECT_EQ(area.stats().retargets, 1u);
	EXPECT_EQ(area.stats().flips, 1u);
	EXPECT_EQ(area.stats().tombstones, 0u);
}

TEST_F(AreaTest, RetargetOverTheNextTombstoneFlips)
{
	ASSERT_FALSE(publish(text, 64, 16));
	ASSERT_FALSE(publish(text + 64, 64, 16));
	ASSERT_FALSE(area.retire(text));
	ASSERT_FALSE(area.retire(text + 64));
	ASSERT_FALSE(publish(text, 65, 32));
	expect_frame(text, 65, 32);
	EXPECT_EQ(area.stats().flips, 2u);
	EXPECT_EQ(area.stats().tombstones, 0u);
}

TEST_F(AreaTest, InsertBetweenAndBeforeFlips)
{
	const std::uint32_t generation = area.stats().generation;

	ASSERT_FALSE(publish(text + 512, 64, 16));
	ASSERT_FALSE(publish(text, 64, 32));
	ASSERT_FALSE(publish(text + 256, 64, 48));
	EXPECT_EQ(area.stats().flips, 3u);
	EXPECT_EQ(area.stats().generation, generation + 3);
	expect_frame(text, 64, 32);
	expect_frame(text + 256, 64, 48);
	expect_frame(text + 512, 64, 16);
}

std::uint64_t live_of(const Area &area)
{
	struct jit_sframe_area head;

	std::memcpy(&head, area.address(), sizeof(head));
	return head.live;
}

/*
 * An area in the place of another that a reader may still be in: were a live
 * word to come back, the reader would take what it read for whole.
 */
TEST_F(AreaTest, NoLiveWordComesBackWithTheAddress)
{
	std::map<const void *, std::set<std::uint64_t>> seen;
	std::uint32_t comebacks = 0;

	for (int i = 0; i < 32; i++) {
		Area next = std::move(Area::create(options())).value();
		auto &words = seen[next.address()];

		comebacks += !words.empty();
		EXPECT_EQ(live_of(next), 0u);
		for (std::uint64_t flips = 1; flips <= 4; flips++) {
			ASSERT_FALSE(next.publish(text + text_size - flips * 64, 64, frame_of(16)));
			ASSERT_EQ(next.stats().flips, flips);
			EXPECT_TRUE(words.insert(live_of(next)).second) << i << " " << flips;
		}
	}
	/* What is unmapped last is what Linux hands out next. */
	EXPECT_GT(comebacks, 0u);
}

/* With others alive and going in another order than they came. */
TEST_F(AreaTest, GenerationsBeginBeyondThoseThatAreGone)
{
	std::optional<Area> longest = std::move(Area::create(options())).value();
	std::optional<Area> shorter = std::move(Area::create(options())).value();

	for (std::uint64_t i = 1; i <= 8; i++)
		ASSERT_FALSE(longest->publish(text + text_size - i * 64, 64, frame_of(16)));
	ASSERT_FALSE(shorter->publish(text, 64, frame_of(16)));
	const std::uint32_t furthest = longest->stats().generation;
	longest.reset();
	shorter.reset();

	const Area next = std::move(Area::create(options())).value();
	EXPECT_EQ(next.stats().generation, furthest);
}

TEST_F(AreaTest, ReplaceIsOneStoreOrAFlip)
{
	ASSERT_FALSE(publish(text, 64, 16));
	ASSERT_FALSE(publish(text + 128, 64, 16));
	ASSERT_FALSE(area.replace(text, 128, frame_of(32)));
	expect_frame(text, 128, 32);
	EXPECT_EQ(area.stats().retargets, 1u);
	EXPECT_EQ(area.stats().functions, 2u);
	EXPECT_EQ(area.replace(text, 129, frame_of(48)).code, Code::overlap);
	EXPECT_EQ(area.replace(text + 64, 8, frame_of(48)).code, Code::not_found);
	ASSERT_FALSE(area.retire(text + 128));
	ASSERT_FALSE(area.replace(text, 129, frame_of(48)));
	expect_frame(text, 129, 48);
	EXPECT_EQ(area.replace(text + 128, 8, frame_of(48)).code, Code::not_found);
}

TEST_F(AreaTest, ErrorsLeaveItAsItWas)
{
	ASSERT_FALSE(publish(text + 64, 64, 16));
	const auto flips = area.stats().flips;

	EXPECT_EQ(publish(text + 64, 64, 32).code, Code::overlap);
	EXPECT_EQ(publish(text + 127, 8, 32).code, Code::overlap);
	EXPECT_EQ(publish(text + 127, 8, 32).at, text + 64);
	EXPECT_EQ(publish(text + 60, 8, 32).code, Code::overlap);
	EXPECT_EQ(publish(text, 0, 0).code, Code::invalid_argument);
	EXPECT_EQ(publish(text - 1, 8, 0).code, Code::outside_text);
	EXPECT_EQ(publish(text + text_size, 8, 0).code, Code::outside_text);
	EXPECT_EQ(publish(text + text_size - 4, 5, 0).code, Code::outside_text);
	EXPECT_EQ(publish(text + 256, 4, 32).code, Code::invalid_rows); /* a row at 4 */
	EXPECT_EQ(area.retire(text + 65).code, Code::not_found);

	FrameRows broken(x86_64::abi);
	broken.recall(1);
	EXPECT_EQ(area.publish(text + 256, 8, broken).code, Code::invalid_rows);
	EXPECT_EQ(area.replace(text + 64, 8, broken).code, Code::invalid_rows);

	EXPECT_EQ(area.stats().flips, flips);
	EXPECT_EQ(area.stats().functions, 1u);
	expect_frame(text + 64, 64, 16);
	ASSERT_FALSE(publish(text + text_size - 5, 5, 0)); /* the very end */
}

TEST_F(AreaTest, RetireRange)
{
	for (std::uint32_t i = 0; i < 8; i++)
		ASSERT_FALSE(publish(text + i * 64, 64, 16));
	EXPECT_EQ(area.retire_range(text + 60, 200), 4u);
	expect_frame(text, 64, 16);
	for (std::uint32_t i = 1; i < 5; i++)
		expect_nothing(text + i * 64);
	expect_frame(text + 320, 64, 16);
	EXPECT_EQ(area.retire_range(0, ~0ull), 4u);
	EXPECT_EQ(area.stats().functions, 0u);
}

TEST_F(AreaTest, CompactDropsTombstones)
{
	for (std::uint32_t i = 0; i < 8; i++)
		ASSERT_FALSE(publish(text + i * 64, 64, 16));
	for (std::uint32_t i = 0; i < 8; i += 2)
		ASSERT_FALSE(area.retire(text + i * 64));
	ASSERT_FALSE(area.compact(1000));
	EXPECT_EQ(area.stats().tombstones, 0u);
	EXPECT_EQ(area.stats().functions, 4u);
	const auto flips = area.stats().flips;
	for (std::uint32_t i = 8; i < 1000; i++)
		ASSERT_FALSE(publish(text + i * 64, 64, 16));
	EXPECT_EQ(area.stats().flips, flips);
	expect_frame(text + 64, 64, 16);
}

TEST_F(AreaTest, GrowthIsGeometric)
{
	for (std::uint32_t i = 0; i < 8000; i++)
		ASSERT_FALSE(publish(text + i * 64, 64, 16));
	EXPECT_LE(area.stats().flips, 14u);
	expect_frame(text + 7999 * 64, 64, 16);
}

/* Function of 200 rows: four FDEs, published, replaced and retired as one. */
TEST_F(AreaTest, MoreRowsThanOneFdeHolds)
{
	const auto rows_of = [](std::int32_t step) {
		FrameRows frame(x86_64::abi);

		for (std::uint32_t i = 1; i < 200; i++)
			frame.move_sp(i, -step);
		return frame;
	};
	const auto expect_all = [&](std::int32_t step) {
		for (std::uint32_t i = 0; i < 256; i++) {
			const auto found = area.lookup(text + i);
			const auto rows = static_cast<std::int32_t>(std::min(i, 199u));

			ASSERT_TRUE(found) << i;
			ASSERT_EQ(found->row.cfa, Rule::in_reg(x86_64::rsp, 8 + step * rows));
		}
		expect_valid();
	};

	ASSERT_FALSE(area.publish(text, 256, rows_of(8)));
	ASSERT_FALSE(publish(text + 256, 64, 16));
	expect_all(8);
	EXPECT_EQ(area.stats().functions, 5u);
	/* Its parts are no functions. */
	EXPECT_EQ(area.retire(text + 64).code, Code::not_found);
	EXPECT_EQ(area.replace(text + 64, 8, frame_of(16)).code, Code::not_found);
	EXPECT_EQ(publish(text + 64, 8, 16).code, Code::overlap);

	ASSERT_FALSE(area.replace(text, 256, rows_of(16)));
	expect_all(16);
	ASSERT_FALSE(area.retire(text));
	for (std::uint32_t i = 0; i < 256; i++)
		expect_nothing(text + i);
	expect_frame(text + 256, 64, 16);
	ASSERT_FALSE(area.publish(text, 256, rows_of(24)));
	expect_all(24);
	EXPECT_EQ(area.retire_range(text, 256), 1u);
	ASSERT_FALSE(publish(text, 64, 32)); /* fits before the dead second part */
	expect_frame(text, 64, 32);
}

TEST_F(AreaTest, PublishAll)
{
	const FrameRows frame = frame_of(16), other = frame_of(32);
	const Publication first[] = {{text + 256, 64, frame.view()}, {text + 512, 64, other.view()}};
	const Publication around[] = {{text, 64, frame.view()},
				      {text + 320, 64, other.view()},
				      {text + 600, 8, other.view()}};
	const Publication clash[] = {{text + 700, 8, frame.view()}, {text + 512, 8, frame.view()}};
	const Publication overlap[] = {{text + 700, 8, frame.view()}, {text + 707, 8, frame.view()}};
	const Publication live[] = {{text + 64, 8, frame.view()}, {text + 512, 8, frame.view()}};

	ASSERT_FALSE(area.publish_all(first));
	const auto flips = area.stats().flips;
	ASSERT_FALSE(area.publish_all(around));
	EXPECT_EQ(area.stats().flips, flips + 1);
	expect_frame(text, 64, 16);
	expect_frame(text + 256, 64, 16);
	expect_frame(text + 320, 64, 32);
	expect_frame(text + 512, 64, 32);
	EXPECT_EQ(area.publish_all(clash).code, Code::invalid_argument);
	EXPECT_EQ(area.publish_all(overlap).code, Code::overlap);
	EXPECT_EQ(area.publish_all(live).code, Code::overlap);
	expect_nothing(text + 64);
	EXPECT_FALSE(area.publish_all({}));
	EXPECT_EQ(area.stats().functions, 5u);
}

/* Until nothing more goes in; then room is made, and it goes on. */
TEST_F(AreaTest, FullIsSaidAndSurvived)
{
	AreaOptions o = options();
	o.reserve_bytes = 16 << 10;
	Area small = std::move(Area::create(o)).value();
	std::uint32_t count = 0;
	Error error;

	while (!(error = small.publish(text + count * 64, 64, frame_of(16))))
		count++;
	EXPECT_EQ(error.code, Code::area_full);
	EXPECT_GT(error.at, 0u);
	/* Half of the reserve at least is a section: 16 bytes, 10 of rows, 2 of notes each. */
	EXPECT_GT(count, (16u << 10) / 2 / 28 * 9 / 10);
	for (std::uint32_t i = 0; i < count; i++)
		ASSERT_TRUE(small.lookup(text + i * 64)) << i;
	EXPECT_EQ(small.publish(text + count * 64, 64, frame_of(16)).code, Code::area_full);
	EXPECT_EQ(small.compact(100).code, Code::area_full);

	EXPECT_EQ(small.retire_range(text, 100 * 64), 100u);
	ASSERT_FALSE(small.publish(text + count * 64, 64, frame_of(16)));
	ASSERT_TRUE(small.lookup(text + count * 64));
	EXPECT_EQ(small.stats().functions, count - 99);
}

TEST_F(AreaTest, ManyAreasOneProcess)
{
	std::vector<Area> areas;

	for (std::uint64_t i = 0; i < 64; i++) {
		AreaOptions o = options();
		o.text_start = text + i * text_size;
		areas.push_back(std::move(Area::create(o)).value());
		ASSERT_FALSE(areas.back().publish(o.text_start, 64,
						  frame_of(16 * static_cast<std::int32_t>(i))));
	}
	for (std::uint64_t i = 0; i < 64; i++) {
		const auto found = areas[i].lookup(text + i * text_size + 8);

		ASSERT_TRUE(found);
		EXPECT_EQ(found->row.cfa.offset, 8 + 16 * static_cast<std::int32_t>(i));
	}
}

TEST_F(AreaTest, ForkGivesTheChildItsOwn)
{
	ASSERT_FALSE(publish(text, 64, 16));

	const pid_t child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		const bool inherited = static_cast<bool>(area.lookup(text));
		const bool retired = !area.retire(text);
		const bool published = !publish(text + 64, 64, 32);

		_exit(inherited && retired && published && area.lookup(text + 64) ? 0 : 1);
	}
	int status;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	expect_frame(text, 64, 16);
	expect_nothing(text + 64);
}

TEST_F(AreaTest, OtherMachinesFrames)
{
	AreaOptions o = options();
	o.abi = &aarch64::abi;
	Area other = std::move(Area::create(o)).value();

	ASSERT_FALSE(other.publish(text, 64, aarch64::frame_pointer(4, 8, 60)));
	const auto found = other.lookup(text + 12);
	ASSERT_TRUE(found);
	EXPECT_EQ(found->row.cfa, Rule::in_reg(aarch64::x29, 16));
	EXPECT_EQ(found->row.ra, Rule::at_cfa(-8));
}

} // namespace
