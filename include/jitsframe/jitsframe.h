/* SPDX-License-Identifier: MIT */
/**
 * @file jitsframe.h
 * jitsframe in C: rows, areas, the four moves. C11, and C++.
 *
 * A JIT maps an area for each window of code, once, and publishes in it how
 * the frames of each function look, before the function can run. Publishing
 * makes no system call (several producers may sleep on their mutex) and
 * allocates nothing, but for jitsframe_publish_all(). Nothing here throws.
 *
 * Functions return JITSFRAME_OK (0) or another enum jitsframe_code. The last
 * argument of those that can fail, which may be NULL, receives what failed and
 * why. A null handle is JITSFRAME_INVALID_ARGUMENT where there is a code to
 * return, and harmless where there is none.
 */
#ifndef JITSFRAME_H
#define JITSFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define JITSFRAME_NOEXCEPT noexcept
#else
#define JITSFRAME_NOEXCEPT
#endif

/** Kinds of failure, as jitsframe::Code. */
enum jitsframe_code {
	JITSFRAME_OK = 0,
	JITSFRAME_INVALID_ARGUMENT = 1, /**< The caller broke a documented rule. */
	JITSFRAME_INVALID_ROWS = 2,     /**< Rows out of order, outside the function, not encodable. */
	JITSFRAME_OUTSIDE_TEXT = 3,     /**< The code is not inside the area's text range. */
	JITSFRAME_OVERLAP = 4,          /**< Other live code is already published there. */
	JITSFRAME_NOT_FOUND = 5,        /**< Nothing live starts at, or covers, that address. */
	JITSFRAME_AREA_FULL = 6,        /**< The reserved area has no room for another section. */
	JITSFRAME_NO_MEMORY = 7,        /**< The system gave no memory or address space. */
	JITSFRAME_MALFORMED = 8,        /**< Bytes that are no valid SFrame V3, or no CFI. */
	JITSFRAME_UNSUPPORTED = 9,      /**< Valid, but not something this build or kernel does. */
	JITSFRAME_SYSTEM = 10           /**< A system call failed; see os_errno. */
};

/** One failure. Strings are static and never NULL. */
struct jitsframe_error {
	enum jitsframe_code code;
	int os_errno;     /**< errno, or 0. */
	const char *what; /**< The operation. */
	const char *why;  /**< The rule that was broken. */
	uint64_t at;      /**< The offending number, as `why` says; or 0. */
};

/** Write the error as text into buffer, cut at size bytes with the NUL; returns the whole length. */
size_t jitsframe_error_format(const struct jitsframe_error *error, char *buffer,
			      size_t size) JITSFRAME_NOEXCEPT;

/** The machines whose frames can be described. */
enum jitsframe_arch {
	JITSFRAME_ARCH_HOST = 0, /**< The one this library was built for. */
	JITSFRAME_ARCH_X86_64 = 1,
	JITSFRAME_ARCH_AARCH64 = 2
};

/* --- rows ---------------------------------------------------------------- */

/** What a rule counts from. */
enum jitsframe_base {
	JITSFRAME_BASE_NONE = 0, /**< RA: the ABI's own place. FP: still in its register. */
	JITSFRAME_BASE_CFA = 1,
	JITSFRAME_BASE_REG = 2
};

/** Base + offset bytes, and if deref what memory holds there. */
struct jitsframe_rule {
	enum jitsframe_base base;
	bool deref;
	uint16_t reg; /**< DWARF number, with JITSFRAME_BASE_REG. */
	int32_t offset;
};

/** What holds from `offset` bytes into the function on, until the next row. */
struct jitsframe_row {
	uint32_t offset;
	bool outermost; /**< Nothing called this: the stack ends here. */
	bool ra_signed; /**< AArch64: the saved RA carries a pointer authentication code. */
	struct jitsframe_rule cfa;
	struct jitsframe_rule ra;
	struct jitsframe_rule fp;
};

/**
 * The rows of one function, made step by step; reusable for the next. Every
 * `at` is the code offset, in bytes, of the first instruction behind the step.
 * A broken rule is remembered and reported when the rows are published, or by
 * jitsframe_rows_error(). Not thread safe.
 */
struct jitsframe_rows;

