// SPDX-License-Identifier: MIT
/*
 * Function tables: shapes by number, entries made known, retired and deleted, each error, and random
 * tables against a twin that is too simple to be wrong.
 */
#include <jitsframe/function_table.hpp>

#include "in_child.hpp"
#include "naive_row.hpp"
#include "random_function.hpp"
#include "seccomp.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

using namespace jitsframe;

namespace {

constexpr std::uint64_t base = 0x7d0000000000;
constexpr std::uint64_t range = 1 << 24;

FrameShapes make_shapes(const Abi &abi = x86_64::abi)
{
	return std::move(FrameShapes::create(&abi)).value();
}

/* push rbx; sub rsp, frame; a body; add rsp, frame; pop rbx; ret */
FrameRows framed(std::uint32_t size, std::int32_t frame = 32)
{
	FrameRows rows(x86_64::abi);

	rows.push(1, x86_64::rbx).move_sp(5, -frame);
	rows.move_sp(size - 2, frame).pop(size - 1, x86_64::rbx);
	return rows;
}

std::uint32_t number_of(Result<std::uint32_t> number)
{
	EXPECT_TRUE(number) << number.error().why;
	return number ? *number : 0;
}

FunctionTableOptions options_of(const std::vector<FunctionEntry> &entries, const FrameShapes &shapes)
{
	FunctionTableOptions options;

	options.entries = entries.data();
	options.maximum = static_cast<std::uint32_t>(entries.size());
	options.range_base = base;
	options.range_end = base + range;
	options.shapes = &shapes;
	return options;
}

Area make_area(std::uint64_t text = base, std::uint64_t size = range, const Abi &abi = x86_64::abi)
{
	AreaOptions options;

	options.text_start = text;
	options.text_size = size;
	options.abi = &abi;
	options.register_with_kernel = false;
	return std::move(Area::create(options)).value();
}

/* --- shapes --- */

TEST(Shapes, FunctionsOfOneFrameAndAnyLengthHaveOneNumber)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t first = number_of(shapes.add(framed(40), 40, 5));

	EXPECT_NE(first, FrameShapes::none);
	EXPECT_EQ(number_of(shapes.add(framed(4000), 4000, 20)), first);
	EXPECT_EQ(number_of(shapes.add(framed(8), 8, 5)), first);
	EXPECT_EQ(shapes.count(), 1u);
	EXPECT_NE(number_of(shapes.add(framed(40, 48), 40, 5)), first);
	EXPECT_EQ(shapes.count(), 2u);
	/* The same rows, but the epilogue counts from the beginning. */
	EXPECT_NE(number_of(shapes.add(framed(40), 40, FrameShapes::no_body)), first);
	/* Six bytes up to the body and two behind it. */
	EXPECT_EQ(number_of(shapes.shortest(first)), 8u);
}

TEST(Shapes, FlagsArePartOfThem)
{
	FrameShapes shapes = make_shapes(aarch64::abi);
	FrameRows rows(aarch64::abi);
	const std::uint32_t plain = number_of(shapes.add(rows, 8, 4));

	rows.signal();
	const std::uint32_t signal = number_of(shapes.add(rows, 8, 4));
	rows.signal(false).pauth_key_b();
	const std::uint32_t key_b = number_of(shapes.add(rows, 8, 4));
	EXPECT_NE(plain, signal);
	EXPECT_NE(plain, key_b);
	EXPECT_NE(signal, key_b);
	rows.clear_rows();
	EXPECT_EQ(number_of(shapes.shortest(number_of(shapes.add(rows, 4, FrameShapes::no_body)))), 1u);
}

TEST(Shapes, ARemovedNumberIsUsedAgainWhenNoAddIsLeft)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t one = number_of(shapes.add(framed(40), 40, 5));

	EXPECT_EQ(number_of(shapes.add(framed(40), 40, 5)), one);
	EXPECT_FALSE(shapes.remove(one));
	EXPECT_EQ(shapes.count(), 1u);
	EXPECT_FALSE(shapes.remove(one));
	EXPECT_EQ(shapes.count(), 0u);
	EXPECT_EQ(shapes.remove(one).code, Code::not_found);
	EXPECT_EQ(shapes.shortest(one).error().code, Code::not_found);
	EXPECT_EQ(shapes.remove(FrameShapes::none).code, Code::not_found);
	EXPECT_EQ(shapes.remove(UINT32_MAX).code, Code::not_found);
	EXPECT_EQ(number_of(shapes.add(framed(40, 64), 40, 5)), one);
}

