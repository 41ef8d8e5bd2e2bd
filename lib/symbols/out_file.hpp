/* SPDX-License-Identifier: MIT */
/* A file that is made anew and appended to in whole records, or not at all. */
#ifndef JITSFRAME_LIB_SYMBOLS_OUT_FILE_HPP
#define JITSFRAME_LIB_SYMBOLS_OUT_FILE_HPP

#include <jitsframe/result.hpp>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace jitsframe {

class OutFile {
public:
	OutFile() noexcept = default;
	OutFile(const OutFile &) = delete;
	OutFile &operator=(const OutFile &) = delete;
	~OutFile() { close(); }

	/* DIRECTORY/PREFIX<pid>SUFFIX */
	[[nodiscard]] Error open(std::string_view directory, const char *prefix, const char *suffix) noexcept;
	void close() noexcept;

	void put(const void *bytes, std::size_t count) noexcept;
	/* What was put since the last time is a record. */
	void end_record() noexcept { records_++; }
	/* Pass all of it to write(2). False: it failed, now or before. */
	bool flush() noexcept;

	[[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
	[[nodiscard]] int descriptor() const noexcept { return fd_; }
	[[nodiscard]] std::string_view path() const noexcept { return path_.data(); }
	[[nodiscard]] int os_errno() const noexcept { return error_; }
	[[nodiscard]] std::uint64_t records() const noexcept { return records_; }
	/* Of records(), those that write(2) took. */
	[[nodiscard]] std::uint64_t safe_records() const noexcept { return safe_records_; }
	[[nodiscard]] std::uint64_t bytes() const noexcept { return offset_; }

private:
	static constexpr std::size_t buffer_bytes = 64 << 10;

	bool write_out(const void *bytes, std::size_t count) noexcept;
	void keep_whole_records() noexcept;

	int fd_ = -1;
	int error_ = 0;
	std::size_t used_ = 0;
	std::uint64_t offset_ = 0;      /* Of the file's end. */
	std::uint64_t safe_offset_ = 0; /* Of its last whole flush. */
	std::uint64_t records_ = 0;
	std::uint64_t safe_records_ = 0;
	std::unique_ptr<std::byte[]> buffer_;
	std::array<char, PATH_MAX> path_{};
};

} // namespace jitsframe

#endif