/** Begins with the frame at a function's entry. NULL: no memory. */
struct jitsframe_rows *jitsframe_rows_new(enum jitsframe_arch arch) JITSFRAME_NOEXCEPT;
void jitsframe_rows_free(struct jitsframe_rows *rows) JITSFRAME_NOEXCEPT;
/** Begin anew with the entry row. */
void jitsframe_rows_clear(struct jitsframe_rows *rows) JITSFRAME_NOEXCEPT;
/** Begin anew with no row: for jitsframe_rows_row(), or a function that is outermost. */
void jitsframe_rows_clear_all(struct jitsframe_rows *rows) JITSFRAME_NOEXCEPT;
/** SP went down a word and reg is there now; the frame pointer is noted as saved. */
void jitsframe_rows_push(struct jitsframe_rows *rows, uint32_t at, uint16_t reg) JITSFRAME_NOEXCEPT;
/** SP went up a word, reg has its caller's value again. */
void jitsframe_rows_pop(struct jitsframe_rows *rows, uint32_t at, uint16_t reg) JITSFRAME_NOEXCEPT;
/** SP changed by bytes; down is negative. */
void jitsframe_rows_move_sp(struct jitsframe_rows *rows, uint32_t at,
			    int32_t bytes) JITSFRAME_NOEXCEPT;
/** The caller's FP is saved at SP + sp_offset. */
void jitsframe_rows_save_fp(struct jitsframe_rows *rows, uint32_t at,
			    int32_t sp_offset) JITSFRAME_NOEXCEPT;
/** FP has its caller's value again. */
void jitsframe_rows_restore_fp(struct jitsframe_rows *rows, uint32_t at) JITSFRAME_NOEXCEPT;
/** AArch64: the RA is saved at SP + sp_offset. */
void jitsframe_rows_save_ra(struct jitsframe_rows *rows, uint32_t at,
			    int32_t sp_offset) JITSFRAME_NOEXCEPT;
/** AArch64: the RA is in x30 again. */
void jitsframe_rows_restore_ra(struct jitsframe_rows *rows, uint32_t at) JITSFRAME_NOEXCEPT;
/** AArch64: the RA is signed from here on, or no longer. */
void jitsframe_rows_sign_ra(struct jitsframe_rows *rows, uint32_t at,
			    bool is_signed) JITSFRAME_NOEXCEPT;
/** FP = SP + sp_offset now, and the CFA counts from FP. */
void jitsframe_rows_set_fp(struct jitsframe_rows *rows, uint32_t at,
			   int32_t sp_offset) JITSFRAME_NOEXCEPT;
/** The CFA counts from SP again; SP = CFA - cfa_distance. */
void jitsframe_rows_cfa_from_sp(struct jitsframe_rows *rows, uint32_t at,
				int32_t cfa_distance) JITSFRAME_NOEXCEPT;
/** The frame is as at the function's entry: at the ret. */
void jitsframe_rows_entry(struct jitsframe_rows *rows, uint32_t at) JITSFRAME_NOEXCEPT;
/** Keep the present state (one is kept) ... */
void jitsframe_rows_remember(struct jitsframe_rows *rows) JITSFRAME_NOEXCEPT;
/** ... and return to it: the code behind an epilogue in the middle. */
void jitsframe_rows_recall(struct jitsframe_rows *rows, uint32_t at) JITSFRAME_NOEXCEPT;
/**
 * Begin anew with the frame as `other` has it now, and its flags: a cold part, which lies elsewhere
 * and is published on its own, is entered in the middle of the function.
 */
void jitsframe_rows_continue_from(struct jitsframe_rows *rows,
				  const struct jitsframe_rows *other) JITSFRAME_NOEXCEPT;
/** SP = FP + fp_offset, wherever it was; the CFA must be counting from FP, and goes on so. */
void jitsframe_rows_sp_from_fp(struct jitsframe_rows *rows, uint32_t at,
			       int32_t fp_offset) JITSFRAME_NOEXCEPT;
