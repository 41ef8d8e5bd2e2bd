// SPDX-License-Identifier: MIT
/* Instruction memory: its views, its allocator, and functions with one lifetime. */
#include <jitsframe/code.hpp>

#include "code/free_list.hpp"
#include "returns.hpp"
#include "seccomp.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace jitsframe;

namespace {

struct Mapping {
	std::string protection;
	std::string name;
};

/* The line of /proc/self/maps that covers `address`. */
Mapping mapping_at(std::uint64_t address)
{
	std::FILE *maps = std::fopen("/proc/self/maps", "re");
	Mapping found;
	char line[512];

	while (maps && std::fgets(line, sizeof(line), maps)) {
		std::uint64_t start = 0, end = 0;
		char protection[8] = "", name[256] = "";

		if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %255[^\n]", &start, &end,
				protection, name) >= 3 &&
		    address >= start && address < end)
			found = {protection, name};
	}
	if (maps)
		std::fclose(maps);
	return found;
}

std::uint64_t where(const void *p)
{
	return reinterpret_cast<std::uint64_t>(p);
}

int call(std::uint64_t address)
{
	return reinterpret_cast<int (*)()>(address)();
}

void put(const CodeSpan &span, std::uint32_t value)
{
	const auto code = returns::code(value);

	std::memcpy(span.writable, code.data(), code.size());
}

CodeOptions small(Backing backing = Backing::memfd)
{
	CodeOptions options;

	options.window_bytes = 1 << 20;
	options.backing = backing;
	return options;
}

CodeMemory make(const CodeOptions &options)
{
	return std::move(CodeMemory::create(options)).value();
}

