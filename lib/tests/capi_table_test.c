/* SPDX-License-Identifier: MIT */
/* Function tables from C11: a runtime's array, grown, retired from and deleted; every error code. */
#include <jitsframe/jitsframe.h>

#include "check.h"

enum { rbx = 3, rsp = 7 };

static const uint64_t base = 0x7d0000000000;

/* push rbx; sub rsp, 32; a body; add rsp, 32; pop rbx; ret */
static struct jitsframe_rows *framed(uint32_t size)
{
	struct jitsframe_rows *rows = jitsframe_rows_new(JITSFRAME_ARCH_X86_64);

	CHECK(rows);
	jitsframe_rows_push(rows, 1, rbx);
	jitsframe_rows_move_sp(rows, 5, -32);
	jitsframe_rows_move_sp(rows, size - 2, 32);
	jitsframe_rows_pop(rows, size - 1, rbx);
	return rows;
}

static struct jitsframe_shapes *new_shapes(uint32_t *shape)
{
	struct jitsframe_error error;
	struct jitsframe_shapes *shapes = jitsframe_shapes_new(JITSFRAME_ARCH_X86_64, &error);
	struct jitsframe_rows *rows = framed(40);

	CHECK(shapes && error.code == JITSFRAME_OK);
	CHECK(jitsframe_shapes_add(shapes, rows, 40, 5, shape, NULL) == JITSFRAME_OK);
	jitsframe_rows_free(rows);
	return shapes;
}

