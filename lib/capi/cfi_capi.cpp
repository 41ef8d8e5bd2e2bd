// SPDX-License-Identifier: MIT
/* Rows from DWARF CFI, in C. */
#include "handles.hpp"

#include <jitsframe/cfi.hpp>

#include <memory>

using namespace jitsframe;
using capi::null_handle;
using capi::tell;

namespace {

static_assert(static_cast<int>(CfiReason::none) == JITSFRAME_CFI_DESCRIBED);
static_assert(static_cast<int>(CfiReason::fp_undefined) == JITSFRAME_CFI_FP_UNDEFINED);
static_assert(static_cast<int>(CfiReason::repeat_block) == JITSFRAME_CFI_REPEAT_BLOCK);
static_assert(cfi_reasons == JITSFRAME_CFI_REPEAT_BLOCK + 1);

struct Free {
	void operator()(struct jitsframe_rows *rows) const noexcept { jitsframe_rows_free(rows); }
};

/* Who is told of the parts; `rows` is lent to each. */
struct Visitor {
	jitsframe_cfi_visit visit;
	void *context;
	struct jitsframe_rows &rows;
	bool goes_on = true;

	Error part(const CfiPart &part) noexcept
	{
		const auto reason = static_cast<jitsframe_cfi_reason>(part.reason);
		const bool is_gap = part.reason != CfiReason::none;

		if (!is_gap && rows.rows.assign(part.rows).error())
			return rows.rows.error();
		const struct jitsframe_cfi_part told = {part.start, part.size, reason,
							is_gap ? nullptr : &rows};
		goes_on = visit(context, &told);
		return {};
	}
};

Error visit_parts(const CfiRows &found, Visitor &visitor) noexcept
{
	for (const CfiPart &part : found.parts()) {
		if (!visitor.goes_on)
			break;
		if (Error error = visitor.part(part))
			return error;
	}
	return {};
}

Error visit_all(const CfiSection &section, Visitor &visitor) noexcept
{
	CfiReader reader(section);
	CfiRows found;

	while (visitor.goes_on && reader.next()) {
		const auto function = reader.function();
		if (!function)
			return function.error();
		if (Error error = found.run(section, *function))
			return error;
		if (Error error = visit_parts(found, visitor))
			return error;
	}
	return reader.error();
}

} // namespace

const char *jitsframe_cfi_reason_text(jitsframe_cfi_reason reason) noexcept
{
	return to_string(static_cast<CfiReason>(reason));
}

jitsframe_code jitsframe_rows_from_cfi(const struct jitsframe_cfi_section *section,
				       jitsframe_cfi_visit visit, void *context,
				       struct jitsframe_error *error) noexcept
{
	if (!section || !visit || (!section->bytes && section->size))
		return null_handle(error);

	const std::unique_ptr<struct jitsframe_rows, Free> rows(jitsframe_rows_new(section->arch));
	if (!rows)
		return tell({Code::no_memory, 0, "rows from CFI", "no memory", 0}, error);

	CfiSection native;
	native.bytes = {static_cast<const std::byte *>(section->bytes), section->size};
	native.address = section->address;
	native.text_base = section->text_base;
	native.data_base = section->data_base;
	native.abi = &rows->rows.abi();
	Visitor visitor{visit, context, *rows};
	return tell(visit_all(native, visitor), error);
}