class CodeViews : public testing::TestWithParam<Backing> {
protected:
	CodeMemory memory = make(small(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(Both, CodeViews, testing::Values(Backing::memfd, Backing::shared_anonymous));

TEST_P(CodeViews, NoPageIsWritableAndExecutable)
{
	const Mapping run = mapping_at(memory.text_start());
	const Mapping write = mapping_at(where(memory.writable(memory.text_start())));

	EXPECT_EQ(run.protection, "r-xs");
	EXPECT_EQ(write.protection, "rw-s");
	EXPECT_EQ(run.name, write.name);
	EXPECT_EQ(run.name, GetParam() == Backing::memfd ? "/memfd:jitsframe (deleted)"
							 : "/dev/zero (deleted)");
	/* To the end. */
	EXPECT_EQ(mapping_at(memory.text_start() + memory.text_size() - 1).protection, "r-xs");
	EXPECT_EQ(memory.writable(memory.text_start() + memory.text_size()), nullptr);
	EXPECT_EQ(memory.writable(memory.text_start() - 1), nullptr);
}

TEST_P(CodeViews, WhatIsWrittenRuns)
{
	WriteScope scope = memory.begin();
	std::vector<std::uint64_t> functions;

	for (std::uint32_t i = 0; i < 100; i++) {
		const auto span = scope.allocate(returns::size);

		ASSERT_TRUE(span);
		put(*span, i * 1000003);
		functions.push_back(span->address);
	}
	EXPECT_EQ(scope.commit().sync, Sync::not_needed);
	for (std::uint32_t i = 0; i < 100; i++)
		EXPECT_EQ(call(functions[i]), static_cast<int>(i * 1000003));
}

TEST_P(CodeViews, WhatIsFreedIsTakenAgain)
{
	std::uint64_t first = 0;

	for (std::uint32_t i = 0; i < 50; i++) {
		WriteScope scope = memory.begin();
		const auto span = scope.allocate(returns::size);

		ASSERT_TRUE(span);
		put(*span, i);
		EXPECT_EQ(scope.commit().sync != Sync::not_needed, i != 0);
		(void)maybe_synchronize();
		EXPECT_EQ(call(span->address), static_cast<int>(i));
		EXPECT_EQ(span->address, first ? first : span->address);
		first = span->address;
		EXPECT_FALSE(memory.free(first));
	}
	EXPECT_EQ(memory.stats().live_bytes, 0u);
	EXPECT_EQ(memory.stats().allocations, 50u);
	EXPECT_EQ(memory.stats().frees, 50u);
}

TEST_P(CodeViews, FreeMemoryIsGivenBack)
{
	std::vector<std::uint64_t> spans;
	WriteScope scope = memory.begin();

	for (int i = 0; i < 64; i++) {
		const auto span = scope.allocate(4096);

		ASSERT_TRUE(span);
		std::memset(span->writable, 0x5a, span->size);
		spans.push_back(span->address);
	}
	for (std::size_t i = 0; i < 64; i += 2)
		ASSERT_FALSE(memory.free(spans[i]));
	EXPECT_EQ(memory.trim(), (1u << 20) - 32 * 4096);
	for (std::size_t i = 0; i < 64; i++)
		EXPECT_EQ(*memory.writable(spans[i]), std::byte(i % 2 ? 0x5a : 0));
}

TEST_P(CodeViews, PatchesAreWholeWords)
{
	WriteScope scope = memory.begin();
	const auto span = scope.allocate(64);
	std::uint64_t word = 0;

	ASSERT_TRUE(span);
	std::memset(span->writable, 0, 64);
	EXPECT_FALSE(scope.patch32(span->address + 4, 0x11223344));
	EXPECT_FALSE(scope.patch64(span->address + 8, 0x1122334455667788));
	EXPECT_EQ(scope.patch32(span->address + 2, 0).code, Code::invalid_argument);
	EXPECT_EQ(scope.patch64(span->address + 4, 0).code, Code::invalid_argument);
	EXPECT_EQ(scope.patch32(memory.text_start() + memory.text_size(), 0).code, Code::outside_text);
	std::memcpy(&word, span->writable + 8, 8);
	EXPECT_EQ(word, 0x1122334455667788u);
	std::memcpy(&word, span->writable, 8);
	EXPECT_EQ(word, 0x1122334400000000u);
	EXPECT_EQ(scope.commit().sync, Sync::not_needed);

	EXPECT_FALSE(scope.patch32(span->address, 1, Barrier::none));
	EXPECT_EQ(scope.commit().sync, Sync::not_needed);
	EXPECT_FALSE(scope.patch32(span->address, 2));
	EXPECT_NE(scope.commit().sync, Sync::not_needed);
}

TEST_P(CodeViews, RewrittenCodeRuns)
{
	WriteScope scope = memory.begin();
	const auto span = scope.allocate(returns::size);

	ASSERT_TRUE(span);
	put(*span, 1);
	(void)scope.commit();
	EXPECT_EQ(call(span->address), 1);

	const auto again = scope.rewrite(span->address, span->size);
	ASSERT_TRUE(again);
	EXPECT_EQ(again->writable, span->writable);
	put(*again, 2);
	EXPECT_NE(scope.commit().sync, Sync::not_needed);
	(void)maybe_synchronize();
	EXPECT_EQ(call(span->address), 2);
}

/* Running off a function's end must not be running into what lay there before. */
TEST_P(CodeViews, TheRestOfTheGranuleTraps)
{
	WriteScope scope = memory.begin();
	const auto whole = scope.allocate(64);

	ASSERT_TRUE(whole);
	std::memset(whole->writable, 0x5a, 64);
	ASSERT_FALSE(memory.free(whole->address));

	const auto span = scope.allocate(10);
	ASSERT_TRUE(span);
	EXPECT_EQ(span->address, whole->address);
	for (std::size_t i = 10; i < 64; i++)
		EXPECT_NE(span->writable[i], std::byte{0x5a});
}

TEST_P(CodeViews, AChildMayRunAndNotWrite)
{
	WriteScope scope = memory.begin();
	const auto span = scope.allocate(returns::size);

	ASSERT_TRUE(span);
	put(*span, 7);
	(void)scope.commit();

	const pid_t child = fork();
	if (!child) {
		const bool refuses = scope.allocate(8).error().code == Code::unsupported &&
				     scope.rewrite(span->address, 4).error().code == Code::unsupported &&
				     memory.trim() == 0;
		/* But it can have memory of its own. */
		Result<CodeMemory> own = CodeMemory::create(small(GetParam()));
		_exit(refuses && call(span->address) == 7 && own && own->begin().allocate(8) ? 0 : 1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(scope.allocate(8));
}

TEST(Code, ErrorsSayWhy)
{
	CodeMemory memory = make(small());
	WriteScope scope = memory.begin();

	EXPECT_EQ(scope.allocate(0).error().code, Code::invalid_argument);
	EXPECT_EQ(scope.allocate(8, 24).error().code, Code::invalid_argument);
	EXPECT_EQ(scope.allocate((1 << 20) + 1).error().code, Code::no_memory);
	EXPECT_EQ(scope.allocate(UINT32_MAX).error().code, Code::no_memory);
	EXPECT_EQ(scope.rewrite(memory.text_start() - 4, 8).error().code, Code::outside_text);

	const auto span = scope.allocate(200);
	ASSERT_TRUE(span);
	EXPECT_EQ(memory.free(span->address + 64).code, Code::not_found);
	EXPECT_EQ(memory.free(span->address + 1).code, Code::not_found);
	EXPECT_EQ(memory.free(0).code, Code::not_found);
	EXPECT_EQ(memory.free(~0ull).code, Code::not_found);
	EXPECT_FALSE(memory.free(span->address));
	EXPECT_EQ(memory.free(span->address).code, Code::not_found);

	CodeOptions options;
	options.window_bytes = 0;
	EXPECT_EQ(CodeMemory::create(options).error().code, Code::invalid_argument);
	options.window_bytes = 1ull << 40;
	EXPECT_EQ(CodeMemory::create(options).error().code, Code::invalid_argument);
	options.window_bytes = 4096;
	options.sync.granule_bytes = 3;
	EXPECT_EQ(CodeMemory::create(options).error().code, Code::invalid_argument);
}

TEST(Code, NoMemfdIsAnError)
{
	bool installed = false;

	std::thread([&] {
		installed = seccomp::refuse(__NR_memfd_create, EPERM);
		if (!installed)
			return;
		const auto memory = CodeMemory::create(small());
		EXPECT_EQ(memory.error().code, Code::system);
		EXPECT_EQ(memory.error().os_errno, EPERM);
		EXPECT_TRUE(CodeMemory::create(small(Backing::shared_anonymous)));
	}).join();
	if (!installed)
		GTEST_SKIP() << "seccomp filters cannot be installed here";
}

TEST(Code, NearWhatIsAskedFor)
{
	CodeMemory some = make(small());
	CodeOptions options = small();

	/* Freed just now, so it is free, unless another thread maps at this moment. */
	const std::uint64_t hint = some.text_start() - (64ull << 20);
	options.near_address = hint + 123;
	CodeMemory memory = make(options);
	const std::uint64_t distance = memory.text_start() > hint ? memory.text_start() - hint
								  : hint - memory.text_start();
	EXPECT_LT(distance, 2ull << 30);
}

TEST(Code, AlignmentIsKept)
{
	for (const std::uint32_t granule : {16u, 64u, 256u}) {
		CodeOptions options = small();
		options.sync.granule_bytes = granule;
		CodeMemory memory = make(options);
		WriteScope scope = memory.begin();

		for (std::uint32_t alignment = 1; alignment <= 65536; alignment *= 2) {
			const auto span = scope.allocate(40, alignment);

			ASSERT_TRUE(span);
			EXPECT_EQ(span->address % alignment, 0u) << alignment;
			EXPECT_EQ(span->address % granule, 0u);
		}
	}
}

TEST(Code, SeveralThreadsAllocate)
{
	CodeMemory memory = make(small());
	std::vector<std::thread> threads;
	std::atomic<int> wrong{0};

	for (std::uint32_t thread = 0; thread < 4; thread++)
		threads.emplace_back([&, thread] {
			for (std::uint32_t i = 0; i < 2000; i++) {
				WriteScope scope = memory.begin();
				const auto span = scope.allocate(returns::size);

				if (!span) {
					wrong++;
					return;
				}
				put(*span, thread * 10000 + i);
				(void)scope.commit();
				(void)maybe_synchronize();
				wrong += call(span->address) != static_cast<int>(thread * 10000 + i);
				wrong += bool(memory.free(span->address));
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(memory.stats().live_spans, 0u);
	EXPECT_EQ(memory.stats().allocations, 8000u);
}

/* --- the list of what is free, against a naive twin -------------------------------- */

class Twin {
public:
	Twin(std::uint32_t granules, std::uint32_t bias) : used_(granules), bias_(bias) {}

	void take(std::uint32_t first, std::uint32_t granules)
	{
		for (std::uint32_t i = first; i < first + granules; i++) {
			ASSERT_FALSE(used_.at(i));
			used_[i] = true;
		}
		pieces[first] = granules;
	}
	void give(std::uint32_t first)
	{
		for (std::uint32_t i = 0; i < pieces.at(first); i++)
			used_[first + i] = false;
		pieces.erase(first);
	}
	[[nodiscard]] bool has(std::uint32_t granules, std::uint32_t align) const
	{
		for (std::uint32_t first = 0; first + granules <= used_.size(); first++) {
			std::uint32_t n = 0;

			if ((first + bias_) % align)
				continue;

			while (n < granules && !used_[first + n])
				n++;
			if (n == granules)
				return true;
		}
		return false;
	}
	[[nodiscard]] std::map<std::uint32_t, std::uint32_t> free_pieces() const
	{
		std::map<std::uint32_t, std::uint32_t> free;

		for (std::uint32_t i = 0; i < used_.size(); i++)
			if (!used_[i]) {
				const std::uint32_t first = i;
				while (i < used_.size() && !used_[i])
					i++;
				free[first] = i - first;
			}
		return free;
	}

	std::map<std::uint32_t, std::uint32_t> pieces;

private:
	std::vector<bool> used_;
	std::uint32_t bias_;
};

void expect_same(const FreeList &list, const Twin &twin)
{
	std::map<std::uint32_t, std::uint32_t> free;

	list.for_free([&](std::uint32_t first, std::uint32_t granules) { free[first] = granules; });
	ASSERT_EQ(free, twin.free_pieces());
}

TEST(FreeList, AgreesWithANaiveTwin)
{
	for (const std::uint32_t granules : {1u, 7u, 64u, 1000u, 4096u}) {
		FreeList list;
		const std::uint32_t bias = granules % 3 ? granules * 37 & FreeList::largest_bias : 0;
		Twin twin(granules, bias);
		std::mt19937 random(granules);
		const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };

		ASSERT_TRUE(list.create(granules, bias));
		for (int i = 0; i < 4000; i++) {
			if (below(100) < 55) {
				const std::uint32_t size = 1 + below(below(8) ? 6 : granules / 4 + 1);
				const std::uint32_t align = 1u << (below(3) ? 0 : below(5));
				const std::uint32_t first = list.take(size, align);

				if (first == FreeList::none) {
					ASSERT_FALSE(twin.has(size, align));
				} else {
					ASSERT_EQ((first + bias) % align, 0u);
					ASSERT_NO_FATAL_FAILURE(twin.take(first, size));
				}
			} else if (!twin.pieces.empty()) {
				auto piece = twin.pieces.lower_bound(below(granules));

				if (piece == twin.pieces.end())
					piece = twin.pieces.begin();
				const std::uint32_t first = piece->first;
				ASSERT_EQ(list.give(first), piece->second);
				twin.give(first);
				ASSERT_EQ(list.give(first), 0u);
			}
			if (i % 16 == 0) {
				ASSERT_NO_FATAL_FAILURE(expect_same(list, twin));
			}
		}
		while (!twin.pieces.empty()) {
			const std::uint32_t first = twin.pieces.begin()->first;

			ASSERT_NE(list.give(first), 0u);
			twin.give(first);
		}
		expect_same(list, twin);
		EXPECT_EQ(list.take(granules, 1), 0u);
		EXPECT_EQ(list.take(1, 1), FreeList::none);
		EXPECT_EQ(list.give(granules), 0u);
	}
}

/* --- functions: text, rows and name at once ---------------------------------------- */

struct Heard {
	std::map<std::uint64_t, std::string> names;
	std::uint32_t loads = 0, unloads = 0;

	CodeObserver observer{this, loaded, unloaded};

	static void loaded(void *context, const CodeEvent &event) noexcept
	{
		auto &heard = *static_cast<Heard *>(context);

		heard.names[event.start] = event.name;
		heard.loads++;
	}
	static void unloaded(void *context, std::uint64_t start, std::uint32_t) noexcept
	{
		auto &heard = *static_cast<Heard *>(context);

		heard.names.erase(start);
		heard.unloads++;
	}
};

class Functions : public testing::Test {
protected:
	Area area_for(const CodeMemory &code)
	{
		AreaOptions options;

		options.text_start = code.text_start();
		options.text_size = code.text_size();
		return std::move(Area::create(options)).value();
	}
	[[nodiscard]] CodePlace place() { return {&area, &heard.observer}; }

	/* The shape of this machine's leaf: the rows of a function that pushes nothing. */
	FrameRows rows{};
	CodeMemory memory = make(small());
	Area area = area_for(memory);
	Heard heard;
};

TEST_F(Functions, HaveOneLifetime)
{
	const auto code = returns::code(42);
	FunctionText text;
	std::uint64_t start = 0;

	text.bytes = code;
	text.rows = &rows;
	text.name = "answer";
	{
		Result<LiveFunction> function = LiveFunction::create(memory, text, place());

		ASSERT_TRUE(function) << function.error().why;
		start = function->start();
		EXPECT_EQ(call(start), 42);
		EXPECT_TRUE(area.lookup(start + 1));
		EXPECT_EQ(heard.names.at(start), "answer");
		EXPECT_EQ(memory.stats().live_spans, 1u);

		LiveFunction moved = std::move(*function);
		EXPECT_EQ(moved.start(), start);
		EXPECT_EQ(heard.unloads, 0u);
	}
	EXPECT_FALSE(area.lookup(start + 1));
	EXPECT_TRUE(heard.names.empty());
	EXPECT_EQ(memory.stats().live_spans, 0u);
}

TEST_F(Functions, ComeInBatches)
{
	WriteScope scope = memory.begin();
	std::vector<LiveFunction> functions;

	for (std::uint32_t i = 0; i < 20; i++) {
		const auto code = returns::code(i);
		FunctionText text;

		text.bytes = code;
		text.rows = &rows;
		Result<LiveFunction> function = LiveFunction::create(scope, text, place());
		ASSERT_TRUE(function);
		functions.push_back(std::move(*function));
	}
	(void)scope.commit();
	EXPECT_EQ(memory.stats().sync.batches, 1u);
	for (std::uint32_t i = 0; i < 20; i++)
		EXPECT_EQ(call(functions[i].start()), static_cast<int>(i));
	functions[3] = std::move(functions[4]);
	EXPECT_EQ(heard.unloads, 1u);
	EXPECT_EQ(area.stats().functions, 19u);
}

TEST_F(Functions, MayBeEmittedInPlace)
{
	std::uint32_t value = 99;
	FunctionText text;

	text.size = returns::size;
	text.context = &value;
	text.emit = [](void *context, const CodeSpan &span) noexcept {
		put(span, *static_cast<std::uint32_t *>(context));
		return *static_cast<std::uint32_t *>(context) != 0;
	};
	Result<LiveFunction> function = LiveFunction::create(memory, text, {});
	ASSERT_TRUE(function);
	EXPECT_EQ(call(function->start()), 99);

	value = 0;
	EXPECT_EQ(LiveFunction::create(memory, text, place()).error().code, Code::invalid_argument);
	EXPECT_EQ(memory.stats().live_spans, 1u);
	EXPECT_EQ(heard.loads, 0u);
}

TEST_F(Functions, ThatFailLeaveNothing)
{
	const auto code = returns::code(1);
	FrameRows broken;
	FunctionText text;

	EXPECT_EQ(LiveFunction::create(memory, text, place()).error().code, Code::invalid_argument);
	broken.move_sp(8, -16).move_sp(4, -16);
	text.bytes = code;
	text.rows = &broken;
	EXPECT_EQ(LiveFunction::create(memory, text, place()).error().code, Code::invalid_rows);
	EXPECT_EQ(memory.stats().live_spans, 0u);
	EXPECT_EQ(area.stats().functions, 0u);
	EXPECT_EQ(heard.loads, 0u);
}

} // namespace
