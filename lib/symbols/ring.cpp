// SPDX-License-Identifier: MIT
#include "ring.hpp"

#include <cstring>

namespace jitsframe {

bool Ring::create(std::uint64_t bytes) noexcept
{
	capacity_ = bytes;
	return words_.map(bytes / sizeof(Word));
}

std::atomic_ref<Ring::Word> Ring::word(std::uint64_t at) const noexcept
{
	return std::atomic_ref<Word>(words_[(at & (capacity_ - 1)) / sizeof(Word)]);
}

std::byte *Ring::reserve(std::uint64_t bytes) noexcept
{
	const std::uint64_t length = (bytes + 2 * sizeof(Word) - 1) & ~(sizeof(Word) - 1);
	std::uint64_t at = head_.load(std::memory_order_relaxed), rest;

	do {
		const std::uint64_t to_end = capacity_ - (at & (capacity_ - 1));

		rest = length > to_end ? to_end : 0;
		if (at + rest + length - tail_.load(std::memory_order_acquire) > capacity_)
			return nullptr;
	} while (!head_.compare_exchange_weak(at, at + rest + length));

	if (rest)
		word(at).store(rest | padding, std::memory_order_release);
	return reinterpret_cast<std::byte *>(&words_[((at + rest) & (capacity_ - 1)) / sizeof(Word)] + 1);
}

/* Release, for front(); that the writer wakes up is the head's business (sleeper.hpp). */
void Ring::publish(std::byte *payload, std::uint64_t bytes) noexcept
{
	const std::uint64_t length = (bytes + 2 * sizeof(Word) - 1) & ~(sizeof(Word) - 1);

	std::atomic_ref<Word>(reinterpret_cast<Word *>(payload)[-1])
		.store(length, std::memory_order_release);
}

const std::byte *Ring::front() noexcept
{
	for (;;) {
		const std::uint64_t at = tail_.load(std::memory_order_relaxed);
		const Word length = word(at).load(std::memory_order_acquire);

		if (!length)
			return nullptr;
		if (!(length & padding))
			return reinterpret_cast<std::byte *>(&words_[(at & (capacity_ - 1)) / sizeof(Word)] + 1);
		pop();
	}
}

void Ring::pop() noexcept
{
	const std::uint64_t at = tail_.load(std::memory_order_relaxed);
	const Word length = word(at).load(std::memory_order_relaxed) & ~padding;

	std::memset(&words_[(at & (capacity_ - 1)) / sizeof(Word)], 0, length);
	tail_.store(at + length, std::memory_order_release);
}

} // namespace jitsframe
