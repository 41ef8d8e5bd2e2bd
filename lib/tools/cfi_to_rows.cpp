// SPDX-License-Identifier: MIT
/*
 * cfi-to-rows FILE              rows of an ELF64 file's .eh_frame, as sframe-dump prints them
 * cfi-to-rows --coverage FILE.. how many bytes of code rows describe, and why not the others
 *
 * The rows are printed as they are decoded from the section that was made of them.
 */
#include "canonical.hpp"
#include "elf_file.hpp"

#include <jitsframe/cfi.hpp>
#include <jitsframe/sframe.hpp>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

using namespace jitsframe;

namespace {

struct Gap {
	std::uint64_t start;
	std::uint64_t size;
	CfiReason reason;
};

/* All that a file's CFI says. */
struct Described {
	std::vector<Function> functions;
	std::vector<Gap> gaps;
	std::vector<Error> errors;
	std::uint64_t fdes = 0;
	std::uint64_t unread = 0; /* bytes of code of FDEs with errors, as far as known */
};

int fail(const char *file, const char *why)
{
	std::fprintf(stderr, "cfi-to-rows: %s: %s\n", file, why);
	return 1;
}

int fail(const char *file, const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	return fail(file, text);
}

void add_part(Described &all, const CfiPart &part)
{
	if (part.reason != CfiReason::none) {
		all.gaps.push_back({part.start, part.size, part.reason});
		return;
	}
	Function function;

	function.start = part.start;
	function.size = part.size;
	function.signal = part.rows.signal;
	function.pauth_key_b = part.rows.pauth_key_b;
	function.repeat_block = part.rows.repeat_block;
	function.rows.assign(part.rows.rows.begin(), part.rows.rows.end());
	all.functions.push_back(std::move(function));
}

Error describe(const CfiSection &section, Described &all)
{
	CfiReader reader(section);
	CfiRows rows;

	while (reader.next()) {
		const auto function = reader.function();
		const Error error = function ? rows.run(section, *function) : function.error();

		all.fdes++;
		if (error) {
			all.errors.push_back(error);
			all.unread += function ? function->size : 0;
		}
		for (const CfiPart &part : rows.parts())
			add_part(all, part);
	}
	return reader.error();
}

int print_rows(const char *path, const Abi &abi, const Described &all)
{
	const auto bytes = build_section(abi, all.functions, 0, StartEncoding::section);
	if (!bytes)
		return fail(path, bytes.error());
	const auto section = decode(*bytes, 0);
	if (!section)
		return fail(path, section.error());

	const SectionHeader &header = section->header;
	std::string text = section_text(abi, header.flags, header.fixed_fp_offset,
					header.fixed_ra_offset, header.num_fdes, header.num_fres);
	for (const Function &function : section->functions)
		text += function_text(abi, function);
	std::fputs(text.c_str(), stdout);
	for (const Gap &gap : all.gaps)
		std::printf("gap start=0x%" PRIx64 " size=0x%" PRIx64 " reason=%s\n", gap.start,
			    gap.size, to_string(gap.reason));
	for (const Error &error : all.errors)
		std::printf("error at=0x%" PRIx64 " %s\n", error.at, error.why);
	return 0;
}

void print_coverage(const char *path, const Described &all)
{
	std::array<std::uint64_t, cfi_reasons> bytes{}, count{};
	std::uint64_t total = all.unread, rows = 0;

	for (const Function &function : all.functions) {
		bytes[0] += function.size;
		count[0]++;
		rows += function.rows.size();
	}
	for (const Gap &gap : all.gaps) {
		bytes[static_cast<std::size_t>(gap.reason)] += gap.size;
		count[static_cast<std::size_t>(gap.reason)]++;
	}
	for (const std::uint64_t part : bytes)
		total += part;
	std::printf("%s: %" PRIu64 " FDEs, %" PRIu64 " rows; described %" PRIu64 " of %" PRIu64
		    " bytes: %.4f %%\n",
		    path, all.fdes, rows, bytes[0], total,
		    total ? 100.0 * static_cast<double>(bytes[0]) / static_cast<double>(total) : 0);
	for (std::size_t i = 1; i < cfi_reasons; i++)
		if (count[i])
			std::printf("  %" PRIu64 " bytes in %" PRIu64 " gaps: %s\n", bytes[i],
				    count[i], to_string(static_cast<CfiReason>(i)));
	for (const Error &error : all.errors)
		std::printf("  FDE not read: %s, 0x%" PRIx64 "\n", error.why, error.at);
}

int handle(const char *path, bool coverage)
{
	ElfFile file;

	if (!file.read(path))
		return fail(path, "cannot read the file");
	const auto found = file.section(".eh_frame");
	if (!file.abi() || !found)
		return fail(path, "no ELF64 file of a known machine with an .eh_frame");

	CfiSection section;
	Described all;
	section.bytes = found->bytes;
	section.address = found->address;
	section.abi = file.abi();
	if (Error error = describe(section, all))
		return fail(path, error);
	if (!coverage)
		return print_rows(path, *section.abi, all);
	print_coverage(path, all);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	const bool coverage = argc > 1 && std::string_view(argv[1]) == "--coverage";
	const int first = coverage ? 2 : 1;
	int status = 0;

	if (argc <= first || (!coverage && argc != 2)) {
		std::fputs("usage: cfi-to-rows [--coverage] FILE...\n", stderr);
		return 1;
	}
	for (int i = first; i < argc; i++)
		status |= handle(argv[i], coverage);
	return std::ferror(stdout) ? 1 : status;
}
