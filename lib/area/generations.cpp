// SPDX-License-Identifier: MIT
#include "generations.hpp"

#include <atomic>
#include <chrono>

namespace jitsframe {

namespace {

/*
 * Two copies of this library in one process (two JITs, each linked with its own)
 * do not know of each other: beginning somewhere in the range, they do not count
 * through the same numbers.
 */
std::uint32_t somewhere() noexcept
{
	return static_cast<std::uint32_t>(
		std::chrono::steady_clock::now().time_since_epoch().count());
}

/* The furthest that an area came which is gone. */
std::atomic<std::uint32_t> &furthest() noexcept
{
	static std::atomic<std::uint32_t> generation{somewhere()};

	return generation;
}

/* Generations wrap: ahead is what is less than half of the range away. */
bool is_ahead(std::uint32_t a, std::uint32_t b) noexcept
{
	return static_cast<std::int32_t>(a - b) > 0;
}

} // namespace

/*
 * Where this area's mapping lies another's may have been a moment ago: its
 * end_generations() came before its munmap(), and this comes behind our mmap(),
 * which the kernel orders by a lock.
 */
std::uint32_t first_generation() noexcept
{
	return furthest().load();
}

void end_generations(std::uint32_t last) noexcept
{
	std::uint32_t seen = furthest().load();

	while (is_ahead(last, seen) && !furthest().compare_exchange_weak(seen, last))
		;
}

} // namespace jitsframe
