/* SPDX-License-Identifier: MIT */
/**
 * @file function_table.hpp
 * Layer 7: growable function tables, for runtimes that have this seam already.
 *
 * In the manner of RtlAddGrowableFunctionTable, RtlGrowFunctionTable and
 * RtlDeleteGrowableFunctionTable: the runtime owns an array of entries, relative
 * to a base, and says how many of them are known. What differs: an entry names a
 * *shape* (how the frame of such functions looks) in place of the address of
 * unwinding information, because most functions of a runtime share a few;
 * growing makes no system call; entries need not ascend, because no reader
 * searches the array (a function that was put into a gap is appended, where on
 * Windows the table is deleted and built anew); and a single entry can be
 * retired, where Windows has no call and runtimes mark entries as dead.
 */
#ifndef JITSFRAME_FUNCTION_TABLE_HPP
#define JITSFRAME_FUNCTION_TABLE_HPP

#include <jitsframe/area.hpp>
#include <jitsframe/result.hpp>
#include <jitsframe/rows.hpp>
#include <jitsframe/sframe.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace jitsframe {

/**
 * Frames that entries of function tables refer to by number. Equal shapes have
 * one number, so that a runtime need not know which it has added before: it
 * describes the frame of each function it compiles and is told the number.
 *
 * Two functions have the same shape if they differ only in the length of their
 * body: rows up to it count from the beginning, rows behind it from the end.
 * So a shape fits any function that is long enough; see add().
 *
 * Threads: any, at the same time. Readers of areas never come here. Must not be
 * moved while a FunctionTable refers to it.
 */
class FrameShapes {
public:
	/** Never the number of a shape: an entry that was zeroed is refused, not misread. */
	static constexpr std::uint32_t none = 0;
	/** For `body_at`: all rows count from the beginning. */
	static constexpr std::uint32_t no_body = UINT32_MAX;

	/** `abi` null: host_abi(). Errors: no_memory. */
	[[nodiscard]] static Result<FrameShapes> create(const Abi *abi = nullptr) noexcept;
	FrameShapes(FrameShapes &&other) noexcept;
	FrameShapes &operator=(FrameShapes &&other) noexcept;
	FrameShapes(const FrameShapes &) = delete;
	FrameShapes &operator=(const FrameShapes &) = delete;
	/** No table may refer to it. */
	~FrameShapes();

	/**
	 * The number of the shape of a function of `size` bytes with these rows.
	 * `body_at` is a code offset inside its body: behind the last step of
	 * the prologue and before the first of the epilogue (a function with
	 * several exits may have the first of them there; then only functions of
	 * its very layout share the shape). With no_body nothing counts from the
	 * end, which suits functions that never return.
	 * Takes constant time and memory if the shape is known, and copies the
	 * rows if not. Each add() is to be undone by one remove(), unless the
	 * shape is to stay.
	 * Errors: invalid_rows; invalid_argument (body_at is outside; rows that
	 * repeat in blocks have no body); no_memory.
	 */
	[[nodiscard]] Result<std::uint32_t> add(const FunctionRows &rows, std::uint32_t size,
						std::uint32_t body_at) noexcept;
	/** The same, with the rows' own error if they have one. */
	[[nodiscard]] Result<std::uint32_t> add(const FrameRows &rows, std::uint32_t size,
						std::uint32_t body_at) noexcept;

	/**
	 * Undo one add(). Tables keep what they have made known: a shape is
	 * needed only while entries that name it are being made known.
	 * Errors: not_found.
	 */
	Error remove(std::uint32_t shape) noexcept;

	/** How many different shapes there are. */
	[[nodiscard]] std::uint32_t count() const noexcept;
	/** The shortest function that has this shape, in bytes. Errors: not_found. */
	[[nodiscard]] Result<std::uint32_t> shortest(std::uint32_t shape) const noexcept;
	[[nodiscard]] const Abi &abi() const noexcept;

private:
	friend class FunctionTable;
	class Impl;
	explicit FrameShapes(std::unique_ptr<Impl> impl) noexcept;
	std::unique_ptr<Impl> impl_;
};

