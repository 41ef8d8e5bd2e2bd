// SPDX-License-Identifier: MIT
/*
 * When the barrier is called, and when not: counted at the system call. No
 * machine at hand shows stale instructions (x86-64 drops them when the line is
 * written, QEMU translates anew), so that a barrier left out is found by its
 * number, not by wrong results.
 */
#include <jitsframe/code.hpp>

#include "membarrier_counter.hpp"
#include "returns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace jitsframe;
using membarrier_counter::Count;

namespace {

constexpr std::uint64_t granule = 64;

/* A window of plain memory: a domain does not care what is in it. */
class Window {
public:
	explicit Window(SyncOptions options = {})
		: domain(std::move(SyncDomain::create(at(0), sizeof(memory_), options)).value())
	{
	}
	[[nodiscard]] std::uint64_t at(std::uint64_t offset) const
	{
		return reinterpret_cast<std::uint64_t>(memory_) + offset;
	}
	[[nodiscard]] Sync write(std::uint64_t offset, std::uint64_t size, Barrier barrier = Barrier::if_reused)
	{
		SyncBatch batch = domain.begin();

		EXPECT_FALSE(batch.mark_written(at(offset), size, barrier));
		return batch.commit().sync;
	}

private:
	alignas(4096) std::byte memory_[1 << 20] = {};

public:
	SyncDomain domain;
};

std::unique_ptr<Window> window(SyncOptions options = {})
{
	return std::make_unique<Window>(options);
}

SyncOptions without_membarrier()
{
	SyncOptions options;

	options.use_membarrier = false;
	return options;
}

bool has_membarrier()
{
	return window()->domain.status().means == SyncMeans::membarrier;
}

#define NEEDS_MEMBARRIER() \
	if (!has_membarrier()) \
	GTEST_SKIP() << window()->domain.status().why

/* Run the body where its barriers are counted at the system call. */
void counted(const std::function<void(const Count &)> &body)
{
	if (!membarrier_counter::run(body))
		GTEST_SKIP() << "seccomp filters with a listener cannot be installed here";
}

TEST(Sync, FreshCodeNeedsNothing)
{
	auto w = window(without_membarrier());

	for (std::uint64_t i = 0; i < 1000; i++)
		ASSERT_EQ(w->write(i * granule, 50), Sync::not_needed);
	EXPECT_EQ(w->domain.stats().batches, 1000u);
	EXPECT_EQ(w->domain.stats().writes, 1000u);
	EXPECT_EQ(w->domain.stats().bytes, 50000u);
	EXPECT_EQ(w->domain.stats().reusing_batches, 0u);
}

TEST(Sync, ReuseIsOwedWithoutMembarrier)
{
	auto w = window(without_membarrier());

	(void)maybe_synchronize();
	EXPECT_EQ(w->write(0, 64), Sync::not_needed);
	EXPECT_FALSE(maybe_synchronize());
	EXPECT_EQ(w->write(0, 64), Sync::owed);
	EXPECT_TRUE(maybe_synchronize());
	EXPECT_FALSE(maybe_synchronize());
	EXPECT_EQ(w->domain.stats().owed, 1u);
	EXPECT_EQ(w->domain.stats().barriers, 0u);
	EXPECT_EQ(w->domain.status().means, SyncMeans::not_asked);
}

TEST(Sync, EveryThreadPaysForItself)
{
	auto w = window(without_membarrier());
	bool other_paid = false, other_paid_twice = true;

	(void)w->write(0, 64);
	EXPECT_EQ(w->write(0, 64), Sync::owed);
	EXPECT_TRUE(maybe_synchronize());
	std::thread([&] {
		other_paid = maybe_synchronize();
		other_paid_twice = maybe_synchronize();
	}).join();
	EXPECT_TRUE(other_paid);
	EXPECT_FALSE(other_paid_twice);
}

TEST(Sync, TheGranuleDecides)
{
	auto w = window(without_membarrier());

	/* The last byte of one granule and the first of the next. */
	EXPECT_EQ(w->write(63, 2), Sync::not_needed);
	EXPECT_EQ(w->write(0, 1), Sync::owed);
	EXPECT_EQ(w->write(127, 1), Sync::owed);
	EXPECT_EQ(w->write(128, 1), Sync::not_needed);
	EXPECT_EQ(w->write(100, 1000), Sync::owed);
	EXPECT_EQ(w->domain.stats().reused_granules, 4u);
	EXPECT_TRUE(w->domain.was_runnable(w->at(1099), 1));
	EXPECT_FALSE(w->domain.was_runnable(w->at(1152), 64));
}

TEST(Sync, ABatchDoesNotTakeItsOwnWritesForReuse)
{
	auto w = window(without_membarrier());
	SyncBatch batch = w->domain.begin();

	for (int round = 0; round < 3; round++)
		for (const std::uint64_t offset : {300u, 10u, 40u, 310u, 0u, 64u})
			EXPECT_FALSE(batch.mark_written(w->at(offset), 30));
	EXPECT_FALSE(batch.mark_written(w->at(5), 4, Barrier::none));
	EXPECT_EQ(batch.commit().sync, Sync::not_needed);
	EXPECT_EQ(batch.pending(), 0u);
	EXPECT_EQ(batch.commit().sync, Sync::not_needed);
	EXPECT_EQ(w->domain.stats().batches, 1u);
	EXPECT_EQ(w->domain.stats().writes, 19u);
}

TEST(Sync, ManyRangesInOneBatch)
{
	auto w = window(without_membarrier());
	SyncBatch batch = w->domain.begin();

	for (std::uint64_t i = 0; i < 1000; i++)
		EXPECT_FALSE(batch.mark_written(w->at((999 - i) * 2 * granule), 8));
	EXPECT_EQ(batch.pending(), 1000u);
	SyncBatch moved = std::move(batch);
	EXPECT_EQ(moved.commit().sync, Sync::not_needed);
	for (std::uint64_t i = 0; i < 1000; i++) {
		ASSERT_TRUE(w->domain.was_runnable(w->at(i * 2 * granule), 1));
		ASSERT_FALSE(w->domain.was_runnable(w->at((i * 2 + 1) * granule), 1));
	}
}

TEST(Sync, ExemptWritesNeedNothing)
{
	auto w = window(without_membarrier());

	EXPECT_EQ(w->write(0, 64), Sync::not_needed);
	EXPECT_EQ(w->write(0, 4, Barrier::none), Sync::not_needed);
	EXPECT_EQ(w->domain.stats().exempt_writes, 1u);

	/* But what they wrote can run: */
	EXPECT_EQ(w->write(128, 4, Barrier::none), Sync::not_needed);
	EXPECT_EQ(w->write(128, 4), Sync::owed);

	/* Not for the others of its batch. */
	SyncBatch batch = w->domain.begin();
	EXPECT_FALSE(batch.mark_written(w->at(0), 4, Barrier::none));
	EXPECT_FALSE(batch.mark_written(w->at(4), 4));
	EXPECT_EQ(batch.commit().sync, Sync::owed);
}

TEST(Sync, TheEndOfAScopeCommits)
{
	auto w = window(without_membarrier());

	{
		SyncBatch batch = w->domain.begin();
		EXPECT_FALSE(batch.mark_written(w->at(0), 64));
	}
	EXPECT_TRUE(w->domain.was_runnable(w->at(0), 1));
	EXPECT_EQ(w->domain.stats().batches, 1u);
}

TEST(Sync, WhatRanBeforeTheDomain)
{
	auto w = window(without_membarrier());

	EXPECT_FALSE(w->domain.assume_runnable(w->at(4096), 100));
	EXPECT_EQ(w->write(4096 + 64, 4), Sync::owed);
	EXPECT_EQ(w->write(4096 + 128, 4), Sync::not_needed);
	EXPECT_EQ(w->domain.assume_runnable(w->at(1 << 20), 1).code, Code::outside_text);
}

TEST(Sync, ErrorsSayWhy)
{
	auto w = window(without_membarrier());
	SyncBatch batch = w->domain.begin();

	EXPECT_EQ(batch.mark_written(w->at(0), 0).code, Code::invalid_argument);
	EXPECT_EQ(batch.mark_written(w->at(0) - 1, 2).code, Code::outside_text);
	EXPECT_EQ(batch.mark_written(w->at((1 << 20) - 1), 2).code, Code::outside_text);
	EXPECT_EQ(batch.mark_written(w->at(0), ~0ull).code, Code::outside_text);
	EXPECT_EQ(batch.pending(), 0u);

	for (const std::uint32_t bytes : {0u, 8u, 48u, 8192u}) {
		SyncOptions options;
		options.granule_bytes = bytes;
		EXPECT_EQ(SyncDomain::create(0x10000, 4096, options).error().code,
			  Code::invalid_argument);
	}
	EXPECT_EQ(SyncDomain::create(0x10000, 0).error().code, Code::invalid_argument);
	EXPECT_EQ(SyncDomain::create(0x10001, 64).error().code, Code::invalid_argument);
	EXPECT_EQ(SyncDomain::create(~0ull << 12, 8192).error().code, Code::invalid_argument);
}

struct Dice {
	std::mt19937 random;

