/* SPDX-License-Identifier: MIT */
/**
 * @file sframe.hpp
 * Layer 1: SFrame version 3, encoded and decoded.
 *
 * Rows in, section bytes out, and back. Numbers and layouts are those of "The
 * SFrame format", version 3 (sframe-spec.info of GNU binutils 2.46); section
 * numbers in the comments are that document's.
 *
 * Nothing here knows of areas, shared memory or the kernel. Functions are
 * thread safe, and signal safe unless they say that they allocate.
 */
#ifndef JITSFRAME_SFRAME_HPP
#define JITSFRAME_SFRAME_HPP

#include <jitsframe/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace jitsframe {

/** A machine whose frames can be described. */
enum class Arch : std::uint8_t { x86_64, aarch64 };

/**
 * What the format and the psABI fix for one machine. DWARF register numbers
 * are those of the System V psABI for x86-64 (figure 3.36) and of "DWARF for
 * the Arm 64-bit Architecture" (section 4.1).
 */
struct Abi {
	Arch arch;
	std::uint8_t abi_arch;         /**< sfh_abi_arch (2.2.1). */
	std::int8_t fixed_ra_offset;   /**< sfh_cfa_fixed_ra_offset; 0: RA is tracked per row. */
	std::uint16_t sp_reg;          /**< DWARF number of the stack pointer. */
	std::uint16_t fp_reg;          /**< DWARF number of the frame pointer. */
	std::uint16_t ra_reg;          /**< DWARF number of the link register, or of the RA column. */
	std::int32_t entry_cfa_offset; /**< CFA minus SP at a function's first instruction. */
	std::uint32_t min_instruction; /**< Bytes of the shortest instruction. */
};

namespace x86_64 {
inline constexpr std::uint16_t rax = 0, rdx = 1, rcx = 2, rbx = 3, rsi = 4, rdi = 5, rbp = 6,
			       rsp = 7, r8 = 8, r9 = 9, r10 = 10, r11 = 11, r12 = 12, r13 = 13,
			       r14 = 14, r15 = 15, return_address = 16;
/** The System V ABI on x86-64: RA at CFA - 8, put there by the call. */
extern const Abi abi;
} // namespace x86_64

namespace aarch64 {
inline constexpr std::uint16_t x29 = 29, x30 = 30, sp = 31;
/** AAPCS64, little endian: RA in x30 until it is saved. */
extern const Abi abi;
} // namespace aarch64

/** The ABI of `arch`. */
[[nodiscard]] const Abi &abi_of(Arch arch) noexcept;
/** The ABI this library was built for. */
[[nodiscard]] const Abi &host_abi() noexcept;

/**
 * Where one tracked value (CFA, RA or FP) is: Base + offset, and if `deref`,
 * what memory holds there (3.2, "Recovery Rules").
 */
struct Rule {
	enum class Base : std::uint8_t {
		none, /**< RA: the ABI's own place. FP: still in its register. Not for a CFA. */
		cfa,  /**< The CFA of this frame. Not for a CFA. */
		reg,  /**< The DWARF register `reg`. */
	};

	Base base = Base::none;
	bool deref = false;
	std::uint16_t reg = 0;
	std::int32_t offset = 0; /**< Bytes. */

	/** The value is register `number` plus `offset`. */
	static constexpr Rule in_reg(std::uint16_t number, std::int32_t offset = 0) noexcept
	{
		return {Base::reg, false, number, offset};
	}
	/** The value is saved in memory at the CFA plus `offset`. */
	static constexpr Rule at_cfa(std::int32_t offset) noexcept
	{
		return {Base::cfa, true, 0, offset};
	}
	/** The value is saved in memory at register `number` plus `offset`. */
	static constexpr Rule at_reg(std::uint16_t number, std::int32_t offset) noexcept
	{
		return {Base::reg, true, number, offset};
	}
	friend constexpr bool operator==(const Rule &, const Rule &) noexcept = default;
};

/**
 * One row (FRE, 2.4): what holds from `offset` on, until the next row. The
 * offset counts bytes of code from the function's start, and names the first
 * instruction that runs with the frame so.
 */
struct Row {
	std::uint32_t offset = 0;
	bool outermost = false; /**< Nothing called this: the stack ends here. */
	bool ra_signed = false; /**< AArch64: the saved RA carries a pointer authentication code. */
	Rule cfa{};
	Rule ra{};
	Rule fp{};

	friend constexpr bool operator==(const Row &, const Row &) noexcept = default;
};

/**
 * All rows of one function; a view, the rows belong to the caller.
 *
 * Rules: the first row's offset is 0, offsets ascend strictly, the last is
 * inside the function. No rows at all: the function is outermost throughout.
 */
struct FunctionRows {
	std::span<const Row> rows{};
	bool signal = false;      /**< A signal trampoline: the caller was interrupted, not calling. */
	bool pauth_key_b = false; /**< AArch64: signed with key B. */
	/**
	 * Not 0: the code is a repetition of blocks of this many bytes, such
	 * as a PLT, and row offsets count from a block's start (PC-mask, 2.3.3.1)
	 * and lie inside the first.
	 */
	std::uint8_t repeat_block = 0;
};

