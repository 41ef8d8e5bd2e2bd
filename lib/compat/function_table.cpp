// SPDX-License-Identifier: MIT
#include "frame_shapes.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <utility>

namespace jitsframe {

namespace {

Error failed(Code code, const char *why, std::uint64_t at = 0) noexcept
{
	return {code, 0, "function table", why, at};
}

/* Of each entry, whether it is published: by it alone, in an area of others. */
class Marks {
public:
	[[nodiscard]] bool reserve(std::uint32_t count) noexcept
	{
		words_.reset(new (std::nothrow) std::uint64_t[count / 64u + 1]());
		return words_ != nullptr;
	}
	[[nodiscard]] bool has(std::uint32_t i) const noexcept { return words_[i / 64] & bit(i); }
	void set(std::uint32_t i) noexcept { words_[i / 64] |= bit(i); }
	void clear(std::uint32_t i) noexcept { words_[i / 64] &= ~bit(i); }

private:
	static std::uint64_t bit(std::uint32_t i) noexcept { return std::uint64_t{1} << (i % 64); }
	std::unique_ptr<std::uint64_t[]> words_;
};

/* An offset of an entry has 32 bits. */
constexpr std::uint64_t largest_range = std::uint64_t{1} << 32;

/*
 * What a function of a runtime comes to: an index entry, notes, and a few rows.
 * Two sections of `maximum` of them fit, so that a table seldom flips; a table
 * of longer functions does until its area is full, and says so.
 */
constexpr std::uint64_t guessed_bytes = 128;
constexpr std::uint64_t least_reserve = std::uint64_t{1} << 16;
constexpr std::uint64_t largest_reserve = std::uint64_t{4} << 30;

AreaOptions area_options(const FunctionTableOptions &options) noexcept
{
	AreaOptions own;

	own.text_start = options.range_base;
	own.text_size = options.range_end - options.range_base;
	own.reserve_bytes =
		std::min(least_reserve + 2 * guessed_bytes * options.maximum, largest_reserve);
	own.initial_functions = std::min(options.maximum, own.initial_functions);
	own.owner = options.owner;
	own.abi = &options.shapes->abi();
	return own;
}

Error check(const FunctionTableOptions &options) noexcept
{
	if (!options.entries || !options.shapes)
		return failed(Code::invalid_argument, "no entries, or no shapes");
	if (!options.maximum || options.count > options.maximum)
		return failed(Code::invalid_argument, "a maximum of 0, or below the count",
			      options.maximum);
	if (options.range_base >= options.range_end ||
	    options.range_end - options.range_base > largest_range)
		return failed(Code::invalid_argument, "a range of no bytes, or of more than 4 GiB",
			      options.range_base);
	if (options.area && options.area->abi().arch != options.shapes->abi().arch)
		return failed(Code::invalid_argument, "shapes of another machine than the area's");
	return {};
}

} // namespace

class FunctionTable::Impl {
public:
	Impl(const FunctionTableOptions &options, std::optional<Area> own) noexcept
		: options_(options), own_(std::move(own)),
		  area_(options.area ? *options.area : *own_)
	{
	}
	~Impl();
	Impl(const Impl &) = delete;
	Impl &operator=(const Impl &) = delete;

	[[nodiscard]] bool reserve() noexcept { return published_.reserve(options_.maximum); }
	Error grow(std::uint32_t count) noexcept;
	Error retire(std::uint32_t index) noexcept;
	[[nodiscard]] std::uint32_t count() const noexcept { return count_; }
	[[nodiscard]] const Area &area() const noexcept { return area_; }

private:
	[[nodiscard]] std::uint64_t start(std::uint32_t i) const noexcept
	{
		return options_.range_base + options_.entries[i].begin;
	}
	[[nodiscard]] Error check_place(std::uint32_t i) const noexcept;
	[[nodiscard]] Error publish(std::uint32_t i) noexcept;

	FunctionTableOptions options_;
	std::optional<Area> own_;
	Area &area_;
	std::uint32_t count_ = 0;
	Marks published_;
	RowBuffer rows_;
};

/* An area of its own goes with all that is in it. */
FunctionTable::Impl::~Impl()
{
	for (std::uint32_t i = 0; !own_ && i < count_; i++)
		if (published_.has(i))
			(void)area_.retire(start(i));
}

Error FunctionTable::Impl::check_place(std::uint32_t i) const noexcept
{
	const FunctionEntry &entry = options_.entries[i];

	if (entry.begin >= entry.end)
		return failed(Code::invalid_argument, "an entry of no bytes", i);
	if (entry.end > options_.range_end - options_.range_base)
		return failed(Code::outside_text, "an entry ends behind the range", i);
	return {};
}

Error FunctionTable::Impl::publish(std::uint32_t i) noexcept
{
	if (Error error = check_place(i))
		return error;

	const FunctionEntry &entry = options_.entries[i];
	const std::uint32_t size = entry.end - entry.begin;
	const Shape *shape = options_.shapes->impl_->find(entry.shape);
	if (!shape)
		return failed(Code::invalid_argument, "an entry has no shape", i);
	if (size < shape->shortest())
		return failed(Code::invalid_argument, "an entry is too short for its shape", i);

	const Result<FunctionRows> rows = rows_of(*shape, size, rows_);
	if (!rows)
		return rows.error();
	if (Error error = area_.publish(start(i), size, *rows))
		return error;
	published_.set(i);
	return {};
}

Error FunctionTable::Impl::grow(std::uint32_t count) noexcept
{
	if (count < count_ || count > options_.maximum)
		return failed(Code::invalid_argument, "fewer than are known, or more than the maximum",
			      count);
	for (std::uint32_t i = count_; i < count; i++) {
		const Error error = publish(i);

		if (!error)
			continue;
		while (i-- > count_)
			(void)retire(i);
		return error;
	}
	count_ = count;
	return {};
}

Error FunctionTable::Impl::retire(std::uint32_t index) noexcept
{
	if (index >= options_.maximum || !published_.has(index))
		return failed(Code::not_found, "an entry that is not known, or retired", index);
	published_.clear(index);
	return area_.retire(start(index));
}

Result<FunctionTable> FunctionTable::create(const FunctionTableOptions &options) noexcept
{
	if (Error error = check(options))
		return error;

	std::optional<Area> own;
	if (!options.area) {
		Result<Area> area = Area::create(area_options(options));
		if (!area)
			return area.error();
		own.emplace(std::move(*area));
	}

	std::unique_ptr<Impl> impl(new (std::nothrow) Impl(options, std::move(own)));
	if (!impl || !impl->reserve())
		return failed(Code::no_memory, "no memory for the table");
	if (Error error = impl->grow(options.count))
		return error;
	return FunctionTable(std::move(impl));
}

Error FunctionTable::grow(std::uint32_t count) noexcept
{
	return impl_->grow(count);
}

Error FunctionTable::retire(std::uint32_t index) noexcept
{
	return impl_->retire(index);
}

std::uint32_t FunctionTable::count() const noexcept
{
	return impl_->count();
}

Result<Found> FunctionTable::lookup(std::uint64_t pc) const noexcept
{
	return impl_->area().lookup(pc);
}

const Area &FunctionTable::area() const noexcept
{
	return impl_->area();
}

FunctionTable::FunctionTable(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
FunctionTable::FunctionTable(FunctionTable &&other) noexcept = default;
FunctionTable &FunctionTable::operator=(FunctionTable &&other) noexcept = default;
FunctionTable::~FunctionTable() = default;

} // namespace jitsframe
