// SPDX-License-Identifier: MIT
/* Producers and readers at once; under TSan above all. */
#include <jitsframe/area.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace jitsframe;

namespace {

constexpr std::uint64_t text = 0x7e0000000000;
constexpr std::uint64_t slot_bytes = 256;
constexpr std::uint32_t slots = 64;

/*
 * The frame of a function in `slot`, made the `round`th time. A reader that
 * mixed two of them up, or two slots, would see a CFA that does not match the
 * FP's place, or neither the slot's.
 */
FunctionRows rows_for(std::uint32_t slot, std::uint32_t round, Row (&rows)[2])
{
	const auto depth = static_cast<std::int32_t>(16 + slot * 1024 + (round % 61) * 16);

	rows[0] = {.offset = 0, .cfa = Rule::in_reg(x86_64::rsp, depth), .fp = Rule::at_cfa(-depth)};
	rows[1] = {.offset = 100 + round % 61,
		   .cfa = Rule::in_reg(x86_64::rbp, depth),
		   .fp = Rule::at_cfa(-depth)};
	return {rows};
}

bool makes_sense(const Found &found, std::uint32_t slot)
{
	const std::int32_t depth = found.row.cfa.offset;
	const std::int32_t round = (depth - 16 - static_cast<std::int32_t>(slot * 1024)) / 16;

	return found.start == text + slot * slot_bytes && found.row.fp == Rule::at_cfa(-depth) &&
	       round >= 0 && round < 61 && depth % 16 == 0;
}

AreaOptions options(Producers producers)
{
	AreaOptions o;

	o.text_start = text;
	o.text_size = slots * slot_bytes;
	o.reserve_bytes = 1 << 20;
	o.initial_functions = 8;
	o.producers = producers;
	o.register_with_kernel = false;
	o.abi = &x86_64::abi;
	return o;
}

/* Publish, replace and retire in one slot, every kind of move among them. */
Error churn(Area &area, std::uint32_t slot, std::uint32_t round)
{
	const std::uint64_t start = text + slot * slot_bytes;
	Row rows[2];

	if (Error error = area.publish(start, slot_bytes, rows_for(slot, round, rows)))
		return error;
	if (Error error = area.replace(start, 200, rows_for(slot, round + 1, rows)))
		return error;
	if (round % 16 == 0)
		if (Error error = area.compact())
			return error;
	return area.retire(start);
}

struct Readers {
	explicit Readers(const Area &area)
	{
		for (int i = 0; i < 2; i++)
			threads.emplace_back([this, &area, i] {
				std::uint32_t slot = static_cast<std::uint32_t>(i);

				while (!stop.load(std::memory_order_relaxed))
					read(area, slot = (slot * 5 + 3) % slots);
			});
	}
	~Readers()
	{
		stop = true;
		for (std::thread &thread : threads)
			thread.join();
	}
	void read(const Area &area, std::uint32_t slot)
	{
		const auto found = area.lookup(text + slot * slot_bytes + 180);

		if (!found) {
			/* Between retire and publish; never anything worse. */
			(found.error().code == Code::not_found ? missed : wrong)++;
			return;
		}
		(makes_sense(*found, slot) ? good : wrong)++;
	}

	std::atomic<bool> stop{false};
	std::atomic<std::uint64_t> good{0}, missed{0}, wrong{0};
	std::vector<std::thread> threads;
};

TEST(Threads, OneProducerAndReaders)
{
	Area area = std::move(Area::create(options(Producers::one))).value();
	Readers readers(area);
	Row rows[2];

	/* Some stay, so that there is always something to be found. */
	for (std::uint32_t slot = 0; slot < slots; slot += 2)
		ASSERT_FALSE(area.publish(text + slot * slot_bytes, slot_bytes,
					  rows_for(slot, slot, rows)));
	for (std::uint32_t round = 0; round < 20000 || readers.good < 1000; round++) {
		const Error error = churn(area, (round * 2 + 1) % slots, round);
		ASSERT_FALSE(error) << error.why;
	}
	EXPECT_EQ(readers.wrong, 0u);
	EXPECT_GT(area.stats().flips, 100u);
}

/* What stays published is found at every instant, whatever else happens. */
TEST(Threads, WhatStaysIsNeverMissed)
{
	Area area = std::move(Area::create(options(Producers::one))).value();
	std::atomic<bool> stop{false};
	std::atomic<std::uint64_t> reads{0}, bad{0};
	Row rows[2];

	ASSERT_FALSE(area.publish(text + 40 * slot_bytes, slot_bytes, rows_for(40, 7, rows)));
	std::thread reader([&] {
		while (!stop.load(std::memory_order_relaxed)) {
			const auto found = area.lookup(text + 40 * slot_bytes + 180);

			/* Flips in a row may use up the tries; then it says not found. */
			bad += !found || !makes_sense(*found, 40);
			reads++;
		}
	});
	for (std::uint32_t round = 0; round < 5000 || reads < 1000; round++) {
		const std::uint32_t slot = round % 40;
		const Error error = churn(area, slot, round);
		ASSERT_FALSE(error) << error.why;
	}
	stop = true;
	reader.join();
	EXPECT_EQ(bad, 0u);
}

TEST(Threads, SeveralProducersAndReaders)
{
	constexpr std::uint32_t producers = 4, rounds = 3000;
	Area area = std::move(Area::create(options(Producers::several))).value();
	std::atomic<std::uint32_t> errors{0};

	{
		Readers readers(area);
		std::vector<std::thread> threads;

		for (std::uint32_t i = 0; i < producers; i++)
			threads.emplace_back([&, i] {
				for (std::uint32_t round = 0; round < rounds; round++)
					if (churn(area, (round * producers + i) % slots, round))
						errors++;
			});
		for (std::thread &thread : threads)
			thread.join();
		EXPECT_EQ(readers.wrong, 0u);
	}
	EXPECT_EQ(errors, 0u);
	EXPECT_EQ(area.stats().functions, 0u);
	EXPECT_EQ(area.stats().retires, producers * rounds);
}

} // namespace
