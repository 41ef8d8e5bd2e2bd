/* SPDX-License-Identifier: MIT */
/* The C API from C11: every function, every error code it can give. */
#include <jitsframe/jitsframe.h>

#include "check.h"

#include <stdio.h>
#include <string.h>

enum { rbp = 6, rsp = 7, x29 = 29, sp = 31 };

static const uint64_t text = 0x7e0000000000;

static struct jitsframe_area *new_area(enum jitsframe_arch arch)
{
	struct jitsframe_options options;
	struct jitsframe_error error;
	struct jitsframe_area *area;

	jitsframe_options_init(&options, sizeof(options));
	options.text_start = text;
	options.text_size = 1 << 20;
	options.owner = "capi_test";
	options.arch = arch;
	area = jitsframe_area_new(&options, &error);
	CHECK(area && error.code == JITSFRAME_OK);
	return area;
}

static struct jitsframe_found find(struct jitsframe_area *area, uint64_t pc)
{
	struct jitsframe_found found;

	CHECK(jitsframe_lookup(area, pc, &found, NULL) == JITSFRAME_OK);
	return found;
}

static void test_options(void)
{
	struct jitsframe_options options;
	struct jitsframe_error error;
	char why[200];

	jitsframe_options_init(&options, sizeof(options));
	CHECK(!jitsframe_area_new(&options, &error));
	CHECK(error.code == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_error_format(&error, why, sizeof(why)) == strlen(why));
	CHECK(strstr(why, "text"));
	options.text_size = 1;
	options.frame_reg = 0x10000;
	CHECK(!jitsframe_area_new(&options, &error));
	options.struct_size = 0;
	CHECK(!jitsframe_area_new(&options, &error));
	CHECK(!jitsframe_area_new(NULL, NULL));
}

/* The options as 0.1 has them, whatever is added to them later: this is never changed. */
struct options_of_0_1 {
	size_t struct_size;
	uint64_t text_start;
	uint64_t text_size;
	uint64_t reserve_bytes;
	uint32_t initial_functions;
	uint32_t frame_reg;
	const char *owner;
	enum jitsframe_arch arch;
	bool several_producers;
	bool fp_fallback;
	bool register_with_kernel;
};

/* Options of programs older and newer than the library; what lies behind them is somebody else's. */
union sized_options {
	struct jitsframe_options now;
	struct options_of_0_1 first;
	unsigned char bytes[8192];
};

static bool all_bytes(const unsigned char *bytes, size_t count, unsigned char wanted)
{
	while (count)
		if (bytes[--count] != wanted)
			return false;
	return true;
}

static enum jitsframe_code code_of_new(const union sized_options *options)
{
	struct jitsframe_error error;
	struct jitsframe_area *area = jitsframe_area_new(&options->now, &error);

	CHECK(!area == (error.code != JITSFRAME_OK));
	jitsframe_area_free(area);
	return error.code;
}

static void init_sized(union sized_options *options, size_t size)
{
	memset(options, 0xa5, sizeof(*options));
	jitsframe_options_init(&options->now, size);
	CHECK(options->now.struct_size == size);
	CHECK(all_bytes(options->bytes + size, sizeof(*options) - size, 0xa5));
	options->first.text_start = text;
	options->first.text_size = 1 << 20;
}

static void test_options_of_an_older_program(void)
{
	union sized_options options;

	init_sized(&options, sizeof(struct options_of_0_1));
	CHECK(options.first.reserve_bytes == 64 << 20 && options.first.initial_functions == 256);
	CHECK(options.first.frame_reg == JITSFRAME_NO_FRAME_REG && !options.first.owner);
	CHECK(options.first.arch == JITSFRAME_ARCH_HOST && !options.first.several_producers);
	CHECK(options.first.fp_fallback && options.first.register_with_kernel);
	CHECK(code_of_new(&options) == JITSFRAME_OK);
	/* No header ever had one as small as this. */
	options.first.struct_size--;
	CHECK(code_of_new(&options) == JITSFRAME_INVALID_ARGUMENT);
	memset(&options, 0xa5, sizeof(options));
	jitsframe_options_init(&options.now, sizeof(struct options_of_0_1) - 1);
	CHECK(all_bytes(options.bytes, sizeof(options), 0xa5));
}

static void test_options_of_a_newer_program(void)
{
	const size_t known = sizeof(struct jitsframe_options);
	union sized_options options;

	init_sized(&options, known + 24);
	CHECK(all_bytes(options.bytes + known, 24, 0));
	CHECK(code_of_new(&options) == JITSFRAME_OK);
	options.bytes[known + 23] = 1;
	CHECK(code_of_new(&options) == JITSFRAME_UNSUPPORTED);
	options.bytes[known + 23] = 0;
	options.bytes[known] = 1;
	CHECK(code_of_new(&options) == JITSFRAME_UNSUPPORTED);
	/* The byte behind is not asked for. */
	options.now.struct_size = known;
	CHECK(code_of_new(&options) == JITSFRAME_OK);
	init_sized(&options, 4096);
	CHECK(code_of_new(&options) == JITSFRAME_OK);
	options.now.struct_size++;
	options.bytes[4096] = 0;
	CHECK(code_of_new(&options) == JITSFRAME_INVALID_ARGUMENT);
}

