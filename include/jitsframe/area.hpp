/* SPDX-License-Identifier: MIT */
/**
 * @file area.hpp
 * Layer 3: the shared area, its registration, and the four moves.
 *
 * An Area is a mapping of its own that starts with struct jit_sframe_area
 * (linux/jit_sframe.h, which holds the memory model) and holds one live SFrame
 * V3 section. Between registration and unregistration the library makes no
 * system call and allocates nothing, whatever is published; only several
 * producers that meet at the mutex may sleep on it (futex).
 *
 * Any number of areas in a process, one for each window of code: windows do
 * not wait for each other.
 */
#ifndef JITSFRAME_AREA_HPP
#define JITSFRAME_AREA_HPP

#include <jitsframe/result.hpp>
#include <jitsframe/rows.hpp>
#include <jitsframe/sframe.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace jitsframe {

/** Who may publish in one area at a time. */
enum class Producers : std::uint8_t {
	one,     /**< The caller sees to it that calls do not overlap: wait-free, no lock. */
	several, /**< Any thread: serialised by a mutex of the area. */
};

/** How to make an area. text_start and text_size must be set, the rest has defaults. */
struct AreaOptions {
	std::uint64_t text_start = 0; /**< First address of the code window. */
	std::uint64_t text_size = 0;  /**< Its bytes; not 0. No other area's may overlap. */
	/**
	 * Address space to reserve, in bytes, at most 4 GiB; rounded up to pages.
	 * Memory is taken only as it is written. This is what the area can grow
	 * to: a section and its successor must fit. Each takes 23 bytes and 3 to
	 * 8 for each row of a function, so count twice that for each function
	 * alive at once, and twice that again for flips to be rare. When no
	 * successor fits, publish says area_full, and goes on saying it until
	 * something is retired.
	 */
	std::uint64_t reserve_bytes = 64ull << 20;
	/** Functions that the first section has room for before it must flip. */
	std::uint32_t initial_functions = 256;
	/** Who made it, for people; cut at 31 bytes. */
	std::string_view owner{};
	Producers producers = Producers::one;
	/** False: where the area says nothing, the walk ends instead of trying frame pointers. */
	bool fp_fallback = true;
	/** The DWARF register this code uses as frame register in place of RBP/X29. */
	std::optional<std::uint16_t> frame_reg{};
	/** False: map only, do not call the kernel. */
	bool register_with_kernel = true;
	const Abi *abi = nullptr; /**< Null: host_abi(). */
};

/** How the area stands with the kernel. */
enum class Registration : std::uint8_t {
	registered,    /**< The kernel unwinds with it. */
	not_asked,     /**< AreaOptions::register_with_kernel was false. */
	kernel_lacks,  /**< This kernel has no PR_JIT_SFRAME: EINVAL, and QUERY failed too. */
	blocked,       /**< A sandbox forbids the prctl: EPERM or ENOSYS. */
	refused,       /**< The kernel knows the prctl and said no; see os_errno. */
};

/** What status() says. `why` is a static string for people. */
struct Status {
	Registration registration;
	int os_errno;
	const char *why;
};

/** The name of a Registration, for people. Static string. */
[[nodiscard]] const char *to_string(Registration registration) noexcept;

/** Counters of one area since it was made. */
struct AreaStats {
	std::uint64_t appends;
	std::uint64_t retargets;
	std::uint64_t retires;
	std::uint64_t flips;
	std::uint32_t functions;    /**< FDEs alive. */
	std::uint32_t tombstones;   /**< Retired index entries in the live section. */
	/**
	 * Of the live section: a flip adds one. It begins beyond those of every
	 * area of this process that is gone (and somewhere, for the first), so
	 * that a reader cannot take an area for its predecessor at the address.
	 */
	std::uint32_t generation;
	std::uint64_t section_bytes; /**< The live section, slack included. */
	std::uint64_t area_bytes;    /**< Reserved. */
};

/** One function for publish_all(). */
struct Publication {
	std::uint64_t start;
	std::uint32_t size;
	FunctionRows rows;
};

