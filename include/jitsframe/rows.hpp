/* SPDX-License-Identifier: MIT */
/**
 * @file rows.hpp
 * Layer 2: how a JIT says what its frames look like.
 *
 * Either a ready shape, or the steps of prologue and epilogue as they are
 * emitted, or row by row. Every code offset is in bytes from the function's
 * first instruction and names the first instruction *behind* the step: the
 * first that runs with the frame changed.
 */
#ifndef JITSFRAME_ROWS_HPP
#define JITSFRAME_ROWS_HPP

#include <jitsframe/sframe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace jitsframe {

/**
 * The rows of one function, made step by step. Begins with the frame as the
 * ABI has it at a function's entry. Steps must come in ascending code offset;
 * several at one offset make one row. A broken rule is remembered and handed
 * out by error() and by publish(), so that steps need not be checked one by
 * one. Allocates only beyond `inline_rows` rows. Not thread safe.
 *
 *     FrameRows frame;                       // CFA = SP + 8 (x86-64)
 *     frame.push(1, x86_64::rbx)             // push rbx
 *          .move_sp(5, -32)                  // sub rsp, 32
 *          .entry(end - 1);                  // add/pop done, at the ret
 *     area.publish(start, size, frame);
 */
class FrameRows {
public:
	static constexpr std::size_t inline_rows = 24;

	explicit FrameRows(const Abi &abi = host_abi()) noexcept;
	FrameRows(FrameRows &&other) noexcept;
	FrameRows &operator=(FrameRows &&other) noexcept;
	FrameRows(const FrameRows &) = delete;
	FrameRows &operator=(const FrameRows &) = delete;
	~FrameRows() = default;

	/** Begin anew, for the next function: only the entry row is left. Keeps memory. */
	FrameRows &clear() noexcept;
	/** Begin with no row at all, for row() or for a function that is outermost throughout. */
	FrameRows &clear_rows() noexcept;
	/**
	 * Begin anew with the frame as `other` has it now, and with its flags: a cold part, which
	 * lies elsewhere and is published on its own, is entered in the middle of the function.
	 * If `other` has a remembered state, recall() knows it here, too.
	 */
	FrameRows &continue_from(const FrameRows &other) noexcept;
	/** Begin anew with these rows and flags, say of CfiRows. Later steps go on from the last. */
	FrameRows &assign(const FunctionRows &rows) noexcept;

	/** SP went down by one word, and `reg` is there now. The frame pointer is noted as saved. */
	FrameRows &push(std::uint32_t at, std::uint16_t reg) noexcept;
	/** SP went up by one word, `reg` has its caller's value again. */
	FrameRows &pop(std::uint32_t at, std::uint16_t reg) noexcept;
	/** SP changed by `bytes`; down is negative. */
	FrameRows &move_sp(std::uint32_t at, std::int32_t bytes) noexcept;
	/** The caller's FP is saved at SP + `sp_offset`. */
	FrameRows &save_fp(std::uint32_t at, std::int32_t sp_offset) noexcept;
	/** FP has its caller's value again. */
	FrameRows &restore_fp(std::uint32_t at) noexcept;
	/** The RA is saved at SP + `sp_offset` (AArch64). */
	FrameRows &save_ra(std::uint32_t at, std::int32_t sp_offset) noexcept;
	/** The RA is in the link register again (AArch64). */
	FrameRows &restore_ra(std::uint32_t at) noexcept;
	/** The RA is signed from here on (paciasp), or no longer (autiasp). AArch64. */
	FrameRows &sign_ra(std::uint32_t at, bool is_signed = true) noexcept;
	/** FP = SP + `sp_offset` now, and the CFA counts from FP: SP may move as it likes. */
	FrameRows &set_fp(std::uint32_t at, std::int32_t sp_offset = 0) noexcept;
	/**
	 * SP = FP + `fp_offset` (`lea rsp, [rbp - 16]`, `mov sp, x29`), wherever it was. The CFA goes
	 * on counting from FP, from which it must be counting.
	 */
	FrameRows &sp_from_fp(std::uint32_t at, std::int32_t fp_offset) noexcept;
	/**
	 * SP went where nobody knows yet (alloca, realignment). The CFA must be counting from FP.
	 * Steps that move SP change nothing then, and those that save at SP + n are errors, until
	 * sp_from_fp(), cfa_from_sp(), entry(), or pop() of FP.
	 */
	FrameRows &lose_sp() noexcept;
	/** `leave`: SP = FP, then pop of FP. The same as pop() of FP. x86-64. */
	FrameRows &leave(std::uint32_t at) noexcept { return pop(at, abi_->fp_reg); }
	/** The CFA counts from SP again; SP = CFA - `cfa_distance`. */
	FrameRows &cfa_from_sp(std::uint32_t at, std::int32_t cfa_distance) noexcept;
	/** The frame is as at the function's entry: behind `leave`, at the ret. */
	FrameRows &entry(std::uint32_t at) noexcept;
	/** Keep the present state for recall(). One is kept. */
	FrameRows &remember() noexcept;
	/** The state is that of remember() again: the code behind an epilogue in the middle. */
	FrameRows &recall(std::uint32_t at) noexcept;
	/** From here on nothing is above this frame. */
	FrameRows &outermost(std::uint32_t at) noexcept;

