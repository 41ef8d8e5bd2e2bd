/* SPDX-License-Identifier: MIT */
/**
 * @file code.hpp
 * Layer 4: instruction memory, and the synchronisation of those who run it.
 *
 * Two parts, each usable alone. SyncDomain is for a JIT that has an allocator
 * of its own: it is told what was written and calls membarrier() only if code
 * that could run before was overwritten, once for a batch. CodeMemory is such
 * an allocator: two views of one memory, one to write and one to run, so that
 * no page is ever writable and executable.
 *
 * Why only reuse needs the barrier: a core may hold instructions of an address
 * that it has run (fetched ahead, decoded) and would go on with them. It cannot
 * of an address where nothing could run yet: whoever runs the new code learnt
 * its address after the caches were made coherent (on x86-64 they always are).
 */
#ifndef JITSFRAME_CODE_HPP
#define JITSFRAME_CODE_HPP

#include <jitsframe/area.hpp>
#include <jitsframe/result.hpp>
#include <jitsframe/rows.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace jitsframe {

/* --- instruction synchronisation ------------------------------------------ */

/** Whether a write to code that could run before needs the barrier. */
enum class Barrier : std::uint8_t {
	if_reused, /**< Yes: other code, or code that must be seen from now on. */
	/**
	 * No: a change that the architecture lets race with its execution and of
	 * which old and new are both right. On arm64: one aligned word, both a B,
	 * BL, NOP, BRK, HVC, SMC, SVC or ISB (Arm ARM, "Concurrent modification
	 * and execution of instructions"). Anywhere: data that lies among code.
	 * Caches are cleaned nevertheless.
	 */
	none,
};

/** How a batch came to be seen by all threads. */
enum class Sync : std::uint8_t {
	not_needed, /**< Nothing that could run before was overwritten. */
	done,       /**< One membarrier(): every thread sees it. */
	/**
	 * Reused, and there is no membarrier(): a thread must call
	 * maybe_synchronize() after it has read the new code's address and
	 * before it jumps there.
	 */
	owed,
};

/** What a commit did. */
struct Committed {
	Sync sync = Sync::not_needed;
	int os_errno = 0; /**< Sync::owed: why membarrier() failed, 0 if it was never tried. */
};

/**
 * Pay what this thread owes (Sync::owed, of any domain of the process): a load
 * and a compare if it owes nothing, else a context synchronisation event of
 * this core (x86-64: SERIALIZE or CPUID; arm64: ISB). True if there was
 * something to pay. Any thread, signal safe. Where membarrier() works nobody
 * ever owes and it need not be called.
 */
bool maybe_synchronize() noexcept;

/** How a domain reaches other threads. */
enum class SyncMeans : std::uint8_t {
	membarrier,   /**< PRIVATE_EXPEDITED_SYNC_CORE. */
	not_asked,    /**< SyncOptions::use_membarrier was false: reuse is owed. */
	kernel_lacks, /**< No membarrier(), or not this command of it: reuse is owed. */
	blocked,      /**< A sandbox forbids it (EPERM, EACCES): reuse is owed. */
};

/** What status() says. `why` is a static string for people. */
struct SyncStatus {
	SyncMeans means;
	int os_errno;
	const char *why;
};

/** How to watch a window of code. */
struct SyncOptions {
	/**
	 * What is watched as one, in bytes: a power of two, 16 to 4096. A write
	 * into a granule of which any part could run before counts as reuse, as
	 * does the cache line that a core fetches whole.
	 */
	std::uint32_t granule_bytes = 64;
	/** False: do not call membarrier(); threads pay with maybe_synchronize(). */
	bool use_membarrier = true;
};

/** Counters of one domain since it was made. Each is exact; together they are no snapshot. */
struct SyncStats {
	std::uint64_t writes;          /**< Ranges committed. */
	std::uint64_t exempt_writes;   /**< Of those: Barrier::none. */
	std::uint64_t bytes;           /**< Committed. */
	std::uint64_t batches;         /**< Commits that had any range. */
	std::uint64_t reusing_batches; /**< Of those: such that needed the barrier. */
	std::uint64_t reused_granules; /**< Overwritten where code could run before. */
	std::uint64_t barriers;        /**< membarrier() calls that did it. */
	std::uint64_t owed;            /**< Batches that ended as Sync::owed. */
};

class SyncDomain;

/**
 * Writes that one barrier, at most, makes seen. One thread at a time; batches
 * of several threads in one domain do not wait for each other. The domain must
 * outlive it. The destructor commits.
 */
