/* SPDX-License-Identifier: MIT */
/* int f(void) { return value; } */
#ifndef JITSFRAME_LIB_TESTS_RETURNS_HPP
#define JITSFRAME_LIB_TESTS_RETURNS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace returns {

constexpr std::uint32_t size = 6;

inline std::array<std::byte, size> code(std::uint32_t value)
{
	/* mov eax, value; ret */
	std::array<std::byte, size> bytes = {std::byte{0xb8}, {}, {}, {}, {}, std::byte{0xc3}};

	std::memcpy(&bytes[1], &value, sizeof(value));
	return bytes;
}

} // namespace returns

#endif
