// SPDX-License-Identifier: MIT
#include "views.hpp"

#include <cerrno>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace jitsframe {

namespace {

/* linux/memfd.h has it since 6.3; older kernels answer EINVAL, and need it not. */
constexpr unsigned memfd_executable = 0x0010;

class Descriptor {
public:
	explicit Descriptor(int fd) noexcept : fd_(fd) {}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
	~Descriptor()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	[[nodiscard]] int get() const noexcept { return fd_; }

private:
	int fd_;
};

int make_memfd() noexcept
{
	constexpr unsigned flags = MFD_CLOEXEC;
	const int fd = memfd_create("jitsframe", flags | memfd_executable);

	return fd < 0 && errno == EINVAL ? memfd_create("jitsframe", flags) : fd;
}

Error failed(const char *why) noexcept
{
	const int error = errno;

	return {error == ENOMEM ? Code::no_memory : Code::system, error, "map code memory", why, 0};
}

void *map_executable(std::uint64_t near_address, std::uint64_t bytes, int flags, int fd) noexcept
{
	return mmap(reinterpret_cast<void *>(near_address), bytes, PROT_READ | PROT_EXEC,
		    MAP_SHARED | MAP_NORESERVE | flags, fd, 0);
}

/* The same pages once more. The protections differ before the first byte is written. */
void *map_again(void *executable, std::uint64_t bytes) noexcept
{
	void *other = mremap(executable, 0, bytes, MREMAP_MAYMOVE);

	if (other != MAP_FAILED && mprotect(other, bytes, PROT_READ | PROT_WRITE)) {
		const int error = errno;

		munmap(other, bytes);
		errno = error;
		return MAP_FAILED;
	}
	return other;
}

} // namespace

std::uint64_t page_bytes() noexcept
{
	return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Result<Views> Views::map(std::uint64_t bytes, std::uint64_t near_address, Backing backing) noexcept
{
	const bool anonymous = backing == Backing::shared_anonymous;
	const Descriptor fd(anonymous ? -1 : make_memfd());

	if (!anonymous && (fd.get() < 0 || ftruncate(fd.get(), static_cast<off_t>(bytes))))
		return failed("no memfd of that size");

	void *executable =
		map_executable(near_address, bytes, anonymous ? MAP_ANONYMOUS : 0, fd.get());
	if (executable == MAP_FAILED)
		return failed("the system maps nothing executable");

	void *writable = anonymous ? map_again(executable, bytes)
				   : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
	if (writable == MAP_FAILED) {
		const Error error = failed("no second, writable view");

		munmap(executable, bytes);
		return error;
	}
	return Views(static_cast<std::byte *>(writable), reinterpret_cast<std::uint64_t>(executable),
		     bytes);
}

Views::Views(Views &&other) noexcept
	: writable_(std::exchange(other.writable_, nullptr)), address_(other.address_),
	  bytes_(other.bytes_)
{
}

Views::~Views()
{
	if (!writable_)
		return;
	munmap(writable_, bytes_);
	munmap(reinterpret_cast<void *>(address_), bytes_);
}

std::uint64_t Views::give_back(std::uint64_t address, std::uint64_t bytes) const noexcept
{
	const std::uint64_t page = page_bytes();
	const std::uint64_t first = (address + page - 1) & ~(page - 1);
	const std::uint64_t end = (address + bytes) & ~(page - 1);

	if (first >= end || madvise(writable(first), end - first, MADV_REMOVE))
		return 0;
	return end - first;
}

} // namespace jitsframe