	std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }
};

/* A naive twin: a flag for each granule. */
TEST(Sync, AgreesWithANaiveTwin)
{
	for (const std::uint32_t bytes : {16u, 64u, 4096u}) {
		SyncOptions options = without_membarrier();
		options.granule_bytes = bytes;
		auto w = window(options);
		std::vector<bool> ran((1 << 20) / bytes);
		Dice dice{std::mt19937(bytes)};

		for (int i = 0; i < 3000; i++) {
			SyncBatch batch = w->domain.begin();
			std::vector<std::uint64_t> written;
			bool reuse = false;

			for (std::uint32_t n = dice.below(20); n; n--) {
				const std::uint32_t size = 1 + dice.below(300);
				const std::uint64_t offset = dice.below((1u << 20) - size);
				const bool exempt = dice.below(4) == 0;

				ASSERT_FALSE(batch.mark_written(
					w->at(offset), size,
					exempt ? Barrier::none : Barrier::if_reused));
				for (std::uint64_t g = offset / bytes; g <= (offset + size - 1) / bytes; g++) {
					reuse |= !exempt && ran[g];
					written.push_back(g);
				}
			}
			for (const std::uint64_t g : written)
				ran[g] = true;
			ASSERT_EQ(batch.commit().sync, reuse ? Sync::owed : Sync::not_needed);
		}
	}
}

