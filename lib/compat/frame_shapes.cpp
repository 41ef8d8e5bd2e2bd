// SPDX-License-Identifier: MIT
#include "frame_shapes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace jitsframe {

namespace {

Error failed(Code code, const char *why, std::uint64_t at = 0) noexcept
{
	return {code, 0, "frame shape", why, at};
}

/* FNV-1a, of numbers rather than bytes. */
class Hash {
public:
	Hash &add(std::uint64_t number) noexcept
	{
		state_ = (state_ ^ number) * 0x100000001b3u;
		return *this;
	}
	Hash &add(const Rule &rule) noexcept
	{
		return add(static_cast<std::uint64_t>(rule.base) | (rule.deref ? 16u : 0u) |
			   std::uint64_t{rule.reg} << 8)
			.add(static_cast<std::uint32_t>(rule.offset));
	}
	Hash &add(const Row &row) noexcept
	{
		return add(row.offset | std::uint64_t{row.outermost} << 32 |
			   std::uint64_t{row.ra_signed} << 33)
			.add(row.cfa)
			.add(row.ra)
			.add(row.fp);
	}
	/* The low bits choose a bucket. */
	[[nodiscard]] std::uint64_t value() const noexcept { return state_ ^ state_ >> 32; }

private:
	std::uint64_t state_ = 0xcbf29ce484222325u;
};

/* What `rows` come to as a shape. False: no memory. */
bool make_shape(const FunctionRows &rows, std::uint32_t size, std::uint32_t body_at,
		Shape &shape) noexcept
{
	shape.rows.reset(new (std::nothrow) Row[rows.rows.size()]);
	if (!shape.rows)
		return false;
	std::copy(rows.rows.begin(), rows.rows.end(), shape.rows.get());
	shape.count = static_cast<std::uint32_t>(rows.rows.size());
	shape.head = static_cast<std::uint32_t>(
		std::count_if(rows.rows.begin(), rows.rows.end(),
			      [body_at](const Row &row) { return row.offset <= body_at; }));
	for (std::uint32_t i = shape.head; i < shape.count; i++)
		shape.rows[i].offset = size - shape.rows[i].offset;
	shape.signal = rows.signal;
	shape.pauth_key_b = rows.pauth_key_b;
	shape.repeat_block = rows.repeat_block;
	shape.hash = shape.hashed();
	return true;
}

} // namespace

Row *RowBuffer::of(std::size_t rows) noexcept
{
	if (rows > capacity_) {
		rows_.reset(new (std::nothrow) Row[rows]);
		capacity_ = rows_ ? rows : 0;
	}
	return rows_.get();
}

/* Each row holds for a byte at least. */
std::uint32_t Shape::shortest() const noexcept
{
	const std::uint32_t before = head ? rows[head - 1].offset + 1 : 1;

	return head < count ? before + rows[head].offset : before;
}

bool Shape::is_same(const Shape &other) const noexcept
{
	return hash == other.hash && count == other.count && head == other.head &&
	       signal == other.signal && pauth_key_b == other.pauth_key_b &&
	       repeat_block == other.repeat_block &&
	       std::equal(rows.get(), rows.get() + count, other.rows.get());
}

std::uint64_t Shape::hashed() const noexcept
{
	Hash made;

	made.add(head).add(std::uint64_t{signal} | std::uint64_t{pauth_key_b} << 1 |
			   std::uint64_t{repeat_block} << 8);
	for (std::uint32_t i = 0; i < count; i++)
		made.add(rows[i]);
	return made.value();
}

Result<FunctionRows> rows_of(const Shape &shape, std::uint32_t size, RowBuffer &buffer) noexcept
{
	const Row *rows = shape.rows.get();

	if (shape.head < shape.count) {
		Row *moved = buffer.of(shape.count);
		if (!moved)
			return failed(Code::no_memory, "no memory for a function's rows");
		std::copy(rows, rows + shape.count, moved);
		for (std::uint32_t i = shape.head; i < shape.count; i++)
			moved[i].offset = size - moved[i].offset;
		rows = moved;
	}
	return FunctionRows{{rows, shape.count}, shape.signal, shape.pauth_key_b, shape.repeat_block};
}

FrameShapes::Impl::~Impl()
{
	for (const auto &chunk : chunks_)
		delete[] chunk.load(std::memory_order_relaxed);
}

/* Number n is the (n - 1)th; chunk i begins with the (first_chunk * (2^i - 1))th. */
Shape *FrameShapes::Impl::at(std::uint32_t number) const noexcept
{
	const std::uint64_t place = std::uint64_t{number} - 1 + first_chunk;
	const auto chunk = static_cast<std::size_t>(std::bit_width(place / first_chunk)) - 1;

	if (!number || chunk >= chunks)
		return nullptr;
	/* Pairs with the release in take_number(). */
	Shape *shapes = chunks_[chunk].load(std::memory_order_acquire);
	return shapes ? shapes + (place - (std::uint64_t{first_chunk} << chunk)) : nullptr;
}

const Shape *FrameShapes::Impl::find(std::uint32_t number) const noexcept
{
	const Shape *shape = at(number);

	/* Pairs with the release in add(): what it counts uses of is written. */
	return shape && shape->uses.load(std::memory_order_acquire) ? shape : nullptr;
}

std::uint32_t FrameShapes::Impl::known(const Shape &shape) const noexcept
{
	std::uint32_t number = buckets_[shape.hash & (bucket_count_ - 1)];

	while (number && !at(number)->is_same(shape))
		number = at(number)->next;
	return number;
}