class SyncBatch {
public:
	SyncBatch(SyncBatch &&other) noexcept;
	SyncBatch &operator=(SyncBatch &&) = delete;
	SyncBatch(const SyncBatch &) = delete;
	SyncBatch &operator=(const SyncBatch &) = delete;
	~SyncBatch();

	/**
	 * [address, address + size), where it runs, is written by the time of
	 * commit(). `address` is of the executable view.
	 * Errors: invalid_argument (size 0), outside_text, no_memory (more
	 * than `inline_ranges` ranges apart from each other, and no memory to
	 * note another: commit, and go on).
	 */
	Error mark_written(std::uint64_t address, std::uint64_t size,
			   Barrier barrier = Barrier::if_reused) noexcept;

	/**
	 * Clean the data cache and invalidate the instruction cache where it
	 * was written, then call membarrier() if there was reuse. When this
	 * returns, the code may be given to other threads (with a store-release
	 * or stronger); see Sync::owed. The batch is empty then and may be used
	 * again. Makes no system call without reuse. Not for signal handlers
	 * that interrupt the batch itself.
	 */
	Committed commit() noexcept;

	/** Ranges noted and not committed; neighbours count as one. */
	[[nodiscard]] std::size_t pending() const noexcept { return count_; }

	static constexpr std::size_t inline_ranges = 16;

private:
	friend class SyncDomain;
	struct Range {
		std::uint64_t start;
		std::uint64_t end;
		std::uint32_t writes;
		Barrier barrier;
	};

	explicit SyncBatch(void *domain) noexcept : domain_(domain) {}
	[[nodiscard]] Range *ranges() noexcept { return heap_ ? heap_.get() : inline_.data(); }
	[[nodiscard]] bool joins_last(std::uint64_t start, std::uint64_t end, Barrier barrier) noexcept;
	[[nodiscard]] bool grow() noexcept;
	void clear() noexcept;

	void *domain_;
	std::size_t count_ = 0;
	std::size_t capacity_ = inline_ranges;
	std::unique_ptr<Range[]> heap_;
	std::array<Range, inline_ranges> inline_{};
};

/**
 * Knows of each granule of a window of code whether code there could run
 * before. Costs one bit for each, in memory that is taken as it is used.
 *
 * Threads: any, with a batch each. fork: the child's copy stands alone and is
 * right for it. A window may be watched by one domain only.
 */
class SyncDomain {
public:
	/**
	 * Watch [text_start, text_start + text_size), of which nothing has run
	 * yet (else see assume_runnable()). Registers the process with
	 * membarrier(); that it cannot is no error, see status().
	 * Errors: invalid_argument, no_memory.
	 */
	[[nodiscard]] static Result<SyncDomain> create(std::uint64_t text_start,
						       std::uint64_t text_size,
						       const SyncOptions &options = {}) noexcept;
	SyncDomain(SyncDomain &&other) noexcept;
	SyncDomain &operator=(SyncDomain &&other) noexcept;
	SyncDomain(const SyncDomain &) = delete;
	SyncDomain &operator=(const SyncDomain &) = delete;
	/** No batch may be open. */
	~SyncDomain();

	/** Begin a batch. Cheap: no allocation, no lock. */
	[[nodiscard]] SyncBatch begin() noexcept;

	/** Code there could run before this domain was made. Errors: outside_text. */
	Error assume_runnable(std::uint64_t address, std::uint64_t size) noexcept;

	/** Could code in [address, address + size) run before? False outside the window. */
	[[nodiscard]] bool was_runnable(std::uint64_t address, std::uint64_t size) const noexcept;

	[[nodiscard]] SyncStatus status() const noexcept;
	[[nodiscard]] SyncStats stats() const noexcept;
	[[nodiscard]] std::uint32_t granule_bytes() const noexcept;

private:
	friend class SyncBatch;
	class Impl;
	explicit SyncDomain(std::unique_ptr<Impl> impl) noexcept;
	std::unique_ptr<Impl> impl_;
};

/* --- instruction memory ----------------------------------------------------- */

/** What the two views are views of. */
enum class Backing : std::uint8_t {
	/** A memfd: "/memfd:jitsframe (deleted)" in /proc/PID/maps, which jitdump's readers pass over. */
	memfd,
	/**
	 * Shared anonymous memory: "/dev/zero (deleted)", which perf looks up
	 * in perf maps, as it does not with a memfd. SELinux asks for execmem.
	 */
	shared_anonymous,
};

/** How to make instruction memory. */
struct CodeOptions {
	/** Bytes of the window; rounded up to pages. At most 128 GiB; memory is taken as it is written. */
	std::uint64_t window_bytes = 64ull << 20;
	/** Where to run, if that is free (for branches with a short reach); 0: anywhere. */
	std::uint64_t near_address = 0;
	Backing backing = Backing::memfd;
	/** Who may allocate, and free, at a time. */
	Producers producers = Producers::several;
	/** Spans begin at, and take, whole granules of this. */
	SyncOptions sync{};
};

