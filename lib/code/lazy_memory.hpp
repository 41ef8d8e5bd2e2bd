/* SPDX-License-Identifier: MIT */
/* Zeroed memory that is taken as it is touched, for tables as large as a window may need them. */
#ifndef JITSFRAME_LIB_CODE_LAZY_MEMORY_HPP
#define JITSFRAME_LIB_CODE_LAZY_MEMORY_HPP

#include <cstddef>
#include <utility>

#include <sys/mman.h>

namespace jitsframe {

template <typename T>
class LazyArray {
public:
	LazyArray() noexcept = default;
	LazyArray(LazyArray &&other) noexcept
		: data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_)
	{
	}
	LazyArray &operator=(LazyArray &&) = delete;
	~LazyArray()
	{
		if (data_)
			munmap(data_, bytes_);
	}

	[[nodiscard]] bool map(std::size_t count) noexcept
	{
		bytes_ = count * sizeof(T);
		void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		data_ = memory == MAP_FAILED ? nullptr : static_cast<T *>(memory);
		return data_;
	}
	[[nodiscard]] T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
	T *data_ = nullptr;
	std::size_t bytes_ = 0;
};

} // namespace jitsframe

#endif
