/* SPDX-License-Identifier: MIT */
/*
 * Messages from many threads to one, in a bounded buffer. A producer reserves
 * room with one compare-and-swap, fills it, and stores its length last: nobody
 * waits for anybody, and a producer that is interrupted in between holds up the
 * consumer only.
 */
#ifndef JITSFRAME_LIB_SYMBOLS_RING_HPP
#define JITSFRAME_LIB_SYMBOLS_RING_HPP

#include "../code/lazy_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace jitsframe {

class Ring {
public:
	/* `bytes` is a power of two. False: no memory. */
	[[nodiscard]] bool create(std::uint64_t bytes) noexcept;

	/* Room for a payload, 8-byte aligned; null if it is full. At most largest(). */
	[[nodiscard]] std::byte *reserve(std::uint64_t bytes) noexcept;
	/* What reserve() gave is filled. */
	void publish(std::byte *payload, std::uint64_t bytes) noexcept;
	[[nodiscard]] std::uint64_t largest() const noexcept { return capacity_ / 2 - sizeof(Word); }

	/* --- the consumer ---------------------------------------------------- */

	/* The oldest message, or null: none that is complete. */
	[[nodiscard]] const std::byte *front() noexcept;
	/* It is done with. */
	void pop() noexcept;

	/* Messages are numbered by where they end. */
	[[nodiscard]] std::uint64_t reserved() const noexcept { return head_.load(); }
	[[nodiscard]] std::uint64_t consumed() const noexcept { return tail_.load(); }
	[[nodiscard]] bool is_half_full() const noexcept
	{
		return reserved() - consumed() > capacity_ / 2;
	}

private:
	/*
	 * Before each message: its length with this word, and whether it is only
	 * the rest before the buffer's end. 0: not complete. The consumer zeroes
	 * what it is done with before it moves the tail (release), and a producer
	 * has read the tail (acquire) before it writes there.
	 */
	using Word = std::uint64_t;
	static constexpr Word padding = Word{1} << 63;

	[[nodiscard]] std::atomic_ref<Word> word(std::uint64_t at) const noexcept;

	LazyArray<Word> words_;
	std::uint64_t capacity_ = 0;
	alignas(64) std::atomic<std::uint64_t> head_{0};
	alignas(64) std::atomic<std::uint64_t> tail_{0};
};

} // namespace jitsframe

#endif