/**
 * A shared area.
 *
 * Threads: publish, replace, retire, retire_range and stats follow
 * AreaOptions::producers. Readers (the kernel, lookup(), a BPF program) need no
 * lock ever. Nothing here is for signal handlers but lookup(); a handler that
 * interrupts a publish may call that.
 *
 * fork: the child has a copy of the area (copy on write) and of the
 * registration, and may publish in it independently, if no other thread of the
 * parent was inside a publish at the moment of the fork. exec drops both.
 * vfork children and CLONE_VM tasks share the parent's and must not publish.
 *
 * Errors leave the area as it was.
 */
class Area {
public:
	/**
	 * Map, name ([anon:jit_sframe] in /proc/PID/maps where the kernel can)
	 * and register. It is no error if the kernel cannot or will not
	 * register: the area is there for other readers; see status().
	 * Errors: invalid_argument, no_memory, system.
	 */
	[[nodiscard]] static Result<Area> create(const AreaOptions &options) noexcept;

	Area(Area &&other) noexcept;
	Area &operator=(Area &&other) noexcept;
	Area(const Area &) = delete;
	Area &operator=(const Area &) = delete;
	/** Unregister and unmap. No producer may be inside. */
	~Area();

	/** Never changes after create(). */
	[[nodiscard]] Status status() const noexcept;

	/**
	 * Make [start, start + size) known. When this returns, every reader
	 * finds it; call it before the code can run. Addresses may come in any
	 * order, at a price: ascending ones are appended (constant time); a start that was retired
	 * and still fits is retargeted (O(log n)); all else builds the section
	 * anew beside the live one and flips (O(n); for many at once see
	 * publish_all).
	 * Errors: invalid_rows, outside_text, overlap (Error::at: the live
	 * function's start), area_full (Error::at: bytes that were missing),
	 * invalid_argument (size 0).
	 */
	Error publish(std::uint64_t start, std::uint32_t size, const FunctionRows &rows) noexcept;
	/** The same, with the rows' own error if they have one. */
	Error publish(std::uint64_t start, std::uint32_t size, const FrameRows &rows) noexcept;

	/**
	 * publish() for many, with at most one flip wherever they lie among
	 * those that are there: all or none become known, and all at once.
	 * `functions` must be sorted by start.
	 * Errors: as publish(); invalid_argument if they are not sorted.
	 */
	Error publish_all(std::span<const Publication> functions) noexcept;

	/**
	 * Code was made again at the very same start: readers see the old rows
	 * or the new, nothing between. The old function must be alive.
	 * Errors: as publish(), and not_found.
	 */
	Error replace(std::uint64_t start, std::uint32_t size, const FunctionRows &rows) noexcept;
	Error replace(std::uint64_t start, std::uint32_t size, const FrameRows &rows) noexcept;

	/**
	 * The function that starts at `start` is gone: readers find nothing
	 * there. Call it when its code can run no more, and before other code
	 * is put there. O(log n), never flips.
	 * Errors: not_found.
	 */
	Error retire(std::uint64_t start) noexcept;

	/**
	 * Wipe a window: every function that starts inside [start, start + size).
	 * Returns how many there were.
	 */
	std::uint32_t retire_range(std::uint64_t start, std::uint64_t size) noexcept;

	/**
	 * Rebuild without tombstones now, and with room for `functions` more.
	 * Never needed: publish does it in time. Errors: area_full.
	 */
	Error compact(std::uint32_t functions = 0) noexcept;

	/**
	 * What a reader finds for `pc`, through the decoder that the kernel
	 * uses and its protocol (acquire loads, live read again, a bounded
	 * number of tries). Any thread at any time, signal safe.
	 * Errors: not_found, malformed.
	 */
	[[nodiscard]] Result<Found> lookup(std::uint64_t pc) const noexcept;

	[[nodiscard]] AreaStats stats() const noexcept;
	/** The mapping: starts with struct jit_sframe_area. */
	[[nodiscard]] const void *address() const noexcept;
	[[nodiscard]] std::uint64_t size() const noexcept;
	[[nodiscard]] const Abi &abi() const noexcept;

	/**
	 * A copy of the live section, cut at the counts it states, for dumps;
	 * `address` receives where it lies. Empty if nothing was published.
	 * Call it as a producer. Allocates.
	 */
	[[nodiscard]] std::vector<std::byte> snapshot(std::uint64_t *address) const noexcept;

private:
	class Impl;
	explicit Area(std::unique_ptr<Impl> impl) noexcept;
	std::unique_ptr<Impl> impl_;
};

} // namespace jitsframe

#endif // JITSFRAME_AREA_HPP