/** One function: 12 bytes, as RUNTIME_FUNCTION is on x64 Windows. */
struct FunctionEntry {
	std::uint32_t begin; /**< Bytes from the range's base to the first instruction ... */
	std::uint32_t end;   /**< ... and to the end of the last. */
	std::uint32_t shape; /**< Of FrameShapes. */
};
static_assert(sizeof(FunctionEntry) == 12);

/** How to make a table. All but `area` and `owner` must be set. */
struct FunctionTableOptions {
	/**
	 * The runtime's array of `maximum` entries. It must live as long as the
	 * table, and entries that are known must not change. Entries that are
	 * not known yet are not read.
	 */
	const FunctionEntry *entries = nullptr;
	std::uint32_t count = 0;   /**< Known from the beginning. */
	std::uint32_t maximum = 0; /**< The most that grow() can be asked for; not 0. */
	std::uint64_t range_base = 0;
	std::uint64_t range_end = 0; /**< Address of the first byte behind the range. */
	const FrameShapes *shapes = nullptr; /**< Must outlive the table. */
	/**
	 * Where to publish. Null: an area of the table's own, whose text is the
	 * range. Else one whose text holds the range, which makes adding and
	 * deleting tables free of system calls, too; it must outlive the table.
	 */
	Area *area = nullptr;
	std::string_view owner{}; /**< Of the table's own area: AreaOptions::owner. */
};

/**
 * A growable function table.
 *
 * Threads: grow() and retire() of one table by one thread at a time; tables are
 * independent of each other, but for a shared area, whose AreaOptions::producers
 * rules then. Lookups (the kernel's, lookup()) by anyone at any time. Nothing
 * here is for signal handlers but lookup(). fork: as Area.
 */
class FunctionTable {
public:
	/**
	 * Make a table, of which `count` entries are known when this returns.
	 * With an area of its own: two system calls or so, as Area::create(),
	 * whose status tells whether the kernel took it.
	 * Errors: invalid_argument; no_memory; system; and as grow().
	 */
	[[nodiscard]] static Result<FunctionTable> create(const FunctionTableOptions &options) noexcept;
	FunctionTable(FunctionTable &&other) noexcept;
	FunctionTable &operator=(FunctionTable &&other) noexcept;
	FunctionTable(const FunctionTable &) = delete;
	FunctionTable &operator=(const FunctionTable &) = delete;
	/** Nothing of the table is known any more. No thread may be in a call of it. */
	~FunctionTable();

	/**
	 * The first `count` entries are known: those that were not so far are
	 * read, checked and published in their order, each with one release.
	 * Call it before their code can run. No system call, and no allocation
	 * but for a shape with more rows than any before. Constant cost for each
	 * if they ascend; else what Area::publish() costs out of order.
	 * All or none: if one is refused, those before it are retired again, and
	 * the table is as it was.
	 * Errors: invalid_argument (fewer than are known, or more than the
	 * maximum: Error::at is `count`; an entry that is empty, has no shape,
	 * or is too short for its shape: Error::at is its index), outside_text
	 * (the entry's index), no_memory, and as Area::publish(): overlap
	 * (Error::at: the live function's start), area_full.
	 */
	Error grow(std::uint32_t count) noexcept;

	/**
	 * The function of one entry is gone; the entry stays where it is.
	 * Errors: not_found (not known, or retired already).
	 */
	Error retire(std::uint32_t index) noexcept;

	/** Entries that are known; retired ones count. */
	[[nodiscard]] std::uint32_t count() const noexcept;
	/** As Area::lookup(), of the area that is used. */
	[[nodiscard]] Result<Found> lookup(std::uint64_t pc) const noexcept;
	/** The area that is used. */
	[[nodiscard]] const Area &area() const noexcept;

private:
	class Impl;
	explicit FunctionTable(std::unique_ptr<Impl> impl) noexcept;
	std::unique_ptr<Impl> impl_;
};

} // namespace jitsframe

#endif // JITSFRAME_FUNCTION_TABLE_HPP