/* --- what is gone when membarrier() is ---------------------------------------- */

class Forbidden : public testing::TestWithParam<std::pair<int, SyncMeans>> {};

TEST_P(Forbidden, IsSaidAndOwed)
{
	const auto [error, means] = GetParam();
	bool installed = false;

	std::thread([&, error = error, means = means] {
		installed = seccomp::refuse(__NR_membarrier, error);
		if (!installed)
			return;
		auto w = window();
		SyncBatch batch = w->domain.begin();

		EXPECT_EQ(w->domain.status().means, means);
		EXPECT_EQ(w->domain.status().os_errno, error);
		EXPECT_EQ(w->write(0, 64), Sync::not_needed);
		EXPECT_FALSE(batch.mark_written(w->at(0), 64));
		const Committed done = batch.commit();
		EXPECT_EQ(done.sync, Sync::owed);
		EXPECT_EQ(done.os_errno, error);
		EXPECT_TRUE(maybe_synchronize());
	}).join();
	if (!installed)
		GTEST_SKIP() << "seccomp filters cannot be installed here";
}

INSTANTIATE_TEST_SUITE_P(BySeccomp, Forbidden,
			 testing::Values(std::pair{EPERM, SyncMeans::blocked},
					 std::pair{EACCES, SyncMeans::blocked},
					 std::pair{ENOSYS, SyncMeans::kernel_lacks},
					 std::pair{EINVAL, SyncMeans::kernel_lacks}));

/* A sandbox that closes later: the domain is there already. */
TEST(Sync, ForbiddenLater)
{
	NEEDS_MEMBARRIER();
	bool installed = false;

	std::thread([&] {
		auto w = window();

		(void)w->write(0, 64);
		EXPECT_EQ(w->write(0, 64), Sync::done);
		installed = seccomp::refuse(__NR_membarrier, EPERM);
		if (!installed)
			return;
		EXPECT_EQ(w->write(0, 64), Sync::owed);
		EXPECT_EQ(w->domain.stats().barriers, 1u);
		EXPECT_EQ(w->domain.stats().owed, 1u);
	}).join();
	if (!installed)
		GTEST_SKIP() << "seccomp filters cannot be installed here";
}

/* --- counted at the system call ------------------------------------------------ */

/* The proof that the counter counts. */
TEST(Barriers, EachReuseAloneIsOne)
{
	NEEDS_MEMBARRIER();
	counted([](const Count &barriers) {
		auto w = window();

		for (std::uint64_t i = 0; i < 100; i++)
			EXPECT_EQ(w->write(i * granule, 64), Sync::not_needed);
		EXPECT_EQ(barriers, 0u);
		for (std::uint64_t i = 0; i < 100; i++)
			EXPECT_EQ(w->write(i * granule, 64), Sync::done);
		EXPECT_EQ(barriers, 100u);
		EXPECT_EQ(w->write(0, 4, Barrier::none), Sync::not_needed);
		EXPECT_EQ(barriers, 100u);
	});
}

