// SPDX-License-Identifier: MIT
#include <jitsframe/code.hpp>

#include "fork_mark.hpp"
#include "free_list.hpp"
#include "host.hpp"
#include "views.hpp"

#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace jitsframe {

namespace {

/* What FreeList can count with the smallest granule, rounded down to something to remember. */
constexpr std::uint64_t largest_window = 128ull << 30;

/* Locked only if several threads allocate. */
class MaybeLock {
public:
	MaybeLock(std::mutex &mutex, Producers producers) noexcept
	{
		if (producers == Producers::several)
			lock_.emplace(mutex);
	}

private:
	std::optional<std::lock_guard<std::mutex>> lock_;
};

template <typename Word>
void store_whole(std::byte *to, Word word) noexcept
{
	std::atomic_ref<Word>(*reinterpret_cast<Word *>(to)).store(word, std::memory_order_release);
}

} // namespace

class CodeMemory::Impl {
public:
	Impl(Views views, SyncDomain watched, Producers producers) noexcept
		: views_(std::move(views)), domain(std::move(watched)), producers_(producers),
		  granule_(domain.granule_bytes())
	{
	}

	[[nodiscard]] bool create_list() noexcept
	{
		return list_.create(static_cast<std::uint32_t>(views_.bytes() / granule_),
				    static_cast<std::uint32_t>(views_.address() / granule_) &
					    FreeList::largest_bias);
	}

	[[nodiscard]] std::uint64_t take(std::uint32_t size, std::uint32_t alignment) noexcept
	{
		const std::uint32_t granules = granules_for(size);
		const std::uint32_t align = alignment > granule_ ? alignment / granule_ : 1;
		const MaybeLock lock(mutex_, producers_);
		const std::uint32_t first = list_.take(granules, align);

		if (first == FreeList::none)
			return 0;
		allocations_++;
		live_granules_ += granules;
		return views_.address() + std::uint64_t{first} * granule_;
	}

	[[nodiscard]] bool give(std::uint64_t address) noexcept
	{
		const std::uint64_t offset = address - views_.address();
		const MaybeLock lock(mutex_, producers_);

		if (address < views_.address() || offset >= views_.bytes() || offset % granule_)
			return false;

		const std::uint32_t granules = list_.give(static_cast<std::uint32_t>(offset / granule_));
		if (!granules)
			return false;
		frees_++;
		live_granules_ -= granules;
		return true;
	}

	/* With the lock held throughout: what is punched must stay free meanwhile. */
	[[nodiscard]] std::uint64_t trim() noexcept
	{
		const MaybeLock lock(mutex_, producers_);
		std::uint64_t bytes = 0;

		list_.for_free([&](std::uint32_t first, std::uint32_t granules) {
			bytes += views_.give_back(views_.address() + std::uint64_t{first} * granule_,
						  std::uint64_t{granules} * granule_);
		});
		return bytes;
	}

	[[nodiscard]] CodeStats stats() noexcept
	{
		const MaybeLock lock(mutex_, producers_);

		return {domain.stats(), views_.bytes(), live_granules_ * granule_,
			allocations_ - frees_, allocations_, frees_};
	}

	[[nodiscard]] bool contains(std::uint64_t address, std::uint64_t size) const noexcept
	{
		return address >= views_.address() && size <= views_.bytes() &&
		       address - views_.address() <= views_.bytes() - size;
	}

	void fill_behind(const CodeSpan &span) const noexcept
	{
		host::fill_with_traps(span.writable + span.size,
				      std::size_t{granules_for(span.size)} * granule_ - span.size);
	}

	[[nodiscard]] const Views &views() const noexcept { return views_; }
	[[nodiscard]] bool is_parents() const noexcept { return mark_.is_inherited(); }

private:
	[[nodiscard]] std::uint32_t granules_for(std::uint32_t size) const noexcept
	{
		return size / granule_ + (size % granule_ != 0);
	}

	Views views_;

public:
	SyncDomain domain;

private:
	ForkMark mark_;
	Producers producers_;
	std::uint32_t granule_;
	std::mutex mutex_;
	FreeList list_;
	std::uint64_t allocations_ = 0;
	std::uint64_t frees_ = 0;
	std::uint64_t live_granules_ = 0;
};