/* As many buckets as shapes, so that a bucket holds one, on average. */
bool FrameShapes::Impl::reserve_buckets(std::uint32_t count) noexcept
{
	if (count <= bucket_count_)
		return true;

	const std::uint32_t wanted = std::max(bucket_count_ * 2, first_chunk);
	std::unique_ptr<std::uint32_t[]> more(new (std::nothrow) std::uint32_t[wanted]());
	if (!more)
		return false;
	for (std::uint32_t bucket = 0; bucket < bucket_count_; bucket++)
		for (std::uint32_t number = buckets_[bucket]; number;) {
			Shape &shape = *at(number);
			std::uint32_t &first = more[shape.hash & (wanted - 1)];
			const std::uint32_t next = std::exchange(shape.next, first);

			first = std::exchange(number, next);
		}
	buckets_ = std::move(more);
	bucket_count_ = wanted;
	return true;
}

/* 0: no memory, or no number. */
std::uint32_t FrameShapes::Impl::take_number() noexcept
{
	if (free_)
		return std::exchange(free_, at(free_)->next);

	const std::uint32_t number = used_ + 1;
	const std::uint64_t place = std::uint64_t{used_} + first_chunk;
	const auto chunk = static_cast<std::size_t>(std::bit_width(place / first_chunk)) - 1;
	if (chunk >= chunks)
		return 0;
	if (!at(number)) {
		Shape *shapes = new (std::nothrow) Shape[std::size_t{first_chunk} << chunk];

		if (!shapes)
			return 0;
		chunks_[chunk].store(shapes, std::memory_order_release);
	}
	used_ = number;
	return number;
}

Result<std::uint32_t> FrameShapes::Impl::add(Shape &shape) noexcept
{
	const std::lock_guard held(mutex_);

	if (const std::uint32_t number = known(shape)) {
		at(number)->uses.fetch_add(1, std::memory_order_relaxed);
		return number;
	}
	if (!reserve_buckets(alive.load(std::memory_order_relaxed) + 1))
		return failed(Code::no_memory, "no memory to find it again");
	const std::uint32_t number = take_number();
	if (!number)
		return failed(Code::no_memory, "no memory for another");

	Shape &place = *at(number);
	std::uint32_t &first = buckets_[shape.hash & (bucket_count_ - 1)];
	place.hash = shape.hash;
	place.rows = std::move(shape.rows);
	place.count = shape.count;
	place.head = shape.head;
	place.signal = shape.signal;
	place.pauth_key_b = shape.pauth_key_b;
	place.repeat_block = shape.repeat_block;
	place.next = std::exchange(first, number);
	/* Pairs with the acquire in find(). */
	place.uses.store(1, std::memory_order_release);
	alive.fetch_add(1, std::memory_order_relaxed);
	return number;
}

void FrameShapes::Impl::unlink(std::uint32_t number, const Shape &shape) noexcept
{
	std::uint32_t *link = &buckets_[shape.hash & (bucket_count_ - 1)];

	while (*link != number)
		link = &at(*link)->next;
	*link = shape.next;
}

Error FrameShapes::Impl::remove(std::uint32_t number) noexcept
{
	const std::lock_guard held(mutex_);
	Shape *shape = at(number);

	if (!shape || !shape->uses.load(std::memory_order_relaxed))
		return failed(Code::not_found, "no shape of that number", number);
	if (shape->uses.fetch_sub(1, std::memory_order_relaxed) > 1)
		return {};
	unlink(number, *shape);
	shape->rows.reset();
	shape->next = std::exchange(free_, number);
	alive.fetch_sub(1, std::memory_order_relaxed);
	return {};
}

Result<FrameShapes> FrameShapes::create(const Abi *abi) noexcept
{
	std::unique_ptr<Impl> impl(new (std::nothrow) Impl(abi ? *abi : host_abi()));

	if (!impl || !impl->reserve_buckets(1))
		return failed(Code::no_memory, "no memory for the table of shapes");
	return FrameShapes(std::move(impl));
}

Result<std::uint32_t> FrameShapes::add(const FunctionRows &rows, std::uint32_t size,
				       std::uint32_t body_at) noexcept
{
	if (Error error = check_rows(impl_->abi, size, rows))
		return error;
	if (body_at != no_body && body_at >= size)
		return failed(Code::invalid_argument, "the body is not inside the function", body_at);
	if (body_at != no_body && rows.repeat_block)
		return failed(Code::invalid_argument, "blocks that repeat have no body", body_at);

	Shape shape;
	if (!make_shape(rows, size, body_at, shape))
		return failed(Code::no_memory, "no memory for its rows");
	return impl_->add(shape);
}

Result<std::uint32_t> FrameShapes::add(const FrameRows &rows, std::uint32_t size,
				       std::uint32_t body_at) noexcept
{
	if (Error error = rows.error())
		return error;
	return add(rows.view(), size, body_at);
}

Error FrameShapes::remove(std::uint32_t shape) noexcept
{
	return impl_->remove(shape);
}

std::uint32_t FrameShapes::count() const noexcept
{
	return impl_->alive.load(std::memory_order_relaxed);
}

Result<std::uint32_t> FrameShapes::shortest(std::uint32_t shape) const noexcept
{
	const Shape *found = impl_->find(shape);

	if (!found)
		return failed(Code::not_found, "no shape of that number", shape);
	return found->shortest();
}

const Abi &FrameShapes::abi() const noexcept
{
	return impl_->abi;
}

FrameShapes::FrameShapes(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
FrameShapes::FrameShapes(FrameShapes &&other) noexcept = default;
FrameShapes &FrameShapes::operator=(FrameShapes &&other) noexcept = default;
FrameShapes::~FrameShapes() = default;

} // namespace jitsframe