TEST(Shapes, ThousandsAreFoundAgain)
{
	FrameShapes shapes = make_shapes();
	std::map<std::int32_t, std::uint32_t> numbers;

	for (std::int32_t frame = 8; frame <= 8 * 5000; frame += 8)
		numbers[frame] = number_of(shapes.add(framed(40, frame), 40, 5));
	for (const auto &[frame, number] : numbers)
		ASSERT_EQ(number_of(shapes.add(framed(40, frame), 40, 5)), number);
	EXPECT_EQ(shapes.count(), 5000u);
	for (const auto &[frame, number] : numbers)
		if (frame % 16) {
			ASSERT_FALSE(shapes.remove(number));
			ASSERT_FALSE(shapes.remove(number));
		}
	EXPECT_EQ(shapes.count(), 2500u);
	for (const auto &[frame, number] : numbers)
		ASSERT_EQ(static_cast<bool>(shapes.shortest(number)), frame % 16 == 0);
}

TEST(Shapes, Errors)
{
	FrameShapes shapes = make_shapes();
	FrameRows broken(x86_64::abi), repeats(x86_64::abi);

	broken.push(9, x86_64::rbx).push(3, x86_64::rbx);
	EXPECT_EQ(shapes.add(broken, 40, 5).error().code, Code::invalid_rows);
	EXPECT_EQ(shapes.add(framed(40), 20, 5).error().code, Code::invalid_rows);
	EXPECT_EQ(shapes.add(framed(40), 40, 40).error().code, Code::invalid_argument);
	repeats.repeat_block(16);
	EXPECT_EQ(shapes.add(repeats, 160, 5).error().code, Code::invalid_argument);
	EXPECT_TRUE(shapes.add(repeats, 160, FrameShapes::no_body));
	EXPECT_EQ(shapes.count(), 1u);
}

TEST(Shapes, AddedAndFoundByManyThreads)
{
	FrameShapes shapes = make_shapes();
	std::vector<std::thread> threads;

	for (int t = 0; t < 4; t++)
		threads.emplace_back([&shapes, t] {
			for (std::int32_t i = 1; i <= 500; i++) {
				const std::int32_t frame = 8 * (i + 100 * t);
				const auto number = shapes.add(framed(40, frame), 40, 5);

				ASSERT_TRUE(number);
				ASSERT_TRUE(shapes.shortest(*number));
			}
		});
	for (auto &thread : threads)
		thread.join();
	EXPECT_EQ(shapes.count(), 800u);
}

/* --- tables --- */

TEST(FunctionTables, WhatIsKnownIsFoundAndNothingElse)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	const std::vector<FunctionEntry> entries = {
		{0, 64, shape}, {64, 264, shape}, {1024, 1032, shape}};
	FunctionTableOptions options = options_of(entries, shapes);

	options.count = 1;
	auto table = FunctionTable::create(options);
	ASSERT_TRUE(table) << table.error().why;
	EXPECT_EQ(table->count(), 1u);
	EXPECT_TRUE(table->lookup(base + 63));
	EXPECT_EQ(table->lookup(base + 64).error().code, Code::not_found);
	ASSERT_FALSE(table->grow(3));
	ASSERT_FALSE(table->grow(3));
	EXPECT_EQ(table->count(), 3u);

	/* The epilogue lies at the end, however long the body is. */
	const auto cfa = [&](std::uint64_t at) { return table->lookup(base + at)->row.cfa.offset; };
	EXPECT_EQ(cfa(64), 8);
	EXPECT_EQ(cfa(64 + 1), 16);
	EXPECT_EQ(cfa(64 + 5), 48);
	EXPECT_EQ(cfa(64 + 197), 48);
	EXPECT_EQ(cfa(64 + 198), 16);
	EXPECT_EQ(cfa(64 + 199), 8);
	EXPECT_EQ(cfa(1024 + 5), 48);
	EXPECT_EQ(cfa(1024 + 6), 16);
	EXPECT_FALSE(table->lookup(base + 264));
	EXPECT_FALSE(table->lookup(base + 1032));
	EXPECT_EQ(table->lookup(base + 70)->size, 200u);
}