CodeMemory::CodeMemory(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
CodeMemory::CodeMemory(CodeMemory &&other) noexcept = default;
CodeMemory &CodeMemory::operator=(CodeMemory &&other) noexcept = default;
CodeMemory::~CodeMemory() = default;

Result<CodeMemory> CodeMemory::create(const CodeOptions &options) noexcept
{
	const std::uint64_t page = page_bytes();
	const auto failed = [&](Code code, const char *why) {
		return Error{code, 0, "create code memory", why, options.window_bytes};
	};

	if (!options.window_bytes || options.window_bytes > largest_window)
		return failed(Code::invalid_argument, "the window's size is not in 1 byte to 128 GiB");

	const std::uint64_t bytes = (options.window_bytes + page - 1) & ~(page - 1);
	if (options.sync.granule_bytes &&
	    bytes / options.sync.granule_bytes > FreeList::most_granules)
		return failed(Code::invalid_argument, "more granules than can be counted");

	Result<Views> views = Views::map(bytes, options.near_address & ~(page - 1), options.backing);
	if (!views)
		return views.error();
	Result<SyncDomain> domain = SyncDomain::create(views->address(), bytes, options.sync);
	if (!domain)
		return domain.error();

	std::unique_ptr<Impl> impl(new (std::nothrow) Impl(std::move(*views), std::move(*domain),
							   options.producers));
	if (!impl || !impl->create_list())
		return failed(Code::no_memory, "no memory");
	return CodeMemory(std::move(impl));
}

WriteScope CodeMemory::begin() noexcept
{
	return WriteScope(*this, impl_->domain.begin());
}

Error CodeMemory::free(std::uint64_t address) noexcept
{
	if (impl_->give(address))
		return {};
	return {Code::not_found, 0, "free code", "no span begins there", address};
}

std::uint64_t CodeMemory::trim() noexcept
{
	return impl_->is_parents() ? 0 : impl_->trim();
}

std::byte *CodeMemory::writable(std::uint64_t address) const noexcept
{
	return impl_->contains(address, 1) ? impl_->views().writable(address) : nullptr;
}

std::uint64_t CodeMemory::text_start() const noexcept
{
	return impl_->views().address();
}

std::uint64_t CodeMemory::text_size() const noexcept
{
	return impl_->views().bytes();
}

SyncStatus CodeMemory::sync_status() const noexcept
{
	return impl_->domain.status();
}

CodeStats CodeMemory::stats() const noexcept
{
	return impl_->stats();
}

Result<CodeSpan> WriteScope::allocate(std::uint32_t size, std::uint32_t alignment) noexcept
{
	CodeMemory::Impl &memory = *memory_->impl_;
	const auto failed = [](Code code, const char *why, std::uint64_t at) {
		return Error{code, 0, "allocate code", why, at};
	};

	if (!size || (alignment && !std::has_single_bit(alignment)))
		return failed(Code::invalid_argument, "no bytes, or an alignment that is none",
			      size ? alignment : 0);
	if (memory.is_parents())
		return failed(Code::unsupported, "after a fork: the memory is the parent's", 0);

	const std::uint64_t address = memory.take(size, alignment);
	if (!address)
		return failed(Code::no_memory, "the window has no such free piece", size);
	if (Error error = batch_.mark_written(address, size)) {
		(void)memory.give(address);
		return error;
	}

	const CodeSpan span = {memory.views().writable(address), address, size};
	memory.fill_behind(span);
	return span;
}

Result<CodeSpan> WriteScope::rewrite(std::uint64_t address, std::uint32_t size,
				     Barrier barrier) noexcept
{
	CodeMemory::Impl &memory = *memory_->impl_;

	if (memory.is_parents())
		return Error{Code::unsupported, 0, "rewrite code",
			     "after a fork: the memory is the parent's", address};
	if (Error error = batch_.mark_written(address, size, barrier))
		return error;
	return CodeSpan{memory.views().writable(address), address, size};
}

Error WriteScope::patch32(std::uint64_t address, std::uint32_t word, Barrier barrier) noexcept
{
	if (address % sizeof(word))
		return {Code::invalid_argument, 0, "patch code", "the word is not aligned", address};

	const Result<CodeSpan> span = rewrite(address, sizeof(word), barrier);
	if (span)
		store_whole(span->writable, word);
	return span.error();
}

Error WriteScope::patch64(std::uint64_t address, std::uint64_t word, Barrier barrier) noexcept
{
	if (address % sizeof(word))
		return {Code::invalid_argument, 0, "patch code", "the word is not aligned", address};

	const Result<CodeSpan> span = rewrite(address, sizeof(word), barrier);
	if (span)
		store_whole(span->writable, word);
	return span.error();
}

} // namespace jitsframe