/** SP went where nobody knows yet (alloca); the CFA must be counting from FP. */
void jitsframe_rows_lose_sp(struct jitsframe_rows *rows) JITSFRAME_NOEXCEPT;
/** From here on nothing is above this frame. */
void jitsframe_rows_outermost(struct jitsframe_rows *rows, uint32_t at) JITSFRAME_NOEXCEPT;
/** A row as it is. */
void jitsframe_rows_row(struct jitsframe_rows *rows,
			const struct jitsframe_row *row) JITSFRAME_NOEXCEPT;
/** The function is a signal trampoline. */
void jitsframe_rows_signal(struct jitsframe_rows *rows, bool on) JITSFRAME_NOEXCEPT;
/** AArch64: return addresses are signed with key B. */
void jitsframe_rows_pauth_key_b(struct jitsframe_rows *rows, bool on) JITSFRAME_NOEXCEPT;
/** Rows describe a block of so many bytes that repeats (PC-mask); 0: they do not. */
void jitsframe_rows_repeat_block(struct jitsframe_rows *rows, uint8_t bytes) JITSFRAME_NOEXCEPT;
/** The first broken rule; error->at is a code offset. */
enum jitsframe_code jitsframe_rows_error(const struct jitsframe_rows *rows,
					 struct jitsframe_error *error) JITSFRAME_NOEXCEPT;

/* --- rows from DWARF CFI -------------------------------------------------- */

/** Why no row describes a piece of code, as jitsframe::CfiReason. */
enum jitsframe_cfi_reason {
	JITSFRAME_CFI_DESCRIBED = 0, /**< Rows describe it. */
	JITSFRAME_CFI_CFA_UNSTATED = 1,
	JITSFRAME_CFI_CFA_EXPRESSION = 2,
	JITSFRAME_CFI_RA_UNSTATED = 3,
	JITSFRAME_CFI_RA_EXPRESSION = 4,
	JITSFRAME_CFI_FP_UNDEFINED = 5,
	JITSFRAME_CFI_FP_EXPRESSION = 6,
	JITSFRAME_CFI_VALUE_FROM_CFA = 7,
	JITSFRAME_CFI_SP_IS_NOT_CFA = 8,
	JITSFRAME_CFI_REGISTER_NUMBER = 9,
	JITSFRAME_CFI_OFFSET_RANGE = 10,
	JITSFRAME_CFI_SIGNED_WITH_ADDRESS = 11,
	JITSFRAME_CFI_REPEAT_BLOCK = 12
};

/** An .eh_frame section, or as much of one as there is. */
struct jitsframe_cfi_section {
	const void *bytes;
	size_t size;
	uint64_t address;         /**< Where it will lie when the code runs. */
	uint64_t text_base;       /**< For DW_EH_PE_textrel. */
	uint64_t data_base;       /**< For DW_EH_PE_datarel. */
	enum jitsframe_arch arch; /**< JITSFRAME_ARCH_HOST. */
};

/** One piece of a function: rows of its own, or a gap. */
struct jitsframe_cfi_part {
	uint64_t start;
	uint32_t size;
	enum jitsframe_cfi_reason reason;  /**< What SFrame has no words for here. */
	const struct jitsframe_rows *rows; /**< To publish at start, before the visitor returns; NULL in a gap. */
};

/** False: enough. */
typedef bool (*jitsframe_cfi_visit)(void *context, const struct jitsframe_cfi_part *part);

/** What a reason means, for people. Static string. */
const char *jitsframe_cfi_reason_text(enum jitsframe_cfi_reason reason) JITSFRAME_NOEXCEPT;
/**
 * Visit what the FDEs of the section describe, in their order; most functions are one part.
 * Allocates. Stops at the first FDE that cannot be read: MALFORMED, UNSUPPORTED, with error->at its
 * offset in the section; NO_MEMORY. What was visited up to there is right.
 */
enum jitsframe_code jitsframe_rows_from_cfi(const struct jitsframe_cfi_section *section,
					    jitsframe_cfi_visit visit, void *context,
					    struct jitsframe_error *error) JITSFRAME_NOEXCEPT;

/* --- areas --------------------------------------------------------------- */

#define JITSFRAME_NO_FRAME_REG UINT32_MAX

/**
 * How to make an area: jitsframe_options_init() first, then set what differs.
 *
 * The struct may grow at its end. struct_size says which one a program was
 * compiled with: with the smaller one of an older header the fields that it
 * lacks have their defaults; the larger one of a newer header is accepted as
 * long as what this library does not know is 0.
 */