TEST(FunctionTables, RetiredAndDeleted)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	const std::vector<FunctionEntry> entries = {{0, 64, shape}, {64, 128, shape}, {128, 192, shape}};
	Area area = make_area();
	FunctionTableOptions options = options_of(entries, shapes);

	options.count = 2;
	options.area = &area;
	ASSERT_FALSE(area.publish(base + 4096, 40, framed(40)));
	{
		auto table = FunctionTable::create(options);
		ASSERT_TRUE(table);
		EXPECT_EQ(&table->area(), &area);
		EXPECT_EQ(table->retire(2).code, Code::not_found);
		EXPECT_EQ(table->retire(3).code, Code::not_found);
		EXPECT_FALSE(table->retire(0));
		EXPECT_EQ(table->retire(0).code, Code::not_found);
		EXPECT_FALSE(area.lookup(base));
		EXPECT_TRUE(area.lookup(base + 64));
		ASSERT_FALSE(table->grow(3));
		/* Its place is another's now: deleting the table leaves that alone. */
		ASSERT_FALSE(area.publish(base, 40, framed(40)));
	}
	EXPECT_TRUE(area.lookup(base));
	EXPECT_FALSE(area.lookup(base + 64));
	EXPECT_FALSE(area.lookup(base + 128));
	EXPECT_TRUE(area.lookup(base + 4096));
	EXPECT_EQ(area.stats().functions, 2u);
}

TEST(FunctionTables, ARangeCanHaveATableAgainAfterItsOwnIsGone)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	const std::vector<FunctionEntry> entries = {{0, 64, shape}};
	FunctionTableOptions options = options_of(entries, shapes);

	options.count = 1;
	std::optional<FunctionTable> table(FunctionTable::create(options).value());
	const Registration first = table->area().status().registration;
	table.reset();
	table.emplace(FunctionTable::create(options).value());
	EXPECT_EQ(table->area().status().registration, first);
	EXPECT_TRUE(table->lookup(base));
}

struct Refused {
	const char *what;
	std::vector<FunctionEntry> entries;
	Code code;
	std::uint64_t at;
};

TEST(FunctionTables, ABadEntryIsRefusedWithAllThatCameWithIt)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t good = number_of(shapes.add(framed(40), 40, 5));
	const std::uint32_t gone = number_of(shapes.add(framed(40, 800), 40, 5));
	const std::uint32_t end = static_cast<std::uint32_t>(range);
	ASSERT_FALSE(shapes.remove(gone));
	const Refused cases[] = {
		{"no bytes", {{0, 9, good}, {9, 18, good}, {32, 32, good}}, Code::invalid_argument, 2},
		{"ends before it begins", {{0, 9, good}, {32, 31, good}}, Code::invalid_argument, 1},
		{"begins inside another", {{0, 9, good}, {9, 18, good}, {17, 26, good}}, Code::overlap, base + 9},
		{"ends inside another", {{90, 99, good}, {9, 18, good}, {82, 91, good}}, Code::overlap, base + 90},
		{"no shape", {{0, 9, good}, {9, 18, FrameShapes::none}}, Code::invalid_argument, 1},
		{"a shape that is gone", {{0, 9, good}, {9, 18, gone}}, Code::invalid_argument, 1},
		{"too short", {{0, 9, good}, {9, 16, good}}, Code::invalid_argument, 1},
		{"behind the range", {{0, 9, good}, {end - 8, end + 1, good}}, Code::outside_text, 1},
	};

	for (const Refused &refused : cases) {
		FunctionTableOptions options = options_of(refused.entries, shapes);
		options.count = 1;
		auto table = FunctionTable::create(options);
		ASSERT_TRUE(table) << refused.what;
		const Error error = table->grow(options.maximum);
		EXPECT_EQ(error.code, refused.code) << refused.what;
		EXPECT_EQ(error.at, refused.at) << refused.what;
		EXPECT_EQ(table->count(), 1u) << refused.what;
		EXPECT_EQ(table->area().stats().functions, 1u) << refused.what;
		EXPECT_TRUE(table->lookup(base + refused.entries[0].begin)) << refused.what;
		options.count = options.maximum;
		EXPECT_EQ(FunctionTable::create(options).error().code, refused.code) << refused.what;
	}
}