static void test_status(void)
{
	struct jitsframe_area *area = new_area(JITSFRAME_ARCH_HOST);
	struct jitsframe_status status = jitsframe_area_status(area);

	CHECK(status.registration == JITSFRAME_REGISTERED ||
	      status.registration == JITSFRAME_KERNEL_LACKS ||
	      status.registration == JITSFRAME_BLOCKED);
	CHECK(status.why[0]);
	CHECK(!memcmp(jitsframe_area_address(area), "JSFA", 4));
	CHECK(jitsframe_area_size(area) == 64 << 20);
	jitsframe_area_free(area);
}

static void test_moves(void)
{
	struct jitsframe_area *area = new_area(JITSFRAME_ARCH_X86_64);
	struct jitsframe_rows *rows = jitsframe_rows_new(JITSFRAME_ARCH_X86_64);
	struct jitsframe_rows *leaf = jitsframe_rows_new(JITSFRAME_ARCH_X86_64);
	struct jitsframe_publication both[] = {{text + 256, 64, rows}, {text + 512, 64, leaf}};
	struct jitsframe_error error;
	struct jitsframe_found found;

	jitsframe_rows_push(rows, 1, rbp);
	jitsframe_rows_set_fp(rows, 4, 0);
	jitsframe_rows_remember(rows);
	jitsframe_rows_pop(rows, 20, rbp);
	jitsframe_rows_recall(rows, 21);
	CHECK(jitsframe_rows_error(rows, &error) == JITSFRAME_OK);

	CHECK(jitsframe_publish(area, text, 64, rows, &error) == JITSFRAME_OK);
	found = find(area, text + 30);
	CHECK(found.start == text && found.size == 64 && !found.signal);
	CHECK(found.row.cfa.base == JITSFRAME_BASE_REG && found.row.cfa.reg == rbp);
	CHECK(found.row.cfa.offset == 16 && found.row.fp.offset == -16 && found.row.fp.deref);
	CHECK(find(area, text + 20).row.cfa.reg == rsp);

	CHECK(jitsframe_publish(area, text + 8, 32, rows, &error) == JITSFRAME_OVERLAP);
	CHECK(error.at == text);
	CHECK(jitsframe_publish(area, text - 8, 8, leaf, &error) == JITSFRAME_OUTSIDE_TEXT);
	CHECK(jitsframe_publish(area, text + 64, 8, rows, &error) == JITSFRAME_INVALID_ROWS);
	CHECK(jitsframe_publish(area, text + 64, 0, leaf, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_replace(area, text, 32, leaf, &error) == JITSFRAME_OK);
	CHECK(find(area, text + 30).row.cfa.offset == 8);
	CHECK(jitsframe_replace(area, text + 64, 32, leaf, &error) == JITSFRAME_NOT_FOUND);

	CHECK(jitsframe_publish_all(area, both, 2, &error) == JITSFRAME_OK);
	CHECK(jitsframe_publish_all(area, both, 2, &error) == JITSFRAME_OVERLAP);
	CHECK(find(area, text + 512).row.cfa.offset == 8);
	CHECK(jitsframe_retire(area, text, &error) == JITSFRAME_OK);
	CHECK(jitsframe_retire(area, text, &error) == JITSFRAME_NOT_FOUND);
	CHECK(jitsframe_lookup(area, text + 30, &found, &error) == JITSFRAME_NOT_FOUND);
	CHECK(jitsframe_retire_range(area, text, 1 << 20) == 2);

	jitsframe_rows_free(rows);
	jitsframe_rows_free(leaf);
	jitsframe_area_free(area);
}

static void test_every_row(void)
{
	struct jitsframe_area *area = new_area(JITSFRAME_ARCH_AARCH64);
	struct jitsframe_rows *rows = jitsframe_rows_new(JITSFRAME_ARCH_AARCH64);
	const struct jitsframe_row flexible = {
		.offset = 0,
		.cfa = {JITSFRAME_BASE_REG, true, 10, 8},
		.ra = {JITSFRAME_BASE_CFA, true, 0, -8},
		.fp = {JITSFRAME_BASE_REG, false, 9, 0},
	};
	struct jitsframe_found found;

	jitsframe_rows_sign_ra(rows, 4, true);
	jitsframe_rows_move_sp(rows, 8, -32);
	jitsframe_rows_save_fp(rows, 8, 0);
	jitsframe_rows_save_ra(rows, 8, 8);
	jitsframe_rows_restore_fp(rows, 12);
	jitsframe_rows_restore_ra(rows, 12);
	jitsframe_rows_cfa_from_sp(rows, 16, 64);
	jitsframe_rows_entry(rows, 20);
	jitsframe_rows_outermost(rows, 24);
	jitsframe_rows_signal(rows, true);
	jitsframe_rows_pauth_key_b(rows, true);
	CHECK(jitsframe_publish(area, text, 64, rows, NULL) == JITSFRAME_OK);
	found = find(area, text + 8);
	CHECK(found.signal && found.pauth_key_b && found.row.ra_signed);
	CHECK(found.row.cfa.reg == sp && found.row.cfa.offset == 32);
	CHECK(found.row.ra.offset == -24 && found.row.fp.offset == -32);
	CHECK(find(area, text + 12).row.ra.base == JITSFRAME_BASE_NONE);
	CHECK(find(area, text + 16).row.cfa.offset == 64);
	CHECK(find(area, text + 20).row.cfa.offset == 0);
	CHECK(find(area, text + 24).row.outermost);

	jitsframe_rows_clear_all(rows);
	jitsframe_rows_row(rows, &flexible);
	CHECK(jitsframe_publish(area, text + 64, 64, rows, NULL) == JITSFRAME_OK);
	found = find(area, text + 64);
	CHECK(!found.signal && found.row.cfa.deref && found.row.cfa.reg == 10);
	CHECK(found.row.ra.offset == -8 && found.row.fp.reg == 9 && !found.row.fp.deref);

	jitsframe_rows_clear(rows);
	jitsframe_rows_move_sp(rows, 4, -16);
	jitsframe_rows_repeat_block(rows, 16);
	CHECK(jitsframe_publish(area, text + 128, 64, rows, NULL) == JITSFRAME_OK);
	CHECK(find(area, text + 128 + 33).row.cfa.offset == 0);
	CHECK(find(area, text + 128 + 37).row.cfa.offset == 16);

	jitsframe_rows_free(rows);
	jitsframe_area_free(area);
}

/* A cold part elsewhere, and a frame in which SP is lost and found. */
static void test_cold_part(void)
{
	struct jitsframe_area *area = new_area(JITSFRAME_ARCH_X86_64);
	struct jitsframe_rows *hot = jitsframe_rows_new(JITSFRAME_ARCH_X86_64);
	struct jitsframe_rows *cold = jitsframe_rows_new(JITSFRAME_ARCH_X86_64);

	jitsframe_rows_push(hot, 1, rbp);
	jitsframe_rows_set_fp(hot, 4, 0);
	jitsframe_rows_lose_sp(hot);
	jitsframe_rows_continue_from(cold, hot);
	jitsframe_rows_continue_from(cold, NULL);
	jitsframe_rows_move_sp(cold, 3, -64);
	jitsframe_rows_sp_from_fp(cold, 7, -8);
	jitsframe_rows_move_sp(cold, 9, 8);
	jitsframe_rows_pop(cold, 10, rbp);
	CHECK(jitsframe_publish(area, text + 512, 32, cold, NULL) == JITSFRAME_OK);
	CHECK(find(area, text + 512).row.cfa.reg == rbp);
	CHECK(find(area, text + 512 + 9).row.fp.offset == -16);
	CHECK(find(area, text + 512 + 10).row.cfa.reg == rsp);
	CHECK(find(area, text + 512 + 10).row.cfa.offset == 8);
	jitsframe_rows_save_fp(hot, 20, 0);
	CHECK(jitsframe_rows_error(hot, NULL) == JITSFRAME_INVALID_ROWS);
	jitsframe_rows_free(cold);
	jitsframe_rows_free(hot);
	jitsframe_area_free(area);
}

static void test_null_handles(void)
{
	struct jitsframe_area *area = new_area(JITSFRAME_ARCH_HOST);
	struct jitsframe_rows *rows = jitsframe_rows_new(JITSFRAME_ARCH_HOST);
	struct jitsframe_publication one = {text, 64, NULL};
	struct jitsframe_error error;
	struct jitsframe_found found;

	CHECK(jitsframe_publish(NULL, text, 64, rows, &error) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_publish(area, text, 64, NULL, &error) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_publish_all(area, NULL, 1, &error) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_publish_all(area, &one, 1, &error) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_publish_all(area, NULL, 0, &error) == JITSFRAME_OK);
	CHECK(jitsframe_replace(NULL, text, 64, rows, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_retire(NULL, text, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_lookup(NULL, text, &found, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_lookup(area, text, NULL, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_rows_error(NULL, NULL) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_retire_range(NULL, text, 64) == 0);
	CHECK(!jitsframe_area_address(NULL) && !jitsframe_area_size(NULL));
	CHECK(jitsframe_area_status(NULL).registration == JITSFRAME_NOT_ASKED);
	jitsframe_rows_push(NULL, 1, 0);
	jitsframe_rows_row(rows, NULL);
	jitsframe_rows_free(NULL);
	jitsframe_area_free(NULL);
	jitsframe_rows_recall(rows, 4);
	CHECK(jitsframe_rows_error(rows, &error) == JITSFRAME_INVALID_ROWS && error.at == 4);
	CHECK(jitsframe_publish(area, text, 64, rows, NULL) == JITSFRAME_INVALID_ROWS);
	jitsframe_rows_free(rows);
	jitsframe_area_free(area);
}

int main(void)
{
	test_options();
	test_options_of_an_older_program();
	test_options_of_a_newer_program();
	test_status();
	test_moves();
	test_every_row();
	test_cold_part();
	test_null_handles();
	puts("C API: ok");
	return 0;
}