struct jitsframe_options {
	size_t struct_size;         /**< Set by jitsframe_options_init(). */
	uint64_t text_start;        /**< First address of the code window. */
	uint64_t text_size;         /**< Its bytes; not 0. */
	uint64_t reserve_bytes;     /**< Address space to grow into, at most 4 GiB. 64 MiB. */
	uint32_t initial_functions; /**< Room before the first growth. 256. */
	uint32_t frame_reg;         /**< DWARF number, or JITSFRAME_NO_FRAME_REG. */
	const char *owner;          /**< For people, cut at 31 bytes; or NULL. */
	enum jitsframe_arch arch;   /**< JITSFRAME_ARCH_HOST. */
	bool several_producers;     /**< Any thread may publish, one after the other. false. */
	bool fp_fallback;           /**< Frame pointers where the area says nothing. true. */
	bool register_with_kernel;  /**< true. */
};

/**
 * Set the defaults named above. struct_size is sizeof(struct jitsframe_options) as the caller knows
 * it: no more is written. With a size that none ever had nothing is, and jitsframe_area_new() refuses.
 */
void jitsframe_options_init(struct jitsframe_options *options,
			    size_t struct_size) JITSFRAME_NOEXCEPT;

/** How an area stands with the kernel. */
enum jitsframe_registration {
	JITSFRAME_REGISTERED = 0,
	JITSFRAME_NOT_ASKED = 1,
	JITSFRAME_KERNEL_LACKS = 2, /**< This kernel has no PR_JIT_SFRAME. */
	JITSFRAME_BLOCKED = 3,      /**< A sandbox forbids the prctl. */
	JITSFRAME_REFUSED = 4       /**< The kernel said no; see os_errno. */
};

struct jitsframe_status {
	enum jitsframe_registration registration;
	int os_errno;
	const char *why; /**< Static, for people. */
};

/** What a reader finds for a PC. */
struct jitsframe_found {
	uint64_t start;
	uint32_t size;
	bool signal;
	bool pauth_key_b;
	struct jitsframe_row row; /**< Its offset is not told: 0. */
};

/** One function for jitsframe_publish_all(). */
struct jitsframe_publication {
	uint64_t start;
	uint32_t size;
	const struct jitsframe_rows *rows;
};

/** A shared area; threads, fork and lifetimes as jitsframe::Area in area.hpp. */
struct jitsframe_area;

/**
 * Map, name and register an area. That the kernel cannot or will not register
 * is no error, see jitsframe_area_status(). NULL on error: INVALID_ARGUMENT,
 * NO_MEMORY, SYSTEM, UNSUPPORTED (an option of a newer header is set).
 */