TEST(FunctionTables, BadOptions)
{
	FrameShapes shapes = make_shapes();
	FrameShapes foreign = make_shapes(aarch64::abi);
	Area area = make_area();
	const std::vector<FunctionEntry> entries = {{0, 64, 1}};
	const auto refused = [&](auto &&change) {
		FunctionTableOptions options = options_of(entries, shapes);

		change(options);
		return FunctionTable::create(options).error().code == Code::invalid_argument;
	};

	EXPECT_TRUE(refused([](auto &o) { o.entries = nullptr; }));
	EXPECT_TRUE(refused([](auto &o) { o.shapes = nullptr; }));
	EXPECT_TRUE(refused([](auto &o) { o.maximum = 0; }));
	EXPECT_TRUE(refused([](auto &o) { o.count = 2; }));
	EXPECT_TRUE(refused([](auto &o) { o.range_end = o.range_base; }));
	EXPECT_TRUE(refused([](auto &o) { o.range_end = o.range_base + (1ull << 32) + 1; }));
	EXPECT_TRUE(refused([&](auto &o) { o.area = &area, o.shapes = &foreign; }));
	EXPECT_FALSE(refused([&](auto &o) { o.area = &area; }));
}

TEST(FunctionTables, CountsThatCannotBe)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	const std::vector<FunctionEntry> entries = {{0, 64, shape}, {64, 128, shape}};
	auto table = FunctionTable::create(options_of(entries, shapes));

	ASSERT_TRUE(table);
	ASSERT_FALSE(table->grow(2));
	EXPECT_EQ(table->grow(1).code, Code::invalid_argument);
	EXPECT_EQ(table->grow(1).at, 1u);
	EXPECT_EQ(table->grow(3).code, Code::invalid_argument);
	EXPECT_EQ(table->count(), 2u);
}

/* A gap that was left by one that is gone: the new function is appended, and the table stays. */
TEST(FunctionTables, EntriesNeedNotAscend)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	const std::vector<FunctionEntry> entries = {
		{0, 64, shape}, {64, 128, shape}, {128, 192, shape}, {70, 100, shape}};
	auto table = FunctionTable::create(options_of(entries, shapes));

	ASSERT_TRUE(table);
	ASSERT_FALSE(table->grow(3));
	EXPECT_EQ(table->grow(4).code, Code::overlap);
	ASSERT_FALSE(table->retire(1));
	ASSERT_FALSE(table->grow(4));
	EXPECT_FALSE(table->lookup(base + 69));
	EXPECT_EQ(table->lookup(base + 70 + 28)->row.cfa.offset, 16);
	EXPECT_FALSE(table->lookup(base + 100));
	EXPECT_TRUE(table->lookup(base + 128));
}

/* What an area says comes through, and what was published of the same call is taken back. */
TEST(FunctionTables, AnAreaThatIsSharedMayRefuse)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	const std::vector<FunctionEntry> entries = {{0, 64, shape}, {64, 128, shape}, {4096, 4160, shape}};
	Area area = make_area(base, 4096);
	FunctionTableOptions options = options_of(entries, shapes);

	options.area = &area;
	auto table = FunctionTable::create(options);
	ASSERT_TRUE(table);
	ASSERT_FALSE(area.publish(base + 100, 40, framed(40)));
	EXPECT_EQ(table->grow(2).code, Code::overlap);
	EXPECT_EQ(area.stats().functions, 1u);
	ASSERT_FALSE(area.retire(base + 100));
	EXPECT_EQ(table->grow(3).code, Code::outside_text);
	EXPECT_EQ(area.stats().functions, 0u);
	ASSERT_FALSE(table->grow(2));
	EXPECT_EQ(area.stats().functions, 2u);
}

