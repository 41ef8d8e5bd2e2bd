/* SPDX-License-Identifier: MIT */
/*
 * Random functions of every kind the format knows, for tests: the same seed
 * gives the same functions everywhere.
 */
#ifndef JITSFRAME_LIB_TOOLS_RANDOM_FUNCTION_HPP
#define JITSFRAME_LIB_TOOLS_RANDOM_FUNCTION_HPP

#include <jitsframe/sframe.hpp>

#include <cstdint>
#include <vector>

namespace jitsframe {

/* SplitMix64 (Steele, Lea, Flood 2014): small, and the same with every standard library. */
class Random {
public:
	explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

	std::uint64_t next() noexcept
	{
		std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		return z ^ (z >> 31);
	}
	/* 0 to `bound` - 1; the bias does not matter here. */
	std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

private:
	std::uint64_t state_;
};

/* At most 0x3ffff bytes and 200 rows; Function::flexible says if it needs a flexible FDE. */
Function random_function(const Abi &abi, Random &random, std::uint64_t start);

/* The FDEs that a function becomes, written down from the documents rather than the encoder. */
std::vector<Function> split(const Abi &abi, const Function &function, std::size_t rows_per_fde);

} // namespace jitsframe

#endif