static void test_shapes(void)
{
	uint32_t shape, again;
	struct jitsframe_shapes *shapes = new_shapes(&shape);
	struct jitsframe_rows *rows = framed(400);

	CHECK(shape != JITSFRAME_NO_SHAPE);
	CHECK(jitsframe_shapes_add(shapes, rows, 400, 99, &again, NULL) == JITSFRAME_OK);
	CHECK(again == shape && jitsframe_shapes_count(shapes) == 1);
	CHECK(jitsframe_shapes_add(shapes, rows, 400, 400, &again, NULL) ==
	      JITSFRAME_INVALID_ARGUMENT);
	CHECK(again == JITSFRAME_NO_SHAPE);
	CHECK(jitsframe_shapes_add(shapes, rows, 40, 5, &again, NULL) == JITSFRAME_INVALID_ROWS);
	CHECK(jitsframe_shapes_add(shapes, NULL, 40, 5, &again, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_shapes_add(shapes, rows, 40, 5, NULL, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_shapes_add(NULL, rows, 40, 5, &again, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_shapes_remove(shapes, shape, NULL) == JITSFRAME_OK);
	CHECK(jitsframe_shapes_remove(shapes, shape, NULL) == JITSFRAME_OK);
	CHECK(jitsframe_shapes_remove(shapes, shape, NULL) == JITSFRAME_NOT_FOUND);
	CHECK(jitsframe_shapes_remove(NULL, shape, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_shapes_count(shapes) == 0 && jitsframe_shapes_count(NULL) == 0);
	jitsframe_rows_free(rows);
	jitsframe_shapes_free(shapes);
	jitsframe_shapes_free(NULL);
}

static struct jitsframe_function_table *new_table(const struct jitsframe_function_entry *entries,
						  uint32_t count, uint32_t maximum,
						  const struct jitsframe_shapes *shapes,
						  struct jitsframe_area *area)
{
	struct jitsframe_function_table *table;
	struct jitsframe_error error;

	CHECK(jitsframe_add_growable_function_table(&table, entries, count, maximum, base,
						    base + 0x1000, shapes, area,
						    &error) == JITSFRAME_OK);
	CHECK(table && error.code == JITSFRAME_OK);
	return table;
}

static void test_table(void)
{
	uint32_t shape;
	struct jitsframe_shapes *shapes = new_shapes(&shape);
	struct jitsframe_function_entry entries[3] = {{0, 64, shape}};
	struct jitsframe_function_table *table = new_table(entries, 1, 3, shapes, NULL);
	struct jitsframe_found found;
	struct jitsframe_error error;

	CHECK(jitsframe_function_table_lookup(table, base + 63, &found, NULL) == JITSFRAME_OK);
	CHECK(found.start == base && found.size == 64 && found.row.cfa.offset == 8);
	entries[1] = (struct jitsframe_function_entry){64, 128, shape};
	entries[2] = (struct jitsframe_function_entry){100, 228, shape};
	CHECK(jitsframe_grow_function_table(table, 3, &error) == JITSFRAME_OVERLAP);
	CHECK(error.at == base + 64);
	CHECK(jitsframe_function_table_lookup(table, base + 64, &found, NULL) == JITSFRAME_NOT_FOUND);
	entries[2].begin = 0xffc;
	entries[2].end = 0x1004;
	CHECK(jitsframe_grow_function_table(table, 3, &error) == JITSFRAME_OUTSIDE_TEXT);
	CHECK(error.at == 2);
	CHECK(jitsframe_grow_function_table(table, 2, &error) == JITSFRAME_OK);
	CHECK(jitsframe_grow_function_table(table, 4, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_function_table_lookup(table, base + 100, &found, NULL) == JITSFRAME_OK);
	CHECK(found.row.cfa.reg == rsp && found.row.cfa.offset == 48);
	CHECK(jitsframe_retire_function(table, 0, NULL) == JITSFRAME_OK);
	CHECK(jitsframe_retire_function(table, 0, NULL) == JITSFRAME_NOT_FOUND);
	CHECK(jitsframe_function_table_lookup(table, base, &found, NULL) == JITSFRAME_NOT_FOUND);
	CHECK(jitsframe_function_table_status(table).why[0] != '\0');
	jitsframe_delete_growable_function_table(table);
	jitsframe_shapes_free(shapes);
}

/* In the caller's area: it outlives the table, and says that nothing is left. */
static void test_shared_area(void)
{
	uint32_t shape;
	struct jitsframe_shapes *shapes = new_shapes(&shape);
	const struct jitsframe_function_entry entries[] = {{0, 64, shape}, {64, 128, shape}};
	struct jitsframe_options options;
	struct jitsframe_area *area;
	struct jitsframe_function_table *table;
	struct jitsframe_found found;

	jitsframe_options_init(&options, sizeof(options));
	options.text_start = base;
	options.text_size = 0x1000;
	options.arch = JITSFRAME_ARCH_X86_64;
	area = jitsframe_area_new(&options, NULL);
	CHECK(area);
	table = new_table(entries, 2, 2, shapes, area);
	CHECK(jitsframe_lookup(area, base + 70, &found, NULL) == JITSFRAME_OK);
	CHECK(found.start == base + 64);
	jitsframe_delete_growable_function_table(table);
	CHECK(jitsframe_lookup(area, base + 70, &found, NULL) == JITSFRAME_NOT_FOUND);
	jitsframe_area_free(area);
	jitsframe_shapes_free(shapes);
}

static void test_null(void)
{
	struct jitsframe_function_table *table = NULL;
	struct jitsframe_shapes *shapes = jitsframe_shapes_new(JITSFRAME_ARCH_HOST, NULL);
	const struct jitsframe_function_entry entry = {0, 64, 1};
	struct jitsframe_found found;

	CHECK(jitsframe_add_growable_function_table(NULL, &entry, 0, 1, base, base + 64, shapes, NULL,
						    NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_add_growable_function_table(&table, NULL, 0, 1, base, base + 64, shapes, NULL,
						    NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_add_growable_function_table(&table, &entry, 0, 1, base, base + 64, NULL, NULL,
						    NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(!table);
	CHECK(jitsframe_grow_function_table(NULL, 1, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_retire_function(NULL, 1, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_function_table_lookup(NULL, base, &found, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_function_table_status(NULL).registration == JITSFRAME_NOT_ASKED);
	jitsframe_delete_growable_function_table(NULL);
	jitsframe_shapes_free(shapes);
}

int main(void)
{
	test_shapes();
	test_table();
	test_shared_area();
	test_null();
	return 0;
}