/* A shape is needed only until the entry is known. */
TEST(FunctionTables, ShapesMayGoWhenEntriesAreKnown)
{
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	const std::vector<FunctionEntry> entries = {{0, 64, shape}};
	auto table = FunctionTable::create(options_of(entries, shapes));

	ASSERT_TRUE(table);
	ASSERT_FALSE(table->grow(1));
	ASSERT_FALSE(shapes.remove(shape));
	EXPECT_EQ(table->lookup(base + 5)->row.cfa.offset, 48);
}

int grow_without_system_calls(FunctionTable &table, std::uint32_t maximum)
{
	if (!seccomp::forbid_everything())
		return no_seccomp;
	for (std::uint32_t count = 1; count <= maximum; count++)
		if (table.grow(count))
			return 1;
	for (std::uint32_t i = 0; i < maximum; i += 3)
		if (table.retire(i))
			return 1;
	return 0;
}

TEST(FunctionTables, GrowingMakesNoSystemCall)
{
	if (under_tsan)
		GTEST_SKIP() << "TSan's run time maps memory of its own as it goes";

	constexpr std::uint32_t maximum = 20000;
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	std::vector<FunctionEntry> entries;

	for (std::uint32_t i = 0; i < maximum; i++)
		entries.push_back({i * 64, i * 64 + 50, shape});
	auto table = FunctionTable::create(options_of(entries, shapes));
	ASSERT_TRUE(table);
	/* malloc may ask for memory once for the rows of the first shape. */
	ASSERT_FALSE(table->grow(1));

	/* Not by _exit(), before which ASan makes some. */
	expect_ok(in_child([&table] {
		return static_cast<int>(
			syscall(__NR_exit_group, grow_without_system_calls(*table, maximum)));
	}));
}

/* Every lookup of what is known finds it, whatever the table is growing to. */
TEST(FunctionTables, FoundWhileTheTableGrows)
{
	constexpr std::uint32_t maximum = 4000;
	FrameShapes shapes = make_shapes();
	const std::uint32_t shape = number_of(shapes.add(framed(40), 40, 5));
	std::vector<FunctionEntry> entries;
	std::atomic<std::uint32_t> known{1};
	std::atomic<std::uint64_t> looked{0};
	std::atomic<bool> is_done{false};

	for (std::uint32_t i = 0; i < maximum; i++)
		entries.push_back({i * 64, i * 64 + 50, shape});
	auto table = FunctionTable::create(options_of(entries, shapes));
	ASSERT_TRUE(table);
	ASSERT_FALSE(table->grow(1));
	std::uint64_t wrong = 0;
	std::thread reader([&] {
		Random random(1);

		while (!is_done.load(std::memory_order_relaxed)) {
			const std::uint32_t count = known.load(std::memory_order_acquire);
			const std::uint64_t i = random.below(count);
			const auto found = table->lookup(base + i * 64 + 48);

			wrong += !found || found->start != base + i * 64 ||
				 found->row.cfa.offset != 16;
			looked.fetch_add(1, std::memory_order_relaxed);
		}
	});
	for (std::uint32_t count = 1; count <= maximum; count++) {
		ASSERT_FALSE(table->grow(count));
		known.store(count, std::memory_order_release);
		/* On one processor, too, both run in turn. */
		for (const std::uint64_t before = looked; count % 256 == 0 && looked == before;)
			std::this_thread::yield();
	}
	is_done = true;
	reader.join();
	EXPECT_EQ(wrong, 0u);
	EXPECT_GE(looked, maximum / 256);
}

/* --- against a twin --- */

class TableTwin : public testing::TestWithParam<std::uint64_t> {
protected:
	const Abi &abi = GetParam() % 2 ? x86_64::abi : aarch64::abi;