/** A piece of instruction memory: where to write and where that will run. */
struct CodeSpan {
	std::byte *writable = nullptr;
	std::uint64_t address = 0; /**< In the executable view. */
	std::uint32_t size = 0;

	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return {writable, size}; }
};

/** Counters of one CodeMemory. */
struct CodeStats {
	SyncStats sync;
	std::uint64_t window_bytes;
	std::uint64_t live_bytes;  /**< Allocated, rounded to granules. */
	std::uint64_t live_spans;
	std::uint64_t allocations; /**< Since it was made. */
	std::uint64_t frees;
};

class CodeMemory;

/**
 * A time of writing: what is allocated and written while it lasts can run when
 * it ends, with one barrier at most. One thread at a time; several threads may
 * have one each. The memory must outlive it. The destructor commits.
 *
 *     WriteScope scope = memory.begin();
 *     Result<CodeSpan> span = scope.allocate(code.size());
 *     std::memcpy(span->writable, code.data(), code.size());
 *     scope.commit();
 *     entry.store(span->address, std::memory_order_release);
 */
class WriteScope {
public:
	WriteScope(WriteScope &&other) noexcept = default;
	WriteScope &operator=(WriteScope &&) = delete;
	~WriteScope() = default;

	/**
	 * A span of its own, to be written before the scope ends: freed memory
	 * if some fits, else new. `alignment` is a power of two, 0 is the
	 * granule. What lies between `size` and the granule's end is filled
	 * with instructions that trap.
	 * Errors: invalid_argument, no_memory (the window has no such piece, or
	 * as mark_written()), unsupported (in a fork's child: the memory is the
	 * parent's).
	 */
	[[nodiscard]] Result<CodeSpan> allocate(std::uint32_t size, std::uint32_t alignment = 0) noexcept;

	/**
	 * Code that is there already, to be written again. Nobody may run it
	 * meanwhile, but for Barrier::none.
	 * Errors: as allocate(), and outside_text.
	 */
	[[nodiscard]] Result<CodeSpan> rewrite(std::uint64_t address, std::uint32_t size,
					       Barrier barrier = Barrier::if_reused) noexcept;

	/**
	 * Store one aligned word, whole (single-copy atomic, release): for
	 * branches and data that others may be running or reading. They see it
	 * when the scope ends.
	 * Errors: as rewrite(); invalid_argument if it is not aligned.
	 */
	Error patch32(std::uint64_t address, std::uint32_t word,
		      Barrier barrier = Barrier::if_reused) noexcept;
	Error patch64(std::uint64_t address, std::uint64_t word,
		      Barrier barrier = Barrier::if_reused) noexcept;

	/** As SyncBatch::commit(). The scope is empty then and may be used again. */
	Committed commit() noexcept { return batch_.commit(); }

	[[nodiscard]] CodeMemory &memory() const noexcept { return *memory_; }

private:
	friend class CodeMemory;
	WriteScope(CodeMemory &memory, SyncBatch batch) noexcept
		: memory_(&memory), batch_(std::move(batch))
	{
	}

	CodeMemory *memory_;
	SyncBatch batch_;
};

/**
 * A window of instruction memory with two views. The executable view is never
 * writable, the writable one never executable, and there is no file descriptor
 * left by which to make another.
 *
 * Threads: allocate, free and trim follow CodeOptions::producers; the rest is
 * for any thread. Nothing here is for signal handlers. It must stay where it is
 * (not be moved) while a WriteScope or a LiveFunction of it exists.
 *
 * fork: both views are *shared* with the child, which can run the code but must
 * not write: allocate() and rewrite() say unsupported there. A child that
 * goes on without exec makes code memory of its own. What the parent frees and
 * writes anew changes under the child, so the child should not run code that
 * the parent may free.
 */
class CodeMemory {
public:
	/**
	 * Errors: invalid_argument, no_memory, system (the system lets no
	 * memory be executable, or no memfd be made: see os_errno).
	 */
	[[nodiscard]] static Result<CodeMemory> create(const CodeOptions &options = {}) noexcept;
	CodeMemory(CodeMemory &&other) noexcept;
	CodeMemory &operator=(CodeMemory &&other) noexcept;
	CodeMemory(const CodeMemory &) = delete;
	CodeMemory &operator=(const CodeMemory &) = delete;
	/** Unmaps both views: nothing of it may run. */
	~CodeMemory();

	[[nodiscard]] WriteScope begin() noexcept;

