// SPDX-License-Identifier: MIT
#include <jitsframe/code.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace jitsframe {

namespace {

Error no_function(const char *why) noexcept
{
	return {Code::invalid_argument, 0, "create function", why, 0};
}

bool write(const FunctionText &text, const CodeSpan &span) noexcept
{
	if (text.emit)
		return text.emit(text.context, span);
	std::copy(text.bytes.begin(), text.bytes.end(), span.writable);
	return true;
}

} // namespace

Result<LiveFunction> LiveFunction::create(WriteScope &scope, const FunctionText &text,
				  const CodePlace &place) noexcept
{
	const std::size_t size = text.emit ? text.size : text.bytes.size();

	if (!size || size > std::numeric_limits<std::uint32_t>::max())
		return no_function("no text, or more than 4 GiB");

	Result<CodeSpan> span = scope.allocate(static_cast<std::uint32_t>(size), text.alignment);
	if (!span)
		return span.error();
	if (!write(text, *span)) {
		(void)scope.memory().free(span->address);
		return no_function("its emitter gave up");
	}

	const bool has_rows = place.area && text.rows;
	if (has_rows)
		if (Error error = place.area->publish(span->address, span->size, *text.rows)) {
			(void)scope.memory().free(span->address);
			return error;
		}
	if (place.observer && place.observer->loaded)
		place.observer->loaded(place.observer->context,
				       {span->address, text.name, span->bytes()});
	return LiveFunction(scope.memory(), *span, place, has_rows);
}

Result<LiveFunction> LiveFunction::create(CodeMemory &memory, const FunctionText &text,
				  const CodePlace &place, Committed *committed) noexcept
{
	WriteScope scope = memory.begin();
	Result<LiveFunction> function = create(scope, text, place);
	const Committed done = scope.commit();

	if (committed)
		*committed = done;
	return function;
}

LiveFunction::LiveFunction(LiveFunction &&other) noexcept
	: memory_(std::exchange(other.memory_, nullptr)), span_(other.span_), place_(other.place_),
	  has_rows_(other.has_rows_)
{
}

LiveFunction &LiveFunction::operator=(LiveFunction &&other) noexcept
{
	if (this != &other) {
		destroy();
		memory_ = std::exchange(other.memory_, nullptr);
		span_ = other.span_;
		place_ = other.place_;
		has_rows_ = other.has_rows_;
	}
	return *this;
}

LiveFunction::~LiveFunction()
{
	destroy();
}

/* Rows first: whoever gets the address next may publish at once. */
void LiveFunction::destroy() noexcept
{
	if (!memory_)
		return;
	if (has_rows_)
		(void)place_.area->retire(span_.address);
	if (place_.observer && place_.observer->unloaded)
		place_.observer->unloaded(place_.observer->context, span_.address, span_.size);
	(void)memory_->free(span_.address);
	memory_ = nullptr;
}

} // namespace jitsframe