struct Tally {
	std::uint64_t writes = 0, reuses = 0, batches = 0, reusing_batches = 0;
};

/* One scope: `count` functions, of which those that are asked for reuse what was freed. */
void write_batch(CodeMemory &memory, std::vector<std::uint64_t> &live, std::uint32_t count,
		 std::uint32_t reuses, Tally &run)
{
	WriteScope scope = memory.begin();

	/* Freed just before, so that it is what the allocator takes first. */
	for (std::uint32_t i = 0; i < reuses; i++) {
		ASSERT_FALSE(memory.free(live.back()));
		live.pop_back();
	}
	for (std::uint32_t i = 0; i < count; i++) {
		const auto code = returns::code(static_cast<std::uint32_t>(run.writes));
		const auto span = scope.allocate(returns::size);

		ASSERT_TRUE(span);
		std::memcpy(span->writable, code.data(), code.size());
		live.push_back(span->address);
		run.writes++;
	}
	run.reuses += reuses;
	run.batches++;
	run.reusing_batches += reuses != 0;
	EXPECT_EQ(scope.commit().sync, reuses ? Sync::done : Sync::not_needed);
}

/*
 * Must show 6: 100,000 code writes, of which 1 % reuse addresses, in batches:
 * as many barriers as batches that reuse.
 */
TEST(Barriers, NoMoreThanBatchesThatReuse)
{
	NEEDS_MEMBARRIER();
	counted([](const Count &barriers) {
		CodeMemory memory = std::move(CodeMemory::create()).value();
		std::vector<std::uint64_t> live;
		Dice dice{std::mt19937(6)};
		Tally run;

		/* Batches of 1 to 39 writes; about each tenth takes back a tenth of 20. */
		for (int i = 0; run.writes < 100000; i++) {
			const auto size = static_cast<std::uint32_t>(
				std::min<std::uint64_t>(1 + dice.below(39), 100000 - run.writes));
			const std::uint64_t due = (run.writes + size) / 100 - run.reuses;
			const bool reuse = i % 10 == 9 || run.writes + size == 100000;

			ASSERT_NO_FATAL_FAILURE(write_batch(
				memory, live, size,
				reuse ? static_cast<std::uint32_t>(std::min<std::uint64_t>(due, size)) : 0,
				run));
		}
		const SyncStats stats = memory.stats().sync;
		EXPECT_EQ(run.reuses, 1000u);
		EXPECT_EQ(stats.reused_granules, run.reuses);
		EXPECT_EQ(stats.writes, run.writes);
		EXPECT_EQ(stats.batches, run.batches);
		EXPECT_EQ(barriers, run.reusing_batches);
		EXPECT_EQ(stats.barriers, run.reusing_batches);
		std::printf("[ figures  ] %llu writes, %llu of them reuse; %llu batches, %llu of them "
			    "reuse; %llu membarrier calls\n",
			    static_cast<unsigned long long>(run.writes),
			    static_cast<unsigned long long>(run.reuses),
			    static_cast<unsigned long long>(run.batches),
			    static_cast<unsigned long long>(run.reusing_batches),
			    static_cast<unsigned long long>(barriers));
		for (std::size_t i = 0; i < live.size(); i += 997)
			EXPECT_LT(reinterpret_cast<int (*)()>(live[i])(), 100000);
	});
}

/* --- cross-modifying reuse -------------------------------------------------------- */

/*
 * Functions in slots, run by several threads while one writer frees and makes
 * them again. A slot holds where to jump and what must come back; a runner is
 * inside while it is odd, and the writer frees a function only when all who
 * could have read its slot have left.
 */
class Reuse {
public:
	static constexpr std::uint32_t slots = 32;
	static constexpr std::uint32_t per_batch = 8;

	Reuse(const CodeOptions &options, int runners)
		: memory(std::move(CodeMemory::create(options)).value()), inside_(static_cast<std::size_t>(runners))
	{
	}

	void run(std::size_t runner)
	{
		std::uint32_t next = static_cast<std::uint32_t>(runner);

		while (!stop_.load(std::memory_order_relaxed)) {
			inside_[runner].turns.fetch_add(1);
			call(slot_[next++ % slots].load());
			inside_[runner].turns.fetch_add(1, std::memory_order_release);
			/* Rather preempted here than inside, where the writer waits for it. */
			if (next % 64 == 0)
				std::this_thread::yield();
		}
	}