	/* Functions and their entries, ascending or not; shapes come from each as it is. */
	void plan()
	{
		std::uint64_t at = random.below(100);

		for (std::uint32_t i = 0; i < functions; i++) {
			Function function = random_function(abi, random, base + at);
			const std::uint32_t body =
				function.repeat_block
					? FrameShapes::no_body
					: static_cast<std::uint32_t>(random.below(function.size));
			const std::uint32_t shape =
				number_of(shapes.add(function.view(), function.size, body));
			lengthen(function, body);
			if (at + function.size > range)
				break;
			const auto begin = static_cast<std::uint32_t>(at);
			entries.push_back({begin, begin + function.size, shape});
			planned.push_back(function);
			at += function.size + random.below(3) * random.below(500);
		}
		for (std::size_t i = entries.size(); GetParam() % 4 == 0 && i > 1; i--) {
			const std::size_t other = random.below(i);

			std::swap(entries[i - 1], entries[other]);
			std::swap(planned[i - 1], planned[other]);
		}
	}
	/* A longer body, as another function of the shape may have it. */
	void lengthen(Function &function, std::uint32_t body)
	{
		const auto more = static_cast<std::uint32_t>(random.below(3) * random.below(1000));

		if (function.repeat_block || body == FrameShapes::no_body)
			return;
		function.size += more;
		for (Row &row : function.rows)
			if (row.offset > body)
				row.offset += more;
	}
	void check(const FunctionTable &table, std::uint64_t pc)
	{
		const Function *expected = nullptr;
		for (const auto &[i, function] : known)
			if (pc >= function->start && pc - function->start < function->size)
				expected = function;
		const auto found = table.lookup(pc);

		ASSERT_EQ(expected != nullptr, static_cast<bool>(found)) << std::hex << pc;
		if (!expected)
			return;
		ASSERT_EQ(found->row, naive_row(*expected, pc)) << std::hex << pc;
		ASSERT_EQ(found->signal, expected->signal);
		ASSERT_EQ(found->pauth_key_b, expected->pauth_key_b);
	}
	void check_all(const FunctionTable &table)
	{
		for (const Function &function : planned)
			for (const std::uint64_t pc :
			     {function.start - 1, function.start, function.start + random.below(function.size),
			      function.start + function.size - 1, function.start + function.size})
				check(table, pc);
	}
	void know(std::uint32_t from, std::uint32_t to)
	{
		for (std::uint32_t i = from; i < to; i++)
			known[i] = &planned[i];
	}
	void retire_one(FunctionTable &table)
	{
		const auto i = static_cast<std::uint32_t>(random.below(entries.size()));

		ASSERT_EQ(static_cast<bool>(table.retire(i)), !known.count(i));
		known.erase(i);
	}

	static constexpr std::uint32_t functions = 150;
	Random random{GetParam()};
	FrameShapes shapes = make_shapes(abi);
	std::vector<FunctionEntry> entries;
	std::vector<Function> planned;
	std::map<std::uint32_t, const Function *> known;
};

TEST_P(TableTwin, RandomTables)
{
	plan();
	Area area = make_area(base, range, abi);
	FunctionTableOptions options = options_of(entries, shapes);
	options.area = GetParam() % 3 ? nullptr : &area;
	options.count = static_cast<std::uint32_t>(random.below(options.maximum));
	auto table = FunctionTable::create(options);
	ASSERT_TRUE(table) << table.error().why;
	know(0, options.count);
	check_all(*table);
	while (table->count() < options.maximum && !HasFatalFailure()) {
		const std::uint32_t from = table->count();
		const auto to = static_cast<std::uint32_t>(
			std::min<std::uint64_t>(from + random.below(20), options.maximum));
		ASSERT_FALSE(table->grow(to));
		know(from, to);
		retire_one(*table);
		check_all(*table);
	}
	{
		const FunctionTable gone(std::move(*table));
	}
	EXPECT_EQ(area.stats().functions, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TableTwin, testing::Range<std::uint64_t>(1, 13));

} // namespace
