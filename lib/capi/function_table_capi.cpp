// SPDX-License-Identifier: MIT
/* The C API of function tables: translation only. */
#include "handles.hpp"

#include <jitsframe/function_table.hpp>

#include <cstddef>
#include <new>

using namespace jitsframe;
using capi::null_handle;
using capi::tell;

struct jitsframe_shapes {
	FrameShapes shapes;
};

struct jitsframe_function_table {
	FunctionTable table;
};

namespace {

/* The caller's array is read as it is. */
static_assert(sizeof(struct jitsframe_function_entry) == sizeof(FunctionEntry));
static_assert(alignof(struct jitsframe_function_entry) == alignof(FunctionEntry));
static_assert(offsetof(struct jitsframe_function_entry, begin) == offsetof(FunctionEntry, begin));
static_assert(offsetof(struct jitsframe_function_entry, end) == offsetof(FunctionEntry, end));
static_assert(offsetof(struct jitsframe_function_entry, shape) == offsetof(FunctionEntry, shape));
static_assert(JITSFRAME_NO_SHAPE == FrameShapes::none);
static_assert(JITSFRAME_NO_BODY == FrameShapes::no_body);

/* A handle of its own for a value; null: there is none, and why. */
template <typename Handle, typename T>
Handle *handle_of(Result<T> value, struct jitsframe_error *error) noexcept
{
	tell(value.error(), error);
	if (!value)
		return nullptr;

	auto *handle = new (std::nothrow) Handle{std::move(*value)};
	if (!handle)
		tell({Code::no_memory, 0, "C API", "no memory for a handle", 0}, error);
	return handle;
}

} // namespace

struct jitsframe_shapes *jitsframe_shapes_new(jitsframe_arch arch,
					      struct jitsframe_error *error) noexcept
{
	return handle_of<jitsframe_shapes>(FrameShapes::create(capi::abi_from(arch)), error);
}

void jitsframe_shapes_free(struct jitsframe_shapes *shapes) noexcept
{
	delete shapes;
}

jitsframe_code jitsframe_shapes_add(struct jitsframe_shapes *shapes,
				    const struct jitsframe_rows *rows, uint32_t size,
				    uint32_t body_at, uint32_t *shape,
				    struct jitsframe_error *error) noexcept
{
	if (!shapes || !rows || !shape)
		return null_handle(error);

	const Result<std::uint32_t> number = shapes->shapes.add(rows->rows, size, body_at);
	*shape = number ? *number : JITSFRAME_NO_SHAPE;
	return tell(number.error(), error);
}

jitsframe_code jitsframe_shapes_remove(struct jitsframe_shapes *shapes, uint32_t shape,
				       struct jitsframe_error *error) noexcept
{
	return shapes ? tell(shapes->shapes.remove(shape), error) : null_handle(error);
}

uint32_t jitsframe_shapes_count(const struct jitsframe_shapes *shapes) noexcept
{
	return shapes ? shapes->shapes.count() : 0;
}

jitsframe_code jitsframe_add_growable_function_table(
	struct jitsframe_function_table **table, const struct jitsframe_function_entry *entries,
	uint32_t entry_count, uint32_t maximum_entry_count, uint64_t range_base, uint64_t range_end,
	const struct jitsframe_shapes *shapes, struct jitsframe_area *area,
	struct jitsframe_error *error) noexcept
{
	struct jitsframe_error told = {};

	if (!table)
		return null_handle(error);
	FunctionTableOptions options;
	options.entries = reinterpret_cast<const FunctionEntry *>(entries);
	options.count = entry_count;
	options.maximum = maximum_entry_count;
	options.range_base = range_base;
	options.range_end = range_end;
	options.shapes = shapes ? &shapes->shapes : nullptr;
	options.area = area ? &area->area : nullptr;
	*table = handle_of<jitsframe_function_table>(FunctionTable::create(options), &told);
	if (error)
		*error = told;
	return told.code;
}

jitsframe_code jitsframe_grow_function_table(struct jitsframe_function_table *table,
					     uint32_t new_entry_count,
					     struct jitsframe_error *error) noexcept
{
	return table ? tell(table->table.grow(new_entry_count), error) : null_handle(error);
}

void jitsframe_delete_growable_function_table(struct jitsframe_function_table *table) noexcept
{
	delete table;
}

jitsframe_code jitsframe_retire_function(struct jitsframe_function_table *table, uint32_t index,
					 struct jitsframe_error *error) noexcept
{
	return table ? tell(table->table.retire(index), error) : null_handle(error);
}

jitsframe_code jitsframe_function_table_lookup(const struct jitsframe_function_table *table,
					       uint64_t pc, struct jitsframe_found *found,
					       struct jitsframe_error *error) noexcept
{
	if (!table || !found)
		return null_handle(error);

	const Result<Found> native = table->table.lookup(pc);
	if (!native)
		return tell(native.error(), error);
	*found = capi::found_to(*native);
	return tell({}, error);
}

struct jitsframe_status
jitsframe_function_table_status(const struct jitsframe_function_table *table) noexcept
{
	if (!table)
		return {JITSFRAME_NOT_ASKED, 0, "a null handle"};
	return capi::status_to(table->table.area().status());
}
