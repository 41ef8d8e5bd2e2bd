// SPDX-License-Identifier: MIT
/*
 * sframe-mutate [--seed N] [--count N]
 *
 * Make valid sections, break them in ways that reach deep (fields at their
 * bounds, bits, splices, cuts), and feed each to the fuzz target. The same seed
 * gives the same bytes. (The kernel's selftest "hostile" makes its own.)
 */
#include "target.hpp"

#include "random_function.hpp"

#include <jitsframe/sframe.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace jitsframe;

namespace {

using Bytes = std::vector<std::byte>;

/* Starts as a reader of an area sees them: some megabytes off the section. */
constexpr std::uint64_t text = 0x1000;
constexpr std::uint64_t slot_bytes = 0x40000;

Bytes seed_section(const Abi &abi, Random &random)
{
	std::vector<Function> functions;
	const std::uint64_t count = 1 + random.below(6);

	for (std::uint64_t i = 0; i < count; i++)
		functions.push_back(random_function(abi, random, text + i * slot_bytes));

	auto section = build_section(abi, functions, 0,
				     random.below(2) ? StartEncoding::section : StartEncoding::field);
	if (!section)
		std::abort();
	return std::move(*section);
}

std::uint64_t interesting(Random &random)
{
	constexpr std::array<std::uint64_t, 16> values = {
		0,          1,          2,          7,          8,      63,         64,     65,
		0x7f,       0x80,       0xff,       0x7fffffff, 0xffff, 0x80000000, 0xffffffff, 28};

	return random.below(2) ? values[random.below(values.size())] : random.next();
}

void set_field(Bytes &bytes, Random &random, std::size_t at, std::size_t width)
{
	const std::uint64_t value = interesting(random);

	for (std::size_t i = 0; i < width && at + i < bytes.size(); i++)
		bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

void mutate_once(Bytes &bytes, Random &random)
{
	if (bytes.empty())
		return;

	const std::size_t at = random.below(bytes.size());
	switch (random.below(8)) {
	case 0: /* a field of the header */
		set_field(bytes, random, 4 * random.below(7), 4);
		break;
	case 1: /* a field of the index */
		set_field(bytes, random, 32 + 4 * random.below(24), 4);
		break;
	case 2: /* a bit */
		bytes[at] ^= static_cast<std::byte>(1u << random.below(8));
		break;
	case 3:
		set_field(bytes, random, at, 1);
		break;
	case 4:
		set_field(bytes, random, at, 2);
		break;
	case 5: /* what is elsewhere */
		for (std::size_t i = 0; i < 16 && at + i < bytes.size(); i++)
			bytes[at + i] = bytes[random.below(bytes.size())];
		break;
	case 6: /* cut */
		bytes.resize(at);
		break;
	default: /* the rows, which are the tail */
		set_field(bytes, random, bytes.size() - 1 - random.below(bytes.size() / 2 + 1), 1);
		break;
	}
}

Bytes mutation(Random &random)
{
	const Abi &abi = random.below(3) ? x86_64::abi : aarch64::abi;
	Bytes bytes = seed_section(abi, random);

	for (std::uint64_t i = 1 + random.below(4); i; i--)
		mutate_once(bytes, random);
	return bytes;
}

struct Options {
	std::uint64_t seed = 1;
	std::uint32_t count = 10000;
};

bool parse(int argc, char **argv, Options &options)
{
	for (int i = 1; i < argc; i += 2) {
		const std::string name = argv[i];

		if (i + 1 == argc)
			return false;
		if (name == "--seed")
			options.seed = std::strtoull(argv[i + 1], nullptr, 0);
		else if (name == "--count")
			options.count = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 0));
		else
			return false;
	}
	return options.count > 0;
}

} // namespace

int main(int argc, char **argv)
{
	Options options;

	if (!parse(argc, argv, options)) {
		std::fprintf(stderr, "usage: sframe-mutate [--seed N] [--count N]\n");
		return 1;
	}

	Random random(options.seed);
	std::uint32_t valid = 0;

	for (std::uint32_t i = 0; i < options.count; i++) {
		const Bytes bytes = mutation(random);

		/* A heap block of its own size, so that ASan sees one byte too far. */
		LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(bytes.data()),
				       bytes.size());
		valid += !validate(bytes);
	}
	std::printf("%u mutations, %u of them still valid\n", options.count, valid);
	/* All broken, or none, would prove little. */
	return valid && valid < options.count ? 0 : 1;
}
