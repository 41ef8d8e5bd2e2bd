// SPDX-License-Identifier: MIT
/*
 * cfi-mutate [--seed N] [--count N]
 *
 * Take pieces of this program's own .eh_frame, break them, and feed each to the fuzz target. The same
 * seed and program give the same bytes.
 */
#include "cfi_target.hpp"

#include "elf_file.hpp"
#include "random_function.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace jitsframe;

namespace {

using Bytes = std::vector<std::uint8_t>;

struct Entry {
	std::size_t at, size;
	bool is_cie;
};

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at)
{
	std::uint32_t word = 0;

	if (at + sizeof(word) <= bytes.size())
		std::memcpy(&word, bytes.data() + at, sizeof(word));
	return word;
}

std::vector<Entry> entries_of(std::span<const std::byte> section)
{
	std::vector<Entry> entries;

	for (std::size_t at = 0; word_at(section, at);) {
		const std::size_t size = 4 + std::size_t{word_at(section, at)};

		entries.push_back({at, size, word_at(section, at + 4) == 0});
		at += size;
	}
	return entries;
}

/* Some FDEs, with the CIE that they belong to in front of them. */
Bytes seed_section(std::span<const std::byte> section, const std::vector<Entry> &entries,
		   Random &random)
{
	Bytes bytes;
	std::size_t i = random.below(entries.size());

	while (!entries[i].is_cie)
		i--;
	const auto append = [&](const Entry &entry) {
		const auto *from =
			reinterpret_cast<const std::uint8_t *>(section.data()) + entry.at;

		bytes.insert(bytes.end(), from, from + entry.size);
	};
	append(entries[i]);
	std::size_t first = i + 1;
	while (first < entries.size() && !entries[first].is_cie)
		first++;
	const std::size_t fdes = first - i - 1;
	for (std::size_t wanted = 1 + random.below(4); wanted && fdes; wanted--) {
		const std::uint32_t distance = static_cast<std::uint32_t>(bytes.size()) + 4;

		append(entries[i + 1 + random.below(fdes)]);
		std::memcpy(&bytes[distance], &distance, sizeof(distance));
	}
	return bytes;
}

void mutate_once(Bytes &bytes, Random &random)
{
	if (bytes.empty())
		return;

	const std::size_t at = random.below(bytes.size());
	switch (random.below(6)) {
	case 0:
		bytes[at] ^= static_cast<std::uint8_t>(1u << random.below(8));
		break;
	case 1:
		bytes[at] = static_cast<std::uint8_t>(random.next());
		break;
	case 2: /* an instruction, more likely than not */
		bytes[at] = static_cast<std::uint8_t>(random.below(0x30));
		break;
	case 3: /* long numbers */
		for (std::size_t i = at; i < bytes.size() && i < at + random.below(12); i++)
			bytes[i] |= 0x80;
		break;
	case 4:
		for (std::size_t i = 0; i < 8 && at + i < bytes.size(); i++)
			bytes[at + i] = bytes[random.below(bytes.size())];
		break;
	default:
		bytes.resize(at);
		break;
	}
}

struct Options {
	std::uint64_t seed = 1;
	std::uint32_t count = 20000;
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
			options.count =
				static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 0));
		else
			return false;
	}
	return options.count > 0;
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	ElfFile self;

	if (!parse(argc, argv, options)) {
		std::fprintf(stderr, "usage: cfi-mutate [--seed N] [--count N]\n");
		return 1;
	}
	const auto section = self.read("/proc/self/exe") ? self.section(".eh_frame") : std::nullopt;
	if (!section) {
		std::fprintf(stderr, "cfi-mutate: no .eh_frame of its own\n");
		return 1;
	}

	const auto entries = entries_of(section->bytes);
	Random random(options.seed);
	std::uint32_t whole = 0;

	for (std::uint32_t i = 0; i < options.count; i++) {
		Bytes bytes = seed_section(section->bytes, entries, random);

		for (std::uint64_t n = random.below(4); n; n--)
			mutate_once(bytes, random);
		/* A heap block of its own size, so that ASan sees one byte too far. */
		bytes.shrink_to_fit();
		whole += static_cast<std::uint32_t>(read_hostile_cfi(bytes.data(), bytes.size()));
	}
	std::printf("%u mutations, %u of them still readable\n", options.count, whole);
	/* All broken, or none, would prove little. */
	return whole && whole < options.count ? 0 : 1;
}
