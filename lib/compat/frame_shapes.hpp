/* SPDX-License-Identifier: MIT */
/* Frames by number, each once. */
#ifndef JITSFRAME_LIB_COMPAT_FRAME_SHAPES_HPP
#define JITSFRAME_LIB_COMPAT_FRAME_SHAPES_HPP

#include <jitsframe/function_table.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

namespace jitsframe {

/* A buffer of rows that only grows. */
class RowBuffer {
public:
	/* Null: no memory. What was in it is lost. */
	[[nodiscard]] Row *of(std::size_t rows) noexcept;

private:
	std::unique_ptr<Row[]> rows_;
	std::size_t capacity_ = 0;
};

/*
 * A shape. Rows behind the body have the distance from the function's end in
 * place of an offset. All but `uses` is written before the number is given out,
 * and again only after the last user has removed it.
 */
struct Shape {
	std::atomic<std::uint32_t> uses{0};
	std::uint32_t next = 0; /* of the same bucket, or of those that are free */
	std::uint64_t hash = 0;
	std::unique_ptr<Row[]> rows;
	std::uint32_t count = 0;
	std::uint32_t head = 0; /* rows before the body */
	bool signal = false;
	bool pauth_key_b = false;
	std::uint8_t repeat_block = 0;

	[[nodiscard]] std::uint32_t shortest() const noexcept;
	[[nodiscard]] bool is_same(const Shape &other) const noexcept;
	[[nodiscard]] std::uint64_t hashed() const noexcept;
};

class FrameShapes::Impl {
public:
	explicit Impl(const Abi &of) noexcept : abi(of) {}
	~Impl();
	Impl(const Impl &) = delete;
	Impl &operator=(const Impl &) = delete;

	[[nodiscard]] bool reserve_buckets(std::uint32_t count) noexcept;
	[[nodiscard]] Result<std::uint32_t> add(Shape &shape) noexcept;
	Error remove(std::uint32_t number) noexcept;
	/* Null: there is none. Waits for nobody. */
	[[nodiscard]] const Shape *find(std::uint32_t number) const noexcept;

	const Abi &abi;
	std::atomic<std::uint32_t> alive{0};

private:
	[[nodiscard]] Shape *at(std::uint32_t number) const noexcept;
	[[nodiscard]] std::uint32_t known(const Shape &shape) const noexcept;
	[[nodiscard]] std::uint32_t take_number() noexcept;
	void unlink(std::uint32_t number, const Shape &shape) noexcept;

	/* Chunk i holds twice as many as chunk i - 1, and never moves. */
	static constexpr std::uint32_t first_chunk = 64;
	static constexpr std::size_t chunks = 25;

	std::mutex mutex_; /* of what is below, but for chunks_, which are read without it */
	std::array<std::atomic<Shape *>, chunks> chunks_{};
	std::uint32_t used_ = 0; /* numbers given out so far, the first of which is 1 */
	std::uint32_t free_ = 0;
	std::unique_ptr<std::uint32_t[]> buckets_;
	std::uint32_t bucket_count_ = 0;
};

/* The rows of a function of that shape and `size`; in `buffer`, or the shape's own. */
[[nodiscard]] Result<FunctionRows> rows_of(const Shape &shape, std::uint32_t size,
					   RowBuffer &buffer) noexcept;

} // namespace jitsframe

#endif
