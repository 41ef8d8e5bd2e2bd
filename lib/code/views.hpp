/* SPDX-License-Identifier: MIT */
/* Two views of one memory: one to write, one to run. */
#ifndef JITSFRAME_LIB_CODE_VIEWS_HPP
#define JITSFRAME_LIB_CODE_VIEWS_HPP

#include <jitsframe/code.hpp>

#include <cstddef>
#include <cstdint>

namespace jitsframe {

class Views {
public:
	/* `bytes` is of whole pages. */
	[[nodiscard]] static Result<Views> map(std::uint64_t bytes, std::uint64_t near_address,
					       Backing backing) noexcept;
	Views(Views &&other) noexcept;
	Views &operator=(Views &&) = delete;
	~Views();

	[[nodiscard]] std::uint64_t address() const noexcept { return address_; }
	[[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

	[[nodiscard]] std::byte *writable(std::uint64_t address) const noexcept
	{
		return writable_ + (address - address_);
	}

	/* Give back the whole pages inside [address, address + bytes): they read as 0 then. */
	[[nodiscard]] std::uint64_t give_back(std::uint64_t address, std::uint64_t bytes) const noexcept;

private:
	Views(std::byte *writable, std::uint64_t address, std::uint64_t bytes) noexcept
		: writable_(writable), address_(address), bytes_(bytes)
	{
	}

	std::byte *writable_;
	std::uint64_t address_;
	std::uint64_t bytes_;
};

/* Of this system. */
[[nodiscard]] std::uint64_t page_bytes() noexcept;

} // namespace jitsframe

#endif
