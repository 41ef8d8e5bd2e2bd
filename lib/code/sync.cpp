// SPDX-License-Identifier: MIT
#include <jitsframe/code.hpp>

#include "host.hpp"
#include "lazy_memory.hpp"
#include "membarrier.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <utility>

namespace jitsframe {

namespace {

constexpr std::uint32_t smallest_granule = 16;
constexpr std::uint32_t largest_granule = 4096;
constexpr unsigned bits = 64;

struct Granules {
	std::uint64_t first;
	std::uint64_t end;
};

/* Bits [from, to) of a word, to <= 64. */
constexpr std::uint64_t mask(std::uint64_t from, std::uint64_t to) noexcept
{
	return (~std::uint64_t{0} << from) & (~std::uint64_t{0} >> (bits - to));
}

void count(std::atomic<std::uint64_t> &counter, std::uint64_t n) noexcept
{
	if (n)
		counter.fetch_add(n, std::memory_order_relaxed);
}

void make_coherent(std::uint64_t start, std::uint64_t end) noexcept
{
	__builtin___clear_cache(reinterpret_cast<char *>(start), reinterpret_cast<char *>(end));
}

} // namespace

class SyncDomain::Impl {
public:
	Impl(std::uint64_t start, std::uint64_t size, std::uint32_t granule) noexcept
		: start_(start), size_(size), shift_(static_cast<unsigned>(std::countr_zero(granule)))
	{
	}

	[[nodiscard]] bool map() noexcept { return runnable_.map((size_ >> shift_) / bits + 2); }

	[[nodiscard]] bool contains(std::uint64_t address, std::uint64_t size) const noexcept
	{
		return address >= start_ && size <= size_ && address - start_ <= size_ - size;
	}

	[[nodiscard]] Granules granules(std::uint64_t start, std::uint64_t end) const noexcept
	{
		return {(start - start_) >> shift_, ((end - start_ - 1) >> shift_) + 1};
	}

	/*
	 * Code there can run from now on; in how many granules could it before?
	 * Acquire and release: of two batches in one granule the second sees the
	 * bit, and its barrier comes behind the first one's writes.
	 */
	std::uint64_t make_runnable(Granules range) noexcept
	{
		int before = 0;

		for_words(range, [&](std::uint64_t &word, std::uint64_t part) {
			before += std::popcount(
				part & std::atomic_ref(word).fetch_or(part, std::memory_order_acq_rel));
		});
		return static_cast<std::uint64_t>(before);
	}

	[[nodiscard]] bool is_runnable(Granules range) const noexcept
	{
		std::uint64_t found = 0;

		for_words(range, [&](std::uint64_t &word, std::uint64_t part) {
			found |= part & std::atomic_ref(word).load(std::memory_order_relaxed);
		});
		return found;
	}

	[[nodiscard]] Committed synchronise() noexcept
	{
		const int error = status.means == SyncMeans::membarrier ? synchronise_all_cores()
									: status.os_errno;

		if (status.means == SyncMeans::membarrier && !error) {
			count(barriers, 1);
			return {Sync::done, 0};
		}
		let_threads_owe();
		count(owed, 1);
		return {Sync::owed, error};
	}

	[[nodiscard]] std::uint32_t granule() const noexcept { return 1u << shift_; }

	SyncStatus status{};
	std::atomic<std::uint64_t> writes{0}, exempt_writes{0}, bytes{0}, batches{0},
		reused_granules{0}, reusing_batches{0}, barriers{0}, owed{0};

private:
	template <typename Take>
	void for_words(Granules range, Take &&take) const noexcept
	{
		for (std::uint64_t i = range.first; i < range.end; i = (i / bits + 1) * bits)
			take(runnable_[i / bits],
			     mask(i % bits, std::min(range.end - i / bits * bits, std::uint64_t{bits})));
	}

