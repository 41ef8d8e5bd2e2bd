// SPDX-License-Identifier: MIT
#include "out_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <unistd.h>

namespace jitsframe {

Error OutFile::open(std::string_view directory, const char *prefix, const char *suffix) noexcept
{
	const int length = std::snprintf(path_.data(), path_.size(), "%.*s/%s%d%s",
					 static_cast<int>(directory.size()), directory.data(), prefix,
					 static_cast<int>(getpid()), suffix);

	if (length < 0 || static_cast<std::size_t>(length) >= path_.size())
		return {Code::invalid_argument, 0, "open names file", "the path is too long", 0};
	buffer_.reset(new (std::nothrow) std::byte[buffer_bytes]);
	if (!buffer_)
		return {Code::no_memory, 0, "open names file", "no memory", 0};

	/*
	 * In a directory that everybody can write: never through a link that
	 * somebody left, nor into a file that is another's.
	 */
	if (unlink(path_.data()) && errno != ENOENT)
		return {Code::system, errno, "open names file", "what is there cannot be removed", 0};
	fd_ = ::open(path_.data(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd_ < 0)
		return {Code::system, errno, "open names file", "the file cannot be made", 0};
	return {};
}

void OutFile::close() noexcept
{
	if (fd_ >= 0)
		::close(fd_);
	fd_ = -1;
}

bool OutFile::write_out(const void *bytes, std::size_t count) noexcept
{
	auto *from = static_cast<const std::byte *>(bytes);

	while (count && !error_) {
		const ssize_t n = write(fd_, from, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			error_ = n ? errno : EIO;
			keep_whole_records();
			break;
		}
		from += n;
		count -= static_cast<std::size_t>(n);
		offset_ += static_cast<std::uint64_t>(n);
	}
	return !error_;
}

/* A reader cannot find its way behind half a record. */
void OutFile::keep_whole_records() noexcept
{
	if (ftruncate(fd_, static_cast<off_t>(safe_offset_)) == 0)
		offset_ = safe_offset_;
}

void OutFile::put(const void *bytes, std::size_t count) noexcept
{
	if (count > buffer_bytes - used_) {
		write_out(buffer_.get(), used_);
		used_ = 0;
	}
	if (count > buffer_bytes) {
		write_out(bytes, count);
		return;
	}
	std::memcpy(buffer_.get() + used_, bytes, count);
	used_ += count;
}

bool OutFile::flush() noexcept
{
	if (write_out(buffer_.get(), used_)) {
		safe_offset_ = offset_;
		safe_records_ = records_;
	}
	used_ = 0;
	return !error_;
}

} // namespace jitsframe