struct jitsframe_area *jitsframe_area_new(const struct jitsframe_options *options,
					  struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Unregister and unmap. No producer or reader may be inside. */
void jitsframe_area_free(struct jitsframe_area *area) JITSFRAME_NOEXCEPT;
struct jitsframe_status
jitsframe_area_status(const struct jitsframe_area *area) JITSFRAME_NOEXCEPT;

/**
 * Make size bytes of code at start known, before they can run. INVALID_ROWS,
 * OUTSIDE_TEXT, OVERLAP, AREA_FULL, INVALID_ARGUMENT.
 */
enum jitsframe_code jitsframe_publish(struct jitsframe_area *area, uint64_t start, uint32_t size,
				      const struct jitsframe_rows *rows,
				      struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** The same for count functions, sorted by start, with at most one flip: all or none. */
enum jitsframe_code jitsframe_publish_all(struct jitsframe_area *area,
					  const struct jitsframe_publication *functions,
					  size_t count,
					  struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Code was made again at the start of a live function. As publish, and NOT_FOUND. */
enum jitsframe_code jitsframe_replace(struct jitsframe_area *area, uint64_t start, uint32_t size,
				      const struct jitsframe_rows *rows,
				      struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** The function at start is gone. NOT_FOUND. */
enum jitsframe_code jitsframe_retire(struct jitsframe_area *area, uint64_t start,
				     struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Every function that starts in the range is gone; returns how many there were. */
uint32_t jitsframe_retire_range(struct jitsframe_area *area, uint64_t start,
				uint64_t size) JITSFRAME_NOEXCEPT;
/** What a reader finds for pc. Signal safe. NOT_FOUND, MALFORMED. */
enum jitsframe_code jitsframe_lookup(const struct jitsframe_area *area, uint64_t pc,
				     struct jitsframe_found *found,
				     struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** The mapping; starts with struct jit_sframe_area of linux/jit_sframe.h. */
const void *jitsframe_area_address(const struct jitsframe_area *area) JITSFRAME_NOEXCEPT;
uint64_t jitsframe_area_size(const struct jitsframe_area *area) JITSFRAME_NOEXCEPT;

/* --- code: instruction memory and its synchronisation --------------------- */

/** Whether a write to code that could run before needs the barrier: jitsframe::Barrier. */
enum jitsframe_barrier {
	JITSFRAME_BARRIER_IF_REUSED = 0,
	JITSFRAME_BARRIER_NONE = 1 /**< A change that may race with its execution, or data. */
};

/** How a batch of writes came to be seen by all threads: jitsframe::Sync. */
enum jitsframe_sync {
	JITSFRAME_SYNC_NOT_NEEDED = 0,
	JITSFRAME_SYNC_DONE = 1, /**< By one membarrier(). */
	/** A thread calls jitsframe_maybe_synchronize() after it has read the address, before it jumps. */
	JITSFRAME_SYNC_OWED = 2
};

/** Counters, as jitsframe::SyncStats. */
struct jitsframe_sync_stats {
	uint64_t writes;
	uint64_t exempt_writes;
	uint64_t bytes;
	uint64_t batches;
	uint64_t reusing_batches;
	uint64_t reused_granules;
	uint64_t barriers;
	uint64_t owed;
};

/** Pay what this thread owes; true if there was something. Any thread, signal safe. */
bool jitsframe_maybe_synchronize(void) JITSFRAME_NOEXCEPT;

/**
 * For a JIT with an allocator of its own: which code of a window could run
 * before. Threads: any, with a batch each. As jitsframe::SyncDomain.
 */
struct jitsframe_sync_domain;
/** Writes that one barrier, at most, makes seen. One thread at a time. */
struct jitsframe_sync_batch;

/**
 * granule_bytes is a power of two from 16 to 4096, 0 for the default of 64.
 * NULL on error: INVALID_ARGUMENT, NO_MEMORY.
 */
struct jitsframe_sync_domain *
jitsframe_sync_domain_new(uint64_t text_start, uint64_t text_size, uint32_t granule_bytes,
			  bool use_membarrier, struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** No batch of it may exist. */
void jitsframe_sync_domain_free(struct jitsframe_sync_domain *domain) JITSFRAME_NOEXCEPT;
struct jitsframe_sync_stats
jitsframe_sync_domain_stats(const struct jitsframe_sync_domain *domain) JITSFRAME_NOEXCEPT;
/** NULL: no memory. A batch can be used again and again. */
struct jitsframe_sync_batch *
jitsframe_sync_batch_new(struct jitsframe_sync_domain *domain) JITSFRAME_NOEXCEPT;
/** Commits, too. */
void jitsframe_sync_batch_free(struct jitsframe_sync_batch *batch) JITSFRAME_NOEXCEPT;
/** Those bytes are written by the time of the commit. INVALID_ARGUMENT, OUTSIDE_TEXT, NO_MEMORY. */
enum jitsframe_code jitsframe_sync_mark_written(struct jitsframe_sync_batch *batch, uint64_t address,
						uint64_t size, enum jitsframe_barrier barrier,
						struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Clean caches; call membarrier() if there was reuse. The code may be given to others then. */
enum jitsframe_sync jitsframe_sync_commit(struct jitsframe_sync_batch *batch) JITSFRAME_NOEXCEPT;

/** What the two views of instruction memory are views of: jitsframe::Backing. */
enum jitsframe_backing {
	JITSFRAME_BACKING_MEMFD = 0,
	JITSFRAME_BACKING_SHARED_ANONYMOUS = 1 /**< Whose code perf looks up in perf maps. */
};

/** How to make instruction memory: jitsframe_code_options_init() first. Grows as jitsframe_options. */
struct jitsframe_code_options {
	size_t struct_size;              /**< Set by jitsframe_code_options_init(). */
	uint64_t window_bytes;           /**< 64 MiB. */
	uint64_t near_address;           /**< Where to run, if that is free; 0: anywhere. */
	uint32_t granule_bytes;          /**< 64. */
	enum jitsframe_backing backing;  /**< JITSFRAME_BACKING_MEMFD. */
	bool several_producers;          /**< Any thread may allocate and free. true. */
	bool use_membarrier;             /**< true; false: reuse is owed. */
};

void jitsframe_code_options_init(struct jitsframe_code_options *options,
				 size_t struct_size) JITSFRAME_NOEXCEPT;

/** A piece of instruction memory: where to write, and where that will run. */
struct jitsframe_code_span {
	void *writable;
	uint64_t address;
	uint32_t size;
};

struct jitsframe_code_stats {
	struct jitsframe_sync_stats sync;
	uint64_t window_bytes;
	uint64_t live_bytes;
	uint64_t live_spans;
	uint64_t allocations;
	uint64_t frees;
};

/** A window of instruction memory, of which no page is ever writable and executable. As jitsframe::CodeMemory. */
struct jitsframe_code_memory;
/** A time of writing, with one barrier at most at its end. One thread at a time. */
struct jitsframe_write_scope;

/** NULL on error: INVALID_ARGUMENT, NO_MEMORY, SYSTEM, UNSUPPORTED (an option of a newer header). */
struct jitsframe_code_memory *
jitsframe_code_memory_new(const struct jitsframe_code_options *options,
			  struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Nothing of it may run, and no scope or function of it exist. */
void jitsframe_code_memory_free(struct jitsframe_code_memory *memory) JITSFRAME_NOEXCEPT;
uint64_t jitsframe_code_text_start(const struct jitsframe_code_memory *memory) JITSFRAME_NOEXCEPT;
uint64_t jitsframe_code_text_size(const struct jitsframe_code_memory *memory) JITSFRAME_NOEXCEPT;
struct jitsframe_code_stats
jitsframe_code_memory_stats(const struct jitsframe_code_memory *memory) JITSFRAME_NOEXCEPT;
/** Give the system back the pages in which nothing is allocated; how many bytes that are. */
uint64_t jitsframe_code_trim(struct jitsframe_code_memory *memory) JITSFRAME_NOEXCEPT;
/** The span is free: nobody runs it, its rows are retired. NOT_FOUND. */
enum jitsframe_code jitsframe_code_release(struct jitsframe_code_memory *memory, uint64_t address,
					   struct jitsframe_error *error) JITSFRAME_NOEXCEPT;

/** NULL: no memory. A scope can be used again and again. */
struct jitsframe_write_scope *
jitsframe_write_scope_new(struct jitsframe_code_memory *memory) JITSFRAME_NOEXCEPT;
/** Commits, too. */
void jitsframe_write_scope_free(struct jitsframe_write_scope *scope) JITSFRAME_NOEXCEPT;
/**
 * A span to be written before the commit; alignment is a power of two, or 0.
 * INVALID_ARGUMENT, NO_MEMORY, UNSUPPORTED (in a fork's child).
 */
enum jitsframe_code jitsframe_code_allocate(struct jitsframe_write_scope *scope, uint32_t size,
					    uint32_t alignment, struct jitsframe_code_span *span,
					    struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Code that is there, to be written again. As allocate, and OUTSIDE_TEXT. */
enum jitsframe_code jitsframe_code_rewrite(struct jitsframe_write_scope *scope, uint64_t address,
					   uint32_t size, enum jitsframe_barrier barrier,
					   struct jitsframe_code_span *span,
					   struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** As jitsframe_sync_commit(). */
enum jitsframe_sync jitsframe_code_commit(struct jitsframe_write_scope *scope) JITSFRAME_NOEXCEPT;

/* --- symbols: names for perf ------------------------------------------------ */

/** Which files, and how: jitsframe_symbols_options_init() first. Grows as jitsframe_options. */
struct jitsframe_symbols_options {
	size_t struct_size;         /**< Set by jitsframe_symbols_options_init(). */
	const char *map_directory;  /**< NULL: /tmp, the only one where perf looks. */
	const char *dump_directory; /**< NULL: the environment's JITDUMPDIR, or /tmp. */
	uint32_t buffer_bytes;      /**< 4 MiB. */
	bool perf_map;              /**< true */
	bool jitdump;               /**< false */
	bool wait_when_full;        /**< false: drop, and count it. */
	bool background;            /**< true; false: only flush and close write. */
};

void jitsframe_symbols_options_init(struct jitsframe_symbols_options *options,
				    size_t struct_size) JITSFRAME_NOEXCEPT;

struct jitsframe_source_line {
	uint32_t offset;        /**< Into the function, in bytes. */
	uint32_t line;          /**< From 1. */
	uint32_t discriminator; /**< 0 */
	const char *file;
};

/** As jitsframe::SymbolStats. */
struct jitsframe_symbol_stats {
	uint64_t recorded;
	uint64_t dropped;
	uint64_t written;
	uint64_t lost;
	uint64_t direct;
	uint64_t bytes;
	int os_errno;
};

/** The writer of names; threads, signals and fork as jitsframe::Symbols in symbols.hpp. */
struct jitsframe_symbols;

/** NULL on error: INVALID_ARGUMENT, NO_MEMORY, SYSTEM, UNSUPPORTED (an option of a newer header). */
struct jitsframe_symbols *
jitsframe_symbols_new(const struct jitsframe_symbols_options *options,
		      struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Writes what waits, and closes the files. */
void jitsframe_symbols_free(struct jitsframe_symbols *symbols) JITSFRAME_NOEXCEPT;
/**
 * There is a function of that name, before it runs. bytes may be NULL: they are
 * read at start. lines may be NULL. index, which may be NULL, receives the
 * number that tells it from others at its address. NO_MEMORY (dropped),
 * INVALID_ARGUMENT, UNSUPPORTED (after fork).
 */
enum jitsframe_code jitsframe_symbols_load(struct jitsframe_symbols *symbols, uint64_t start,
					   uint64_t size, const char *name, const void *bytes,
					   const struct jitsframe_source_line *lines,
					   size_t line_count, uint64_t *index,
					   struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** The function of that index is at new_start from now on; all else is as it was loaded. */
enum jitsframe_code jitsframe_symbols_move(struct jitsframe_symbols *symbols, uint64_t index,
					   uint64_t old_start, uint64_t new_start, uint64_t size,
					   const char *name,
					   struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** What was recorded is in the files when this returns. SYSTEM, UNSUPPORTED. */
enum jitsframe_code jitsframe_symbols_flush(struct jitsframe_symbols *symbols,
					    struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
struct jitsframe_symbol_stats
jitsframe_symbols_stats(const struct jitsframe_symbols *symbols) JITSFRAME_NOEXCEPT;

/* --- functions: text, rows and name with one lifetime ------------------------- */

/** One function. */
struct jitsframe_function_text {
	const void *bytes;                 /**< The code; or NULL, and emit. */
	/** Write span->size bytes; false gives the span back. May be NULL. */
	bool (*emit)(void *context, const struct jitsframe_code_span *span);
	void *context;                     /**< For emit. */
	uint32_t size;
	uint32_t alignment;                /**< A power of two, or 0. */
	const struct jitsframe_rows *rows; /**< NULL: nothing is published. */
	const char *name;                  /**< NULL: none. */
};

struct jitsframe_function;

/**
 * Allocate, write, publish in area (which may be NULL), tell symbols (which may
 * be NULL). It can run when the scope has been committed. NULL on error: as
 * jitsframe_code_allocate() and jitsframe_publish(); nothing is left behind.
 */
struct jitsframe_function *
jitsframe_function_new(struct jitsframe_write_scope *scope, const struct jitsframe_function_text *text,
		       struct jitsframe_area *area, struct jitsframe_symbols *symbols,
		       struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Retire the rows and free the text: no thread may run it. */
void jitsframe_function_free(struct jitsframe_function *function) JITSFRAME_NOEXCEPT;
uint64_t jitsframe_function_start(const struct jitsframe_function *function) JITSFRAME_NOEXCEPT;

/* --- function tables: for runtimes that have this seam ------------------------- */

/** Frames that entries of function tables refer to by number; threads as jitsframe::FrameShapes. */
struct jitsframe_shapes;

#define JITSFRAME_NO_SHAPE UINT32_C(0)
/** For body_at: all rows count from the beginning. */
#define JITSFRAME_NO_BODY UINT32_MAX

/** NULL on error: NO_MEMORY. */
struct jitsframe_shapes *jitsframe_shapes_new(enum jitsframe_arch arch,
					      struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** No table may refer to it. */
void jitsframe_shapes_free(struct jitsframe_shapes *shapes) JITSFRAME_NOEXCEPT;
/**
 * The number of the shape of a function of size bytes with these rows: the same number for all that
 * differ in the length of the body only. body_at is a code offset in it, behind the last step of the
 * prologue and before the first of the epilogue; rows behind it count from the function's end.
 * INVALID_ROWS, INVALID_ARGUMENT, NO_MEMORY.
 */
enum jitsframe_code jitsframe_shapes_add(struct jitsframe_shapes *shapes,
					 const struct jitsframe_rows *rows, uint32_t size,
					 uint32_t body_at, uint32_t *shape,
					 struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Undo one add; what tables have made known stays known. NOT_FOUND. */
enum jitsframe_code jitsframe_shapes_remove(struct jitsframe_shapes *shapes, uint32_t shape,
					    struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** How many different shapes there are. */
uint32_t jitsframe_shapes_count(const struct jitsframe_shapes *shapes) JITSFRAME_NOEXCEPT;

/** One function: as RUNTIME_FUNCTION of x64 Windows, with a shape for the unwinding information. */
struct jitsframe_function_entry {
	uint32_t begin; /**< Bytes from the range's base. */
	uint32_t end;
	uint32_t shape;
};

/** Threads as jitsframe::FunctionTable: one grows, anyone looks up. */
struct jitsframe_function_table;

/**
 * Make a table of the caller's array, which must outlive it, as RtlAddGrowableFunctionTable() does.
 * entry_count entries are known when this returns; ascending ones are cheapest, but any order will
 * do. area may be NULL: the table has one of its own then, whose text is [range_base, range_end).
 * *table is NULL on error: INVALID_ARGUMENT, NO_MEMORY, SYSTEM, and as jitsframe_grow_function_table().
 */
enum jitsframe_code jitsframe_add_growable_function_table(
	struct jitsframe_function_table **table, const struct jitsframe_function_entry *entries,
	uint32_t entry_count, uint32_t maximum_entry_count, uint64_t range_base, uint64_t range_end,
	const struct jitsframe_shapes *shapes, struct jitsframe_area *area,
	struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/**
 * The first new_entry_count entries are known, all or none of the new ones; as RtlGrowFunctionTable(),
 * but it says what is wrong. No system call. INVALID_ARGUMENT, OUTSIDE_TEXT (error->at: the entry's
 * index), NO_MEMORY, and as jitsframe_publish(): OVERLAP, AREA_FULL.
 */
enum jitsframe_code jitsframe_grow_function_table(struct jitsframe_function_table *table,
						  uint32_t new_entry_count,
						  struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** Nothing of it is known any more, as RtlDeleteGrowableFunctionTable(). */
void jitsframe_delete_growable_function_table(struct jitsframe_function_table *table)
	JITSFRAME_NOEXCEPT;
/** The function of one entry is gone; Windows has no such call. NOT_FOUND. */
enum jitsframe_code jitsframe_retire_function(struct jitsframe_function_table *table, uint32_t index,
					      struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** As jitsframe_lookup(), of the area that is used. */
enum jitsframe_code jitsframe_function_table_lookup(const struct jitsframe_function_table *table,
						    uint64_t pc, struct jitsframe_found *found,
						    struct jitsframe_error *error) JITSFRAME_NOEXCEPT;
/** How the area that is used stands with the kernel. */
struct jitsframe_status
jitsframe_function_table_status(const struct jitsframe_function_table *table) JITSFRAME_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* JITSFRAME_H */