	/** A row as it is. Later steps go on from it if its CFA is SP or FP based. */
	FrameRows &row(const Row &row) noexcept;

	/** The function is a signal trampoline. */
	FrameRows &signal(bool on = true) noexcept;
	/** Return addresses are signed with key B (AArch64). */
	FrameRows &pauth_key_b(bool on = true) noexcept;
	/** Rows describe a block of `bytes` that repeats (PC-mask). */
	FrameRows &repeat_block(std::uint8_t bytes) noexcept;

	/** The rows, valid until the next change of this object. */
	[[nodiscard]] FunctionRows view() const noexcept;
	/** The first broken rule: invalid_rows or no_memory. Error::at is the code offset. */
	Error error() const noexcept { return error_; }
	[[nodiscard]] const Abi &abi() const noexcept { return *abi_; }

private:
	struct State {
		Row row{};
		std::int32_t depth = 0; /* CFA minus SP, while depth_known. */
		bool depth_known = true;
	};

	[[nodiscard]] State entry_state() const noexcept;
	[[nodiscard]] bool counts_from_fp() const noexcept;
	[[nodiscard]] const Row *data() const noexcept;
	[[nodiscard]] Row *data() noexcept;
	bool need_depth(std::uint32_t at) noexcept;
	void fail(Code code, const char *why, std::uint64_t at) noexcept;
	FrameRows &commit(std::uint32_t at) noexcept;
	bool reserve(std::size_t count) noexcept;

	const Abi *abi_;
	State state_{};
	State remembered_{};
	bool has_remembered_ = false;
	bool signal_ = false;
	bool pauth_key_b_ = false;
	std::uint8_t repeat_block_ = 0;
	std::size_t count_ = 0;
	std::size_t capacity_ = inline_rows;
	std::unique_ptr<Row[]> heap_;
	std::array<Row, inline_rows> inline_{};
	Error error_{};
};

/** Some rows of a function, as a function of their own. */
struct RowPiece {
	std::uint32_t offset; /**< Where it begins, in bytes from the function's start. */
	std::uint32_t size;   /**< Bytes of code. */
	FunctionRows rows;    /**< Valid until the next step of the splitter. */
};

/**
 * Split a function of many rows into pieces of at most `max_rows`, each of which may be published
 * or encoded alone. (Area::publish() does so itself; this is for those who have their own tables.)
 * Does not allocate.
 *
 *     RowPiece piece;
 *     for (RowSplitter splitter(rows, size); splitter.next(piece);)
 *         table.add(start + piece.offset, piece.size, piece.rows);
 */
class RowSplitter {
public:
	/** `rows` must have passed check_rows(), and outlive this. `max_rows`: 1 to max_live_rows. */
	RowSplitter(const FunctionRows &rows, std::uint32_t size,
		    std::size_t max_rows = max_live_rows) noexcept;
	/** The next piece; false if there is none left. A function without rows is one piece. */
	bool next(RowPiece &piece) noexcept;

private:
	FunctionRows function_;
	std::uint32_t size_;
	std::size_t max_rows_;
	std::size_t next_ = 0;
	bool is_done_ = false;
	std::array<Row, max_live_rows> piece_{};
};

namespace x86_64 {

/** Never moves SP: CFA = RSP + 8 throughout. */
[[nodiscard]] FrameRows leaf() noexcept;
/**
 * `sub rsp, frame_bytes` ends at `after_prologue`; `add rsp, frame_bytes` ends
 * at `after_epilogue` (0: the function never returns).
 */
[[nodiscard]] FrameRows fixed_frame(std::uint32_t after_prologue, std::uint32_t frame_bytes,
				    std::uint32_t after_epilogue) noexcept;
/**
 * `push rbp` ends at `after_push`, `mov rbp, rsp` at `after_mov`, `pop rbp` or
 * `leave` at `after_pop` (0: the function never returns).
 */
[[nodiscard]] FrameRows frame_pointer(std::uint32_t after_push, std::uint32_t after_mov,
				      std::uint32_t after_pop) noexcept;

} // namespace x86_64

namespace aarch64 {

/** Never moves SP, RA stays in x30. */
[[nodiscard]] FrameRows leaf() noexcept;
/**
 * `sub sp, sp, frame_bytes` ends at `after_prologue`, x30 is saved at SP +
 * `ra_offset` by `after_save`, and both are undone at `after_epilogue` (0: the
 * function never returns).
 */
[[nodiscard]] FrameRows fixed_frame(std::uint32_t after_prologue, std::uint32_t frame_bytes,
				    std::uint32_t after_save, std::int32_t ra_offset,
				    std::uint32_t after_epilogue) noexcept;
/**
 * `stp x29, x30, [sp, -frame_bytes]!` ends at `after_stp`, `mov x29, sp` at
 * `after_mov`, `ldp x29, x30, [sp], frame_bytes` at `after_ldp` (0: never).
 */
[[nodiscard]] FrameRows frame_pointer(std::uint32_t after_stp, std::uint32_t after_mov,
				      std::uint32_t after_ldp,
				      std::uint32_t frame_bytes = 16) noexcept;

} // namespace aarch64

} // namespace jitsframe

#endif // JITSFRAME_ROWS_HPP
