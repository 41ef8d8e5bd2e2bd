/* SPDX-License-Identifier: MIT */
/**
 * @file result.hpp
 * Errors as values: which kind of failure, what was being done, and why it
 * could not be. No allocation, no exception; every string is static.
 */
#ifndef JITSFRAME_RESULT_HPP
#define JITSFRAME_RESULT_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace jitsframe {

/** Kinds of failure. The numbers are those of enum jitsframe_code in C. */
enum class Code : std::uint32_t {
	ok = 0,
	invalid_argument = 1, /**< The caller broke a documented rule. */
	invalid_rows = 2,     /**< Rows out of order, outside the function, or not encodable. */
	outside_text = 3,     /**< The code is not inside the area's text range. */
	overlap = 4,          /**< Other live code is already published there. */
	not_found = 5,        /**< Nothing live starts at that address. */
	area_full = 6,        /**< The reserved area has no room for another section. */
	no_memory = 7,        /**< The system gave no memory or address space. */
	malformed = 8,        /**< Bytes that are no valid SFrame V3, or no CFI. */
	unsupported = 9,      /**< Valid, but not something this build or kernel does. */
	system = 10,          /**< A system call failed; see os_errno. */
};

/**
 * One failure. `what` names the operation, `why` the rule it broke; both are
 * static strings and never null in an error. `at` is the offending number
 * (address, byte offset or row index, as `why` says), 0 if there is none.
 */
struct [[nodiscard]] Error {
	Code code = Code::ok;
	int os_errno = 0;
	const char *what = "";
	const char *why = "";
	std::uint64_t at = 0;

	/** True if this is a failure. */
	[[nodiscard]] explicit operator bool() const noexcept { return code != Code::ok; }

	/**
	 * Write "what: why (at ...)" into `buffer`, cut at `size` bytes with
	 * the NUL. Returns the length the whole text has. Thread safe.
	 */
	std::size_t format(char *buffer, std::size_t size) const noexcept;
};

/** The name of a code, for people: "area full". Static string. */
[[nodiscard]] const char *to_string(Code code) noexcept;

/** A value or the Error that stands in its place. Move-only types allowed. */
template <typename T>
class [[nodiscard]] Result {
	static_assert(!std::is_same_v<T, Error>);

public:
	Result(T value) noexcept : has_value_(true) { ::new (&storage_) T(std::move(value)); }
	Result(Error error) noexcept : error_(error), has_value_(false) {}
	Result(Result &&other) noexcept : error_(other.error_), has_value_(other.has_value_)
	{
		if (has_value_)
			::new (&storage_) T(std::move(other.value()));
	}
	Result(const Result &) = delete;
	Result &operator=(const Result &) = delete;
	Result &operator=(Result &&) = delete;
	~Result()
	{
		if (has_value_)
			value().~T();
	}

	[[nodiscard]] bool has_value() const noexcept { return has_value_; }
	[[nodiscard]] explicit operator bool() const noexcept { return has_value_; }
	/** The failure; Code::ok if there is a value. */
	[[nodiscard]] const Error &error() const noexcept { return error_; }
	/** The value. Only if has_value(). */
	[[nodiscard]] T &value() & noexcept { return *reinterpret_cast<T *>(&storage_); }
	[[nodiscard]] const T &value() const & noexcept
	{
		return *reinterpret_cast<const T *>(&storage_);
	}
	[[nodiscard]] T &&value() && noexcept { return std::move(value()); }
	[[nodiscard]] T &operator*() & noexcept { return value(); }
	[[nodiscard]] const T &operator*() const & noexcept { return value(); }
	[[nodiscard]] T *operator->() noexcept { return &value(); }
	[[nodiscard]] const T *operator->() const noexcept { return &value(); }

private:
	Error error_{};
	alignas(T) unsigned char storage_[sizeof(T)];
	bool has_value_;
};

} // namespace jitsframe

#endif // JITSFRAME_RESULT_HPP
