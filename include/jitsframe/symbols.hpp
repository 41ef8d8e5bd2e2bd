/* SPDX-License-Identifier: MIT */
/**
 * @file symbols.hpp
 * Layer 6: names of functions, for perf.
 *
 * Two files that perf knows, either or both:
 *
 * perf map, /tmp/perf-PID.map: a line for each function, read by perf report as
 * it is. It knows nothing of time: of two functions that were at one address
 * perf shows one or the other for all samples. perf passes over names of less
 * than three bytes, and looks here only for code in anonymous memory, which a
 * memfd is not (Backing::shared_anonymous is). Format:
 * tools/perf/Documentation/jit-interface.txt of the kernel's source.
 *
 * jitdump, jit-PID.dump: a record for each function, with its code, its time
 * and an index of its own, so that functions at one address at different times
 * are kept apart. For `perf record -k CLOCK_MONOTONIC` and `perf inject --jit`. Format:
 * tools/perf/Documentation/jitdump-specification.txt.
 */
#ifndef JITSFRAME_SYMBOLS_HPP
#define JITSFRAME_SYMBOLS_HPP

#include <jitsframe/code.hpp>
#include <jitsframe/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace jitsframe {

/** What load() and move() do when the writer does not keep up. */
enum class WhenFull : std::uint8_t {
	drop, /**< Say no_memory, and count it in SymbolStats::dropped. Never waits. */
	wait, /**< Write some of it on the caller's own thread. */
};

/** Which files, where, and how they are written. */
struct SymbolsOptions {
	bool perf_map = true;
	bool jitdump = false;
	/** Of the perf map; perf itself looks only in /tmp. */
	std::string_view map_directory = "/tmp";
	/** Of the jitdump; empty: the environment's JITDUMPDIR, or /tmp. Must allow executable mappings. */
	std::string_view dump_directory{};
	/** What can be waiting for the writer, in bytes; rounded up to a power of two, at least 64 KiB. */
	std::uint32_t buffer_bytes = 4u << 20;
	WhenFull when_full = WhenFull::drop;
	/** False: no thread; files are written by flush() and close() only. */
	bool background = true;
};

/** Where an instruction comes from; for JIT_CODE_DEBUG_INFO. */
struct SourceLine {
	std::uint32_t offset; /**< Into the function, in bytes. */
	std::uint32_t line;   /**< From 1. */
	std::string_view file;
	std::uint32_t discriminator = 0;
};

/** A function that can run from now on. Everything is copied before load() returns. */
struct LoadedCode {
	std::uint64_t start = 0;
	std::uint64_t size = 0;
	/** Control characters are written as '_'; cut at a NUL. */
	std::string_view name{};
	/** `size` bytes, for jitdump; null: they are read at `start`. */
	const std::byte *bytes = nullptr;
	/** Ascending by offset; only jitdump has them. */
	std::span<const SourceLine> lines{};
};

/** Counters since creation. recorded = written + lost + what waits; nothing else goes missing. */
struct SymbolStats {
	std::uint64_t recorded; /**< load() and move() that succeeded. */
	std::uint64_t dropped;  /**< That did not, because the buffer was full. */
	std::uint64_t written;  /**< In every file there is. */
	std::uint64_t lost;     /**< Not in some file, since it could not be written. */
	std::uint64_t direct;   /**< Written by the caller: larger than half of the buffer, or WhenFull::wait. */
	std::uint64_t bytes;    /**< In both files. */
	int os_errno;           /**< Why, of the first failed write; or 0. A file ends at its last whole record then. */
};

/**
 * The writer of names.
 *
 * load() and move() copy into a bounded buffer without a lock and without a
 * system call, but for waking the writer from its sleep (at most once in
 * `batch_milliseconds`), and with the exceptions counted in SymbolStats::direct.
 *
 * Threads: any may call load(), move(), flush() and stats() at any time; close()
 * and destruction exclude all else. Signal handlers may call load() and move()
 * with WhenFull::drop, for what is not larger than half of the buffer.
 *
 * fork: the files stay the parent's; in the child everything says unsupported,
 * and destruction lets go without a write. A child that goes on without exec
 * makes its own. exec, _exit and a crash lose what is in the buffer: flush()
 * before.
 */
class Symbols {
public:
	static constexpr int batch_milliseconds = 10;

	/**
	 * Make the files anew (mode 0600; what a former process of this PID left
	 * is removed). One object for each file in a process.
	 * Errors: invalid_argument (no file asked for, a path too long, a file
	 * that this process writes already), no_memory, system.
	 */
	[[nodiscard]] static Result<Symbols> create(const SymbolsOptions &options = {}) noexcept;
	Symbols(Symbols &&other) noexcept;
	Symbols &operator=(Symbols &&other) noexcept;
	Symbols(const Symbols &) = delete;
	Symbols &operator=(const Symbols &) = delete;
	/** close() */
	~Symbols();

	/**
	 * There is a function. Call it before the function can run: samples are
	 * matched by time. Returns its jitdump code_index, unique in the process
	 * however often addresses are reused. A function that goes needs no
	 * record: the next one at its address takes its place.
	 * Errors: invalid_argument (size 0), no_memory (dropped), unsupported
	 * (after fork, or closed).
	 */
	Result<std::uint64_t> load(const LoadedCode &code) noexcept;

	/**
	 * The function of that index is at `new_start` from now on. Its size and
	 * name are as before.
	 * Errors: as load().
	 */
	Error move(std::uint64_t index, std::uint64_t new_start, const LoadedCode &code) noexcept;

	/**
	 * All that was recorded before this call is in the files when it
	 * returns: it has been passed to write(2). Errors: system (see
	 * SymbolStats::os_errno), unsupported.
	 */
	Error flush() noexcept;

	/** flush(), end the jitdump with its close record, and close. Again: nothing. */
	Error close() noexcept;

	[[nodiscard]] SymbolStats stats() const noexcept;
	/** Empty if there is none. Valid as long as this object. */
	[[nodiscard]] std::string_view map_path() const noexcept;
	[[nodiscard]] std::string_view dump_path() const noexcept;

	/** For CodePlace: each function made there is loaded here. Must not outlive this object. */
	[[nodiscard]] CodeObserver observer() noexcept;

private:
	class Impl;
	explicit Symbols(std::unique_ptr<Impl> impl) noexcept;
	std::unique_ptr<Impl> impl_;
};

} // namespace jitsframe

#endif // JITSFRAME_SYMBOLS_HPP
