// SPDX-License-Identifier: MIT
#include "fork_mark.hpp"

#include <atomic>

#include <sys/mman.h>
#include <unistd.h>

namespace jitsframe {

namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free);

/* For kernels before 4.14, which do not wipe: a child looks like its parent then. */
constinit Word never_wiped{0};
constinit std::atomic<Word *> page{nullptr};
/* Copied by fork: a child's numbers go on from its parent's. */
constinit Word last{0};

Word *map_wiped_page(std::size_t bytes) noexcept
{
	void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return nullptr;
	if (!madvise(memory, bytes, MADV_WIPEONFORK))
		return static_cast<Word *>(memory);
	munmap(memory, bytes);
	return nullptr;
}

/* The page of this process; of several threads that come first, one's. */
Word *process_page() noexcept
{
	Word *known = page.load(std::memory_order_acquire);

	if (known)
		return known;

	const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	Word *mine = map_wiped_page(bytes);
	if (page.compare_exchange_strong(known, mine ? mine : &never_wiped, std::memory_order_acq_rel))
		return mine ? mine : &never_wiped;
	if (mine)
		munmap(mine, bytes);
	return known;
}

/* The number of this process: wiped to 0 by fork, then the next one. */
std::uint64_t this_process() noexcept
{
	Word *word = process_page();
	std::uint64_t number = word->load(std::memory_order_relaxed);

	if (number)
		return number;

	const std::uint64_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
	return word->compare_exchange_strong(number, next, std::memory_order_relaxed) ? next : number;
}

} // namespace

ForkMark::ForkMark() noexcept : made_by_(this_process()) {}

bool ForkMark::is_inherited() const noexcept
{
	return page.load(std::memory_order_acquire)->load(std::memory_order_relaxed) != made_by_;
}

} // namespace jitsframe
