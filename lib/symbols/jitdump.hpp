/* SPDX-License-Identifier: MIT */
#ifndef JITSFRAME_LIB_SYMBOLS_JITDUMP_HPP
#define JITSFRAME_LIB_SYMBOLS_JITDUMP_HPP

#include "out_file.hpp"
#include "record.hpp"

#include <jitsframe/symbols.hpp>

namespace jitsframe {

class Jitdump {
public:
	Jitdump() noexcept = default;
	Jitdump(const Jitdump &) = delete;
	Jitdump &operator=(const Jitdump &) = delete;
	~Jitdump() { unmap(); }

	/* With the header, and mapped executable, which tells perf where the file is. */
	[[nodiscard]] Error open(std::string_view directory) noexcept;
	void put(const Record &record) noexcept;
	/* JIT_CODE_CLOSE, and the file is let go. */
	void put_close(std::uint64_t time) noexcept;
	void unmap() noexcept;

	[[nodiscard]] static std::uint64_t now() noexcept;
	/* How lines look in a JIT_CODE_DEBUG_INFO record. `to` has line_bytes(lines). */
	[[nodiscard]] static std::uint64_t line_bytes(std::span<const SourceLine> lines) noexcept;
	static void encode_lines(std::byte *to, std::uint64_t start,
				 std::span<const SourceLine> lines) noexcept;

	OutFile file;

private:
	[[nodiscard]] Error map_marker() noexcept;

	void *marker_ = nullptr;
};

} // namespace jitsframe

#endif