/** The most rows the encoder puts in one FDE of a live section (UAPI JIT_SFRAME_MAX_LIVE_ROWS). */
inline constexpr std::size_t max_live_rows = 64;
/** Bytes that no FDE of max_live_rows rows exceeds, attributes included. */
inline constexpr std::size_t max_live_fde_bytes = 5 + max_live_rows * (4 + 1 + 6 * 4);

/** Check `function` of `size` bytes against the rules above. Error::at is the row's index. */
Error check_rows(const Abi &abi, std::uint32_t size, const FunctionRows &function) noexcept;

/**
 * Encode one FDE: its attributes (2.3.2) and its rows behind them, in the
 * smallest FRE type and data words. A default FDE if every row allows, else a
 * flexible one.
 *
 * `first` and `count` choose rows of `function`; offsets are written relative
 * to the first chosen row. `out` must hold them: max_live_fde_bytes for up to
 * max_live_rows rows. The rows must have passed check_rows(). Returns the
 * bytes written.
 */
std::size_t encode_fde(const Abi &abi, const FunctionRows &function, std::size_t first,
		       std::size_t count, std::byte *out) noexcept;

/** One function of a section: for build_section() and from decode(). */
struct Function {
	std::uint64_t start = 0; /**< Address. */
	std::uint32_t size = 0;  /**< Bytes of code. 0: retired. */
	bool signal = false;
	bool pauth_key_b = false;
	std::uint8_t repeat_block = 0;
	bool flexible = false; /**< From decode() only: a flexible FDE. The encoder chooses itself. */
	std::vector<Row> rows;

	[[nodiscard]] FunctionRows view() const noexcept
	{
		return {rows, signal, pauth_key_b, repeat_block};
	}
	friend bool operator==(const Function &, const Function &) noexcept = default;
};

/** What the `start` of an index entry counts from (2.3.1). */
enum class StartEncoding : std::uint8_t {
	section,       /**< The section's first byte. */
	field,         /**< The field itself (SFRAME_F_FDE_FUNC_START_PCREL). */
	text_relative, /**< The text's start: for JIT_SFRAME_TEXT_RELATIVE static areas. */
};

/**
 * Build a whole static section from `functions`, sorted by start as it goes.
 * `address` is where the section will lie; if text-relative, the text's start.
 * More than `rows_per_fde` rows (at most 65535) are split into several FDEs.
 * Allocates.
 * Errors: invalid_rows, overlap (two functions), invalid_argument (too big).
 */
[[nodiscard]] Result<std::vector<std::byte>>
build_section(const Abi &abi, std::span<const Function> functions, std::uint64_t address,
	      StartEncoding starts = StartEncoding::field,
	      std::size_t rows_per_fde = 65535) noexcept;

/** The header of a section (2.2), checked. */
struct SectionHeader {
	std::uint8_t flags;
	std::uint8_t abi_arch;
	std::int8_t fixed_fp_offset;
	std::int8_t fixed_ra_offset;
	std::uint8_t auxhdr_len;
	std::uint32_t num_fdes;
	std::uint32_t num_fres;
	std::uint32_t fre_len;
	std::uint32_t index_offset; /**< From the section's start. */
	std::uint32_t fre_offset;   /**< From the section's start. */
};

/** A section, taken apart. */
struct Section {
	SectionHeader header;
	Arch arch;
	std::vector<Function> functions; /**< In the order of the index. */
};

/** Read and check the header alone. Errors: malformed, unsupported. */
[[nodiscard]] Result<SectionHeader> decode_header(std::span<const std::byte> section) noexcept;

/**
 * Take a section apart and check every byte of it. Rules are as the bytes state
 * them, see normalised(). `address` is where the section lies (or lay); with
 * `text_relative`, it is the text's start. Bounded by the section's length,
 * whatever it holds. Allocates.
 * Errors: malformed (Error::at: byte offset), unsupported (another version,
 * byte order or machine).
 */
[[nodiscard]] Result<Section> decode(std::span<const std::byte> section, std::uint64_t address,
				     bool text_relative = false) noexcept;

/** decode() for its verdict alone. */
Error validate(std::span<const std::byte> section) noexcept;

/** What the shared decoder says of a PC. Rows as in decode(). */
struct Found {
	std::uint64_t start;
	std::uint32_t size;
	bool signal;
	bool pauth_key_b;
	Row row; /**< Its offset is not told: 0. */
};

/**
 * Look `pc` up with the decoder that the kernel uses. The section is plain
 * memory that no one writes; for a live one see Area. `address` as in decode().
 * not_found if it says nothing of the PC; malformed if what it read on the way is broken. Does not
 * allocate; signal safe.
 */
[[nodiscard]] Result<Found> lookup(std::span<const std::byte> section, std::uint64_t address,
				   std::uint64_t pc, bool text_relative = false) noexcept;

/** `row` with the rules that name the ABI's own place as `none`, to compare rows by meaning. */
[[nodiscard]] Row normalised(const Abi &abi, Row row) noexcept;

/** Name of a DWARF register, "rsp" or "x29"; "?" if the ABI has none of that number. */
[[nodiscard]] const char *register_name(const Abi &abi, std::uint16_t reg) noexcept;

} // namespace jitsframe

#endif // JITSFRAME_SFRAME_HPP
