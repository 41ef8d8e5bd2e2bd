// SPDX-License-Identifier: MIT
#include "perf_map.hpp"

#include <cinttypes>
#include <cstdio>

namespace jitsframe::perf_map {

Error open(OutFile &file, std::string_view directory) noexcept
{
	return file.open(directory, "perf-", ".map");
}

/* "START SIZE name\n" in hex without 0x: jit-interface.txt. A move is one more line. */
void put(OutFile &file, const Record &record) noexcept
{
	char numbers[40];
	const int length = std::snprintf(numbers, sizeof(numbers), "%" PRIx64 " %" PRIx64 " ",
					 record.fixed.start, record.fixed.size);

	file.put(numbers, static_cast<std::size_t>(length));
	file.put(record.name.data(), record.name.size());
	file.put("\n", 1);
	file.end_record();
}

} // namespace jitsframe::perf_map
