// SPDX-License-Identifier: MIT
/* Whole static sections, as a linker would make them. */
#include <jitsframe/sframe.hpp>

#include "format.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace jitsframe {

namespace {

constexpr std::size_t max_row_bytes = 4 + 1 + 6 * 4;

struct Builder {
	const Abi &abi;
	std::size_t rows_per_fde;
	std::vector<format::IndexEntry> index{}; /* starts still absolute */
	std::vector<std::byte> fres{};
	std::uint32_t num_fres = 0;

	void add_piece(const Function &function, std::size_t first, std::size_t count) noexcept
	{
		const auto &rows = function.rows;
		const std::uint32_t from = count ? rows[first].offset : 0;
		const bool last = first + count >= rows.size();
		const std::uint32_t to = last ? function.size : rows[first + count].offset;
		const std::size_t at = fres.size();

		index.push_back({static_cast<std::int64_t>(function.start + from), to - from,
				 static_cast<std::uint32_t>(at)});
		fres.resize(at + format::attributes_bytes + count * max_row_bytes);
		fres.resize(at + encode_fde(abi, function.view(), first, count, &fres[at]));
		num_fres += static_cast<std::uint32_t>(count);
	}

	void add(const Function &function) noexcept
	{
		const std::size_t rows = function.rows.size();
		std::size_t first = 0;

		do {
			const std::size_t count = std::min(rows - first, rows_per_fde);

			add_piece(function, first, count);
			first += count;
		} while (first < rows);
	}
};

Error check_all(const Abi &abi, std::span<const Function *const> sorted) noexcept
{
	const Function *previous = nullptr;

	for (const Function *function : sorted) {
		if (Error error = check_rows(abi, function->size, function->view()))
			return error;
		if (previous && function->start - previous->start < previous->size)
			return {Code::overlap, 0, "build section", "two functions overlap",
				function->start};
		previous = function;
	}
	return {};
}

std::vector<const Function *> sorted_by_start(std::span<const Function> functions) noexcept
{
	std::vector<const Function *> sorted;

	sorted.reserve(functions.size());
	for (const Function &function : functions)
		sorted.push_back(&function);
	std::stable_sort(sorted.begin(), sorted.end(), [](const Function *a, const Function *b) {
		return a->start < b->start;
	});
	return sorted;
}

std::uint64_t origin_of(StartEncoding starts, std::uint64_t address, std::size_t entry_at) noexcept
{
	return starts == StartEncoding::field ? address + entry_at : address;
}

} // namespace

Result<std::vector<std::byte>> build_section(const Abi &abi, std::span<const Function> functions,
					     std::uint64_t address, StartEncoding starts,
					     std::size_t rows_per_fde) noexcept
{
	if (rows_per_fde == 0 || rows_per_fde > std::numeric_limits<std::uint16_t>::max())
		return Error{Code::invalid_argument, 0, "build section",
			     "rows_per_fde must be 1 to 65535", rows_per_fde};

	const std::vector<const Function *> sorted = sorted_by_start(functions);
	if (Error error = check_all(abi, sorted))
		return error;

	Builder builder{abi, rows_per_fde};
	for (const Function *function : sorted)
		builder.add(*function);

	const std::size_t index_bytes = builder.index.size() * sizeof(format::IndexEntry);
	/* binutils takes "from the field" to mean behind the header, whatever sfh_fdeoff says. */
	const std::uint32_t fdeoff = starts == StartEncoding::field ? 0 : format::aligned_fdeoff;
	const std::size_t index_at = sizeof(format::Header) + fdeoff;
	const std::size_t fre_at = index_at + index_bytes;
	if (fre_at + builder.fres.size() > std::numeric_limits<std::uint32_t>::max())
		return Error{Code::invalid_argument, 0, "build section", "larger than 4 GiB",
			     fre_at + builder.fres.size()};

	const format::Header header = {
		.magic = format::magic,
		.version = format::version,
		.flags = static_cast<std::uint8_t>(
			format::flag_sorted |
			(starts == StartEncoding::field ? format::flag_pcrel : 0)),
		.abi_arch = abi.abi_arch,
		.cfa_fixed_fp_offset = 0,
		.cfa_fixed_ra_offset = abi.fixed_ra_offset,
		.auxhdr_len = 0,
		.num_fdes = static_cast<std::uint32_t>(builder.index.size()),
		.num_fres = builder.num_fres,
		.fre_len = static_cast<std::uint32_t>(builder.fres.size()),
		.fdeoff = fdeoff,
		.freoff = static_cast<std::uint32_t>(fre_at - sizeof(format::Header)),
	};
	std::vector<std::byte> out(fre_at + builder.fres.size());

	std::memcpy(out.data(), &header, sizeof(header));
	for (std::size_t i = 0; i < builder.index.size(); i++) {
		const std::size_t at = index_at + i * sizeof(format::IndexEntry);
		format::IndexEntry entry = builder.index[i];

		entry.start -= static_cast<std::int64_t>(origin_of(starts, address, at));
		std::memcpy(&out[at], &entry, sizeof(entry));
	}
	if (!builder.fres.empty())
		std::memcpy(&out[fre_at], builder.fres.data(), builder.fres.size());
	return out;
}

} // namespace jitsframe
