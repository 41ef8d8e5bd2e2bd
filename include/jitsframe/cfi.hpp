/* SPDX-License-Identifier: MIT */
/**
 * @file cfi.hpp
 * Layer 2: rows from DWARF call frame information.
 *
 * A compiler back end that makes `.eh_frame` already says how its frames look.
 * Here its CIEs and FDEs become rows. CFI can say more than SFrame can: code
 * whose frames SFrame has no words for becomes a gap with a reason, never a row
 * that is nearly right.
 *
 * Numbers are those of DWARF 5 (sections 6.4 and 7.24), of the Linux Standard
 * Base ("Exception Frames") and of "DWARF for the Arm 64-bit Architecture".
 * Functions are thread safe and allocate only what their description says.
 */
#ifndef JITSFRAME_CFI_HPP
#define JITSFRAME_CFI_HPP

#include <jitsframe/sframe.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace jitsframe {

/**
 * Why no row describes a piece of code. For such a piece publish nothing: a
 * reader then falls back to frame pointers, or stops, as the area's flags say.
 */
enum class CfiReason : std::uint8_t {
	none = 0,            /**< Rows describe it. */
	cfa_unstated,        /**< No rule for the CFA. */
	cfa_expression,      /**< Neither register + n nor what memory holds there. */
	ra_unstated,         /**< No rule for the RA, on a machine that has no link register. */
	ra_expression,       /**< The RA's expression is neither of these, nor CFA-based. */
	fp_undefined,        /**< The caller's FP is lost; SFrame can but say "unchanged". */
	fp_expression,       /**< The FP's expression, as ra_expression. */
	value_from_cfa,      /**< RA or FP is CFA + n itself, which SFrame cannot encode. */
	sp_is_not_cfa,       /**< The caller's SP is not the CFA, which SFrame takes it for. */
	register_number,     /**< A register of number 64 or above. */
	offset_range,        /**< An offset of more than 32 bits. */
	signed_with_address, /**< AArch64: the RA is signed with an instruction's address. */
	repeat_block,        /**< A PLT that lies so that no repeating block describes it. */
};
inline constexpr std::size_t cfi_reasons = 13;

/** What a reason means, for people: "the CFA's expression". Static string. */
[[nodiscard]] const char *to_string(CfiReason reason) noexcept;

/** An `.eh_frame` section, or as much of one as there is. */
struct CfiSection {
	std::span<const std::byte> bytes{};
	/** Where `bytes` will lie when the code runs: pointers may count from themselves. */
	std::uint64_t address = 0;
	std::uint64_t text_base = 0; /**< For DW_EH_PE_textrel. */
	std::uint64_t data_base = 0; /**< For DW_EH_PE_datarel. */
	const Abi *abi = nullptr;    /**< The machine. Null: the host. */
	/**
	 * Read the word at `address` into `value`, for DW_EH_PE_indirect; false if it
	 * cannot be read. Null: such pointers are unsupported.
	 */
	bool (*load)(void *context, std::uint64_t address, std::uint64_t &value) noexcept = nullptr;
	void *load_context = nullptr;
};

/** The common part of FDEs. Offsets are in the section. */
struct CfiCommon {
	std::size_t at = 0; /**< Where the CIE is. */
	std::uint64_t code_alignment = 0;
	std::int64_t data_alignment = 0;
	std::uint64_t ra_column = 0;
	std::uint8_t pointer_encoding = 0; /**< DW_EH_PE_... of addresses in FDEs. */
	bool has_augmentation_data = false;
	bool signal = false;      /**< Augmentation S. */
	bool pauth_key_b = false; /**< Augmentation B. */
	std::size_t program = 0;  /**< The initial instructions ... */
	std::size_t end = 0;      /**< ... end here. */
};

/** One FDE. Offsets are in the section. */
struct CfiFunction {
	std::uint64_t start = 0; /**< Address. */
	std::uint64_t size = 0;  /**< Bytes of code. */
	std::size_t at = 0;      /**< Where the FDE is. */
	std::size_t program = 0; /**< The instructions ... */
	std::size_t end = 0;     /**< ... end here. */
	CfiCommon common{};
};

/**
 * The FDEs of a section, one after the other. A terminator (length 0) ends it,
 * and FDEs of code that the linker discarded (start 0) are passed over.
 *
 *     CfiRows rows;
 *     for (CfiReader reader(section); reader.next();) {
 *         const auto function = reader.function();
 *         if (function && !rows.run(section, *function))
 *             for (const CfiPart &part : rows.parts())
 *                 if (part.reason == CfiReason::none)
 *                     area.publish(part.start, part.size, part.rows);
 *     }
 */
class CfiReader {
public:
	/** `section.bytes` must outlive this object. */
	explicit CfiReader(const CfiSection &section) noexcept;

	/** Step to the next FDE. False: there is none, or error() says why not. */
	bool next() noexcept;
	/** Why there is no next: malformed (a length leads out of the section); Error::at is its offset. */
	Error error() const noexcept { return error_; }
	/**
	 * The FDE stepped to, with its CIE. A broken one does not keep next() from going on.
	 * Errors: malformed, unsupported; Error::at is the offset of the offending byte.
	 */
	[[nodiscard]] Result<CfiFunction> function() const noexcept;

private:
	CfiSection section_;
	std::size_t next_ = 0;
	std::size_t at_ = 0;
	Error error_{};
};

/** One piece of a function: rows of its own, or a gap. */
struct CfiPart {
	std::uint64_t start = 0; /**< Address. */
	std::uint32_t size = 0;  /**< Bytes of code. */
	CfiReason reason = CfiReason::none;
	/** If there is no reason not to: ready to publish at `start`. */
	FunctionRows rows{};
};

/**
 * What the instructions of one FDE come to. Reusable for the next one, and then
 * allocates only for a function with more rows than those before.
 */
class CfiRows {
public:
	/**
	 * Run the instructions of `function`, which `section` is the section of. Usually
	 * comes to one part; more where there are gaps, or a PLT. Parts ascend, and
	 * cover the function without overlap; rows have passed check_rows(). Allocates.
	 * Errors: malformed, unsupported (an instruction of another machine);
	 * Error::at is the offset of the instruction. There are no parts then.
	 */
	Error run(const CfiSection &section, const CfiFunction &function) noexcept;
	/** Valid until the next run(). */
	[[nodiscard]] std::span<const CfiPart> parts() const noexcept { return parts_; }

private:
	friend class CfiProgram;

	void clear() noexcept;
	void add(std::uint64_t start, std::uint64_t size, CfiReason reason, const Row &row);
	void add_repeating(std::uint64_t start, std::uint64_t size, std::uint8_t block,
			   std::span<const Row> rows);
	void finish(const CfiCommon &common) noexcept;

	std::vector<Row> rows_;
	std::vector<std::size_t> first_; /**< The first row of each part. */
	std::vector<CfiPart> parts_;
};

} // namespace jitsframe

#endif // JITSFRAME_CFI_HPP
