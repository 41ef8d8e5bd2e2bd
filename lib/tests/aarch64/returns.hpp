/* SPDX-License-Identifier: MIT */
/* int f(void) { return value; } */
#ifndef JITSFRAME_LIB_TESTS_RETURNS_HPP
#define JITSFRAME_LIB_TESTS_RETURNS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace returns {

constexpr std::uint32_t size = 12;

inline std::array<std::byte, size> code(std::uint32_t value)
{
	const std::uint32_t words[] = {
		0x52800000u | (value & 0xffffu) << 5, /* movz w0, #low */
		0x72a00000u | (value >> 16) << 5,     /* movk w0, #high, lsl #16 */
		0xd65f03c0u,                          /* ret */
	};
	std::array<std::byte, size> bytes;

	std::memcpy(bytes.data(), words, size);
	return bytes;
}

} // namespace returns

#endif