	/* Take `per_batch` functions out of use, and make others where they were. */
	Committed renew(std::uint32_t round)
	{
		const std::uint32_t first = round * per_batch;
		std::uint64_t made[per_batch];
		bool failed = false;
		WriteScope scope = memory.begin();

		for (std::uint32_t i = 0; i < per_batch; i++)
			made[i] = slot_[(first + i) % slots].exchange(0) >> 16;
		wait_for_runners();
		for (const std::uint64_t address : made)
			failed |= address && memory.free(address);
		EXPECT_FALSE(failed);
		for (std::uint32_t i = 0; i < per_batch; i++) {
			const auto code = returns::code((first + i) & 0xffff);
			const auto span = scope.allocate(returns::size);

			if (!span) {
				ADD_FAILURE() << span.error().why;
				return {};
			}
			std::memcpy(span->writable, code.data(), code.size());
			made[i] = span->address << 16 | ((first + i) & 0xffff);
		}
		const Committed done = scope.commit();
		for (std::uint32_t i = 0; i < per_batch; i++)
			slot_[(first + i) % slots].store(made[i]);
		return done;
	}

	void stop() { stop_ = true; }

	CodeMemory memory;
	std::atomic<std::uint64_t> calls{0}, wrong{0}, paid{0};

private:
	void call(std::uint64_t slot)
	{
		if (!slot)
			return;
		if (maybe_synchronize())
			paid++;
		const int value = reinterpret_cast<int (*)()>(slot >> 16)();
		wrong += value != static_cast<int>(slot & 0xffff);
		calls++;
	}

	/* Each has left since, or was never in. */
	void wait_for_runners()
	{
		for (Turns &runner : inside_) {
			const std::uint64_t turn = runner.turns.load();

			while (turn % 2 && runner.turns.load(std::memory_order_acquire) == turn)
				std::this_thread::yield();
		}
	}

	struct alignas(64) Turns {
		std::atomic<std::uint64_t> turns{0};
	};

	std::atomic<std::uint64_t> slot_[slots] = {};
	std::vector<Turns> inside_;
	std::atomic<bool> stop_{false};
};

#ifdef __SANITIZE_THREAD__
constexpr std::uint32_t rounds = 200;
#else
constexpr std::uint32_t rounds = 1000;
#endif

/* All rounds, with three runners; returns how many batches reused. */
std::uint64_t churn(Reuse &reuse, Sync expected)
{
	std::vector<std::thread> runners;
	std::uint64_t reused = 0;

	for (std::size_t i = 0; i < 3; i++)
		runners.emplace_back([&reuse, i] { reuse.run(i); });
	for (std::uint32_t round = 0; round < rounds; round++) {
		const Sync sync = reuse.renew(round).sync;

		EXPECT_TRUE(sync == expected || sync == Sync::not_needed);
		reused += sync == expected;
	}
	while (reuse.calls < 1000)
		std::this_thread::yield();
	reuse.stop();
	for (std::thread &runner : runners)
		runner.join();
	return reused;
}

class CrossModifying : public testing::TestWithParam<Backing> {};

TEST_P(CrossModifying, EveryReuseHasABarrier)
{
	NEEDS_MEMBARRIER();
	counted([](const Count &barriers) {
		CodeOptions options;
		options.window_bytes = 1 << 16;
		options.backing = GetParam();
		Reuse reuse(options, 3);
		const std::uint64_t reused = churn(reuse, Sync::done);

		EXPECT_EQ(reuse.wrong, 0u);
		/* A thread that starts pays for what was owed before, once. */
		EXPECT_LE(reuse.paid, 3u);
		/* Only the first rounds find memory that never ran. */
		EXPECT_GE(reused, rounds - Reuse::slots / Reuse::per_batch);
		EXPECT_EQ(barriers, reused);
	});
}

TEST_P(CrossModifying, OrIsOwedAndPaid)
{
	CodeOptions options;
	options.window_bytes = 1 << 16;
	options.backing = GetParam();
	options.sync.use_membarrier = false;
	Reuse reuse(options, 3);
	const std::uint64_t reused = churn(reuse, Sync::owed);

	EXPECT_EQ(reuse.wrong, 0u);
	EXPECT_GE(reused, rounds - Reuse::slots / Reuse::per_batch);
	EXPECT_EQ(reuse.memory.stats().sync.owed, reused);
	EXPECT_GT(reuse.paid, 0u);
	EXPECT_LE(reuse.paid, reused * 3);
}

INSTANTIATE_TEST_SUITE_P(Both, CrossModifying,
			 testing::Values(Backing::memfd, Backing::shared_anonymous));

} // namespace
