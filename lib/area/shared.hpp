/* SPDX-License-Identifier: MIT */
/*
 * Memory that others read while it is written. Every access to the area goes
 * through here, as an atomic one: readers in this process may race with the
 * writer by design (a reader of a section that a flip let go reads what is
 * written over it, and finds out by `live`).
 */
#ifndef JITSFRAME_LIB_AREA_SHARED_HPP
#define JITSFRAME_LIB_AREA_SHARED_HPP

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace jitsframe::shared {

static_assert(std::atomic_ref<std::uint8_t>::is_always_lock_free);
static_assert(std::atomic_ref<std::uint16_t>::is_always_lock_free);
static_assert(std::atomic_ref<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);
static_assert(std::endian::native == std::endian::little);

template <typename T>
T &at(std::byte *where) noexcept
{
	return *reinterpret_cast<T *>(where);
}

template <typename T>
void store(std::byte *where, std::type_identity_t<T> value,
	   std::memory_order order = std::memory_order_relaxed) noexcept
{
	std::atomic_ref<T>(at<T>(where)).store(value, order);
}

/* atomic_ref of a const object is C++26; the load writes nothing. */
template <typename T>
[[nodiscard]] T load(const std::byte *where,
		     std::memory_order order = std::memory_order_relaxed) noexcept
{
	return std::atomic_ref<T>(at<T>(const_cast<std::byte *>(where))).load(order);
}

inline bool is_word_aligned(const std::byte *p) noexcept
{
	return reinterpret_cast<std::uintptr_t>(p) % sizeof(std::uint64_t) == 0;
}

/* Any alignment; words where it can. In no particular order. */
inline void store_bytes(std::byte *to, const std::byte *from, std::size_t bytes) noexcept
{
	while (bytes && !is_word_aligned(to)) {
		store<std::uint8_t>(to++, static_cast<std::uint8_t>(*from++));
		bytes--;
	}
	for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
		std::uint64_t word;

		std::memcpy(&word, from, sizeof(word));
		store<std::uint64_t>(to, word);
		to += sizeof(word);
		from += sizeof(word);
	}
	while (bytes--)
		store<std::uint8_t>(to++, static_cast<std::uint8_t>(*from++));
}

inline void load_bytes(std::byte *to, const std::byte *from, std::size_t bytes) noexcept
{
	while (bytes && !is_word_aligned(from)) {
		*to++ = std::byte{load<std::uint8_t>(from++)};
		bytes--;
	}
	for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
		const std::uint64_t word = load<std::uint64_t>(from);

		std::memcpy(to, &word, sizeof(word));
		to += sizeof(word);
		from += sizeof(word);
	}
	while (bytes--)
		*to++ = std::byte{load<std::uint8_t>(from++)};
}

} // namespace jitsframe::shared

#endif