	/**
	 * The span that begins at `address` is free. No thread may run it, or
	 * come to, and its rows must have been retired. It may be freed in the
	 * scope that allocated it. Constant time, makes no system call.
	 * Errors: not_found.
	 */
	Error free(std::uint64_t address) noexcept;

	/**
	 * Give the system back the memory of pages in which nothing is
	 * allocated. Returns how many bytes that are. One system call for each
	 * free piece of a page or more.
	 */
	std::uint64_t trim() noexcept;

	/** Where to write what runs at `address`; null outside the window. */
	[[nodiscard]] std::byte *writable(std::uint64_t address) const noexcept;
	/** First address of the executable view; never changes. For AreaOptions::text_start. */
	[[nodiscard]] std::uint64_t text_start() const noexcept;
	[[nodiscard]] std::uint64_t text_size() const noexcept;
	[[nodiscard]] SyncStatus sync_status() const noexcept;
	[[nodiscard]] CodeStats stats() const noexcept;

private:
	friend class WriteScope;
	class Impl;
	explicit CodeMemory(std::unique_ptr<Impl> impl) noexcept;
	std::unique_ptr<Impl> impl_;
};

/* --- all in one -------------------------------------------------------------- */

/** A function that came, for CodeObserver. */
struct CodeEvent {
	std::uint64_t start;
	std::string_view name;
	std::span<const std::byte> bytes;
};

/**
 * Who wants to know what code there is: Symbols (symbols.hpp), or a runtime's
 * own table. Functions may be null. They are called by the thread that makes,
 * or destroys, a LiveFunction; before its code can run, and when it can run no
 * more. They must not throw.
 */
struct CodeObserver {
	void *context = nullptr;
	void (*loaded)(void *context, const CodeEvent &event) noexcept = nullptr;
	void (*unloaded)(void *context, std::uint64_t start, std::uint32_t size) noexcept = nullptr;
};

/** One function: its text, rows and name. */
struct FunctionText {
	/** The code, if it does not depend on its address; else empty, and `emit`. */
	std::span<const std::byte> bytes{};
	/** Called with the span, to write `size` bytes there. False gives the span back. */
	bool (*emit)(void *context, const CodeSpan &span) noexcept = nullptr;
	void *context = nullptr;
	std::uint32_t size = 0; /**< With `emit`. */
	std::uint32_t alignment = 0;
	const FrameRows *rows = nullptr; /**< Null: nothing is published. */
	std::string_view name{};
};

/** Where functions go. Null parts are left out; all must outlive the functions. */
struct CodePlace {
	Area *area = nullptr;
	const CodeObserver *observer = nullptr;
};

/**
 * Text, rows and name with one lifetime. Destroying it retires the rows, tells
 * the observer and frees the text, in this order: no thread may run it then.
 *
 * Threads: as the memory and the area.
 */
class LiveFunction {
public:
	/**
	 * Make one in a scope: allocate, write, publish, tell. It can run when
	 * the scope has been committed. Errors: as allocate() and
	 * Area::publish(); invalid_argument (emit gave up, no text). Nothing is
	 * left behind then.
	 */
	[[nodiscard]] static Result<LiveFunction> create(WriteScope &scope, const FunctionText &text,
						     const CodePlace &place) noexcept;
	/** The same with a scope of its own: it can run at once, see `committed`. */
	[[nodiscard]] static Result<LiveFunction> create(CodeMemory &memory, const FunctionText &text,
						     const CodePlace &place,
						     Committed *committed = nullptr) noexcept;

	LiveFunction(LiveFunction &&other) noexcept;
	LiveFunction &operator=(LiveFunction &&other) noexcept;
	LiveFunction(const LiveFunction &) = delete;
	LiveFunction &operator=(const LiveFunction &) = delete;
	~LiveFunction();

	[[nodiscard]] std::uint64_t start() const noexcept { return span_.address; }
	[[nodiscard]] std::uint32_t size() const noexcept { return span_.size; }
	[[nodiscard]] const CodeSpan &span() const noexcept { return span_; }

private:
	LiveFunction(CodeMemory &memory, const CodeSpan &span, const CodePlace &place,
		 bool has_rows) noexcept
		: memory_(&memory), span_(span), place_(place), has_rows_(has_rows)
	{
	}
	void destroy() noexcept;

	CodeMemory *memory_;
	CodeSpan span_;
	CodePlace place_;
	bool has_rows_;
};

/** The name of each value, for people. Static strings. */
[[nodiscard]] const char *to_string(Sync sync) noexcept;
[[nodiscard]] const char *to_string(SyncMeans means) noexcept;

} // namespace jitsframe

#endif // JITSFRAME_CODE_HPP
