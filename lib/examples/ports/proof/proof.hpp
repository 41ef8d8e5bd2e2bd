/* SPDX-License-Identifier: MIT */
/*
 * How a port proves itself. No part of a port: a JIT has a profiler for this.
 *
 * Published rows are judged by what is known without them: at a function's
 * entry and at its return the frame is the ABI's, and a walk by the rows, from
 * native code that JIT code called, passes the very functions that called each
 * other and arrives in enter() with the frame pointer that enter() has.
 */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_PROOF_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_PROOF_HPP

#include <jitsframe/sframe.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace proof {

using Lookup = std::function<jitsframe::Result<jitsframe::Found>(std::uint64_t pc)>;

/* What the JIT itself says of a function. */
struct Function {
	std::string name;
	std::uint64_t start;
	std::uint32_t size;
};

/* Where a walk is: in the middle of a call, but for its callee's frame. */
struct Place {
	std::uint64_t pc;
	std::uint64_t sp;
	std::uint64_t fp;
};

/* Where the caller of the function is that this becomes a part of; GCC and clang keep a frame pointer there. */
[[gnu::always_inline]] inline Place caller()
{
	return {reinterpret_cast<std::uint64_t>(__builtin_return_address(0)),
		reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()),
		*static_cast<const std::uint64_t *>(__builtin_frame_address(0))};
}

/* Call entry(n), and be where a walk must arrive. */
std::int64_t enter(std::uint64_t entry, std::int64_t n);

/* The walk passes the functions of these names, innermost first, and then enter(). */
void expect_stack(const Place &place, const Lookup &lookup, std::span<const Function> functions,
		  const std::vector<std::string> &names);
/* Every byte of it is known as its, and no byte beside it. */
void expect_known(const Lookup &lookup, const Function &function);
/* The frame pointer is saved in it, and the CFA does not count from it: a register like any other. */
void expect_fp_used(const Lookup &lookup, const Function &function);
/* No byte of it is known. */
void expect_gone(const Lookup &lookup, const Function &function);
void expect(bool holds, const char *what);

/* For main() to return: 0 if all held, and a stack was among it. */
int verdict();

} // namespace proof

#endif
