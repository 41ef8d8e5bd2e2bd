// SPDX-License-Identifier: MIT
/*
 * Random publishing against a twin that is too simple to be wrong: a map of
 * functions by start, searched from end to end.
 */
#include <jitsframe/area.hpp>

#include "naive_row.hpp"
#include "random_function.hpp"

#include <gtest/gtest.h>

#include <map>

using namespace jitsframe;

namespace {

constexpr std::uint64_t text = 0x7e0000000000;
constexpr std::uint64_t text_size = 1 << 22;

class Twin {
public:
	[[nodiscard]] bool overlaps(std::uint64_t start, std::uint32_t size,
				    std::uint64_t except = 0) const
	{
		for (const auto &[at, function] : functions_)
			if (at != except && start < at + function.size && at < start + size)
				return true;
		return false;
	}
	[[nodiscard]] const Function *covering(std::uint64_t pc) const
	{
		for (const auto &[at, function] : functions_)
			if (pc >= at && pc - at < function.size)
				return &function;
		return nullptr;
	}
	[[nodiscard]] std::uint64_t random_start(Random &random) const
	{
		auto at = functions_.begin();

		std::advance(at, static_cast<std::ptrdiff_t>(random.below(functions_.size())));
		return at->first;
	}
	std::map<std::uint64_t, Function> functions_;
};

class TwinTest : public testing::TestWithParam<std::uint64_t> {
protected:
	const Abi &abi = GetParam() % 2 ? x86_64::abi : aarch64::abi;

	Area make()
	{
		AreaOptions o;

		o.text_start = text;
		o.text_size = text_size;
		o.initial_functions = 1 + static_cast<std::uint32_t>(GetParam() % 20);
		o.register_with_kernel = false;
		o.abi = &abi;
		return std::move(Area::create(o)).value();
	}
	void check(std::uint64_t pc)
	{
		const Function *expected = twin.covering(pc);
		const auto found = area.lookup(pc);

		ASSERT_EQ(expected != nullptr, static_cast<bool>(found)) << std::hex << pc;
		if (!expected) {
			ASSERT_EQ(found.error().code, Code::not_found);
			return;
		}

		ASSERT_EQ(found->row, naive_row(*expected, pc)) << std::hex << pc;
		ASSERT_EQ(found->signal, expected->signal);
		ASSERT_EQ(found->pauth_key_b, expected->pauth_key_b);
	}
	void check_all()
	{
		std::uint64_t address;
		const auto copy = area.snapshot(&address);

		if (!copy.empty()) {
			const auto section = decode(copy, address);
			ASSERT_TRUE(section) << section.error().why;
		}
		for (const auto &[start, function] : twin.functions_) {
			check(start - 1);
			check(start);
			check(start + random.below(function.size));
			check(start + function.size - 1);
			check(start + function.size);
		}
		for (int i = 0; i < 200; i++)
			check(text + random.below(text_size));
	}
	void publish()
	{
		/* Often where something is or was: starts of 64 bytes' grain. */
		const std::uint64_t start = text + random.below(text_size / 64 - 0x1000) * 64;
		publish_at(random.below(4) && last ? last : start);
	}
	void publish_at(std::uint64_t start)
	{
		const Function function = random_function(abi, random, start);
		const Error error = area.publish(start, function.size, function.view());
		const bool outside = start - text + function.size > text_size;

		if (outside)
			ASSERT_EQ(error.code, Code::outside_text);
		else if (twin.overlaps(start, function.size))
			ASSERT_EQ(error.code, Code::overlap);
		else {
			ASSERT_EQ(error.code, Code::ok) << error.why;
			twin.functions_[start] = function;
			last = start + function.size + random.below(3) * 16;
		}
	}
	void retire()
	{
		if (twin.functions_.empty()) {
			ASSERT_EQ(area.retire(text).code, Code::not_found);
			return;
		}
		const std::uint64_t start = twin.random_start(random);
		ASSERT_FALSE(area.retire(start));
		twin.functions_.erase(start);
		if (random.below(2))
			publish_at(start);
	}
	void replace()
	{
		if (twin.functions_.empty())
			return;
		const std::uint64_t start = twin.random_start(random);
		const Function function = random_function(abi, random, start);
		const Error error = area.replace(start, function.size, function.view());

		if (start - text + function.size > text_size)
			ASSERT_EQ(error.code, Code::outside_text);
		else if (twin.overlaps(start, function.size, start))
			ASSERT_EQ(error.code, Code::overlap);
		else {
			ASSERT_EQ(error.code, Code::ok) << error.why;
			twin.functions_[start] = function;
		}
	}
	void retire_range()
	{
		const std::uint64_t start = text + random.below(text_size);
		const std::uint64_t size = random.below(text_size / 16);
		const auto first = twin.functions_.lower_bound(start);
		const auto end = twin.functions_.lower_bound(start + size);

		ASSERT_EQ(area.retire_range(start, size), std::distance(first, end));
		twin.functions_.erase(first, end);
	}

	Random random{GetParam()};
	Area area = make();
	Twin twin;
	std::uint64_t last = 0;
};

TEST_P(TwinTest, RandomOperations)
{
	for (int i = 0; i < 1500 && !HasFatalFailure(); i++) {
		switch (random.below(16)) {
		case 0:
			retire_range();
			break;
		case 1:
			ASSERT_FALSE(area.compact());
			break;
		case 2:
		case 3:
			replace();
			break;
		case 4:
		case 5:
		case 6:
		case 7:
			retire();
			break;
		default:
			publish();
			break;
		}
		if (i % 50 == 0)
			check_all();
	}
	check_all();
	const AreaStats stats = area.stats();
	EXPECT_GT(stats.appends, 0u);
	EXPECT_GT(stats.retargets, 0u);
	EXPECT_GT(stats.retires, 0u);
	EXPECT_GT(stats.flips, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TwinTest, testing::Range<std::uint64_t>(1, 13));

} // namespace