	std::uint64_t start_;
	std::uint64_t size_;
	unsigned shift_;
	LazyArray<std::uint64_t> runnable_;
};

SyncDomain::SyncDomain(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
SyncDomain::SyncDomain(SyncDomain &&other) noexcept = default;
SyncDomain &SyncDomain::operator=(SyncDomain &&other) noexcept = default;
SyncDomain::~SyncDomain() = default;

Result<SyncDomain> SyncDomain::create(std::uint64_t text_start, std::uint64_t text_size,
				      const SyncOptions &options) noexcept
{
	const std::uint32_t granule = options.granule_bytes;
	const auto invalid = [](const char *why, std::uint64_t at) {
		return Error{Code::invalid_argument, 0, "create sync domain", why, at};
	};

	if (!std::has_single_bit(granule) || granule < smallest_granule || granule > largest_granule)
		return invalid("a granule is a power of two from 16 to 4096", granule);
	if (!text_size || text_start % granule || text_start + text_size < text_start)
		return invalid("an empty window, or one that does not begin at a granule", text_start);

	std::unique_ptr<Impl> impl(new (std::nothrow) Impl(text_start, text_size, granule));
	if (!impl || !impl->map())
		return Error{Code::no_memory, 0, "create sync domain", "no memory", text_size};
	impl->status = options.use_membarrier
			       ? register_membarrier()
			       : SyncStatus{SyncMeans::not_asked, 0, "not asked to use membarrier()"};
	return SyncDomain(std::move(impl));
}

SyncBatch SyncDomain::begin() noexcept
{
	return SyncBatch(impl_.get());
}

Error SyncDomain::assume_runnable(std::uint64_t address, std::uint64_t size) noexcept
{
	if (!impl_->contains(address, size))
		return {Code::outside_text, 0, "assume runnable", "not in the domain's window", address};
	if (size)
		impl_->make_runnable(impl_->granules(address, address + size));
	return {};
}

bool SyncDomain::was_runnable(std::uint64_t address, std::uint64_t size) const noexcept
{
	return size && impl_->contains(address, size) &&
	       impl_->is_runnable(impl_->granules(address, address + size));
}

SyncStatus SyncDomain::status() const noexcept
{
	return impl_->status;
}

std::uint32_t SyncDomain::granule_bytes() const noexcept
{
	return impl_->granule();
}

SyncStats SyncDomain::stats() const noexcept
{
	const auto get = [](const std::atomic<std::uint64_t> &counter) {
		return counter.load(std::memory_order_relaxed);
	};

	return {get(impl_->writes),          get(impl_->exempt_writes),   get(impl_->bytes),
		get(impl_->batches),         get(impl_->reusing_batches), get(impl_->reused_granules),
		get(impl_->barriers),        get(impl_->owed)};
}

SyncBatch::SyncBatch(SyncBatch &&other) noexcept
	: domain_(other.domain_), count_(std::exchange(other.count_, 0)),
	  capacity_(std::exchange(other.capacity_, inline_ranges)), heap_(std::move(other.heap_)),
	  inline_(other.inline_)
{
}

SyncBatch::~SyncBatch()
{
	(void)commit();
}

void SyncBatch::clear() noexcept
{
	count_ = 0;
}

bool SyncBatch::grow() noexcept
{
	std::unique_ptr<Range[]> more(new (std::nothrow) Range[capacity_ * 2]);

	if (!more)
		return false;
	std::copy_n(ranges(), count_, more.get());
	heap_ = std::move(more);
	capacity_ *= 2;
	return true;
}

/* Emitters write upwards: most writes go on where the last one ended. */
bool SyncBatch::joins_last(std::uint64_t start, std::uint64_t end, Barrier barrier) noexcept
{
	if (!count_)
		return false;

	Range &last = ranges()[count_ - 1];
	if (last.barrier != barrier || start != last.end)
		return false;
	last.end = end;
	last.writes++;
	return true;
}

Error SyncBatch::mark_written(std::uint64_t address, std::uint64_t size, Barrier barrier) noexcept
{
	const auto &domain = *static_cast<SyncDomain::Impl *>(domain_);

	if (!size)
		return {Code::invalid_argument, 0, "mark written", "no bytes", address};
	if (!domain.contains(address, size))
		return {Code::outside_text, 0, "mark written", "not in the domain's window", address};
	if (joins_last(address, address + size, barrier))
		return {};
	if (count_ == capacity_ && !grow())
		return {Code::no_memory, 0, "mark written", "no memory to note a range", address};
	ranges()[count_++] = {address, address + size, 1, barrier};
	return {};
}

Committed SyncBatch::commit() noexcept
{
	auto &domain = *static_cast<SyncDomain::Impl *>(domain_);
	Range *const all = ranges();
	std::uint64_t bytes = 0, writes = 0, exempt = 0, reused = 0, noted = 0;

	if (!count_)
		return {};

	/*
	 * What needs the barrier first, and each granule once: a batch that
	 * writes a fresh granule twice must not take its own mark for another's.
	 */
	std::sort(all, all + count_, [](const Range &a, const Range &b) {
		return a.barrier != b.barrier ? a.barrier < b.barrier : a.start < b.start;
	});
	host::finish_stores();
	for (std::size_t i = 0; i < count_; i++) {
		const Range &range = all[i];
		Granules granules = domain.granules(range.start, range.end);

		make_coherent(range.start, range.end);
		bytes += range.end - range.start;
		writes += range.writes;
		if (range.barrier == Barrier::none) {
			exempt += range.writes;
			domain.make_runnable(granules);
			continue;
		}
		granules.first = std::max(granules.first, noted);
		if (granules.first < granules.end) {
			reused += domain.make_runnable(granules);
			noted = granules.end;
		}
	}
	clear();

	count(domain.bytes, bytes);
	count(domain.writes, writes);
	count(domain.exempt_writes, exempt);
	count(domain.reused_granules, reused);
	count(domain.batches, 1);
	if (!reused)
		return {};
	count(domain.reusing_batches, 1);
	return domain.synchronise();
}

const char *to_string(Sync sync) noexcept
{
	switch (sync) {
	case Sync::not_needed:
		return "not needed";
	case Sync::done:
		return "done";
	case Sync::owed:
		return "owed";
	}
	return "unknown";
}

const char *to_string(SyncMeans means) noexcept
{
	switch (means) {
	case SyncMeans::membarrier:
		return "membarrier";
	case SyncMeans::not_asked:
		return "not asked";
	case SyncMeans::kernel_lacks:
		return "kernel lacks it";
	case SyncMeans::blocked:
		return "blocked";
	}
	return "unknown";
}

} // namespace jitsframe
