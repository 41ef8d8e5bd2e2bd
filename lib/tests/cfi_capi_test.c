/* SPDX-License-Identifier: MIT */
/* An .eh_frame in C: what is described is published, what is not has a reason, what is broken an offset. */
#include <jitsframe/jitsframe.h>

#include <stdio.h>
#include <string.h>

#define TEXT 0x10000000

static int failures;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("line %d: %s\n", __LINE__, #condition); \
			failures++; \
		} \
	} while (0)

/* zR with absolute addresses; push %rbp at 1, and at 4 a frame pointer that nobody can give back. */
static const unsigned char section[] = {
	24, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0,
	0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
	28, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0,
	0, 0x41, 0x0e, 16, 0x43, 0x07, 6, 0,
	0, 0, 0, 0,
};

struct seen {
	struct jitsframe_area *area;
	unsigned int parts, gaps;
	uint64_t bytes;
	bool stop;
};

static bool visit(void *context, const struct jitsframe_cfi_part *part)
{
	struct seen *seen = context;

	seen->parts++;
	seen->bytes += part->size;
	if (part->rows) {
		CHECK(part->reason == JITSFRAME_CFI_DESCRIBED);
		CHECK(!jitsframe_publish(seen->area, part->start, part->size, part->rows, NULL));
	} else {
		CHECK(part->reason == JITSFRAME_CFI_FP_UNDEFINED);
		seen->gaps++;
	}
	return !seen->stop;
}

int main(void)
{
	struct jitsframe_options options;
	struct jitsframe_cfi_section cfi = {
		.bytes = section, .size = sizeof(section), .address = 0x1000, .arch = JITSFRAME_ARCH_X86_64,
	};
	struct jitsframe_error error;
	struct jitsframe_found found;
	struct seen seen = {0};

	jitsframe_options_init(&options, sizeof(options));
	options.text_start = TEXT;
	options.text_size = 4096;
	options.arch = JITSFRAME_ARCH_X86_64;
	options.register_with_kernel = false;
	seen.area = jitsframe_area_new(&options, &error);
	CHECK(seen.area);

	CHECK(!jitsframe_rows_from_cfi(&cfi, visit, &seen, &error));
	CHECK(seen.parts == 2 && seen.gaps == 1 && seen.bytes == 64);
	CHECK(!jitsframe_lookup(seen.area, TEXT + 3, &found, NULL));
	CHECK(found.row.cfa.offset == 16 && found.size == 4);
	CHECK(jitsframe_lookup(seen.area, TEXT + 4, &found, NULL) == JITSFRAME_NOT_FOUND);

	CHECK(!jitsframe_retire(seen.area, TEXT, NULL));
	seen.stop = true;
	seen.parts = 0;
	CHECK(!jitsframe_rows_from_cfi(&cfi, visit, &seen, &error) && seen.parts == 1);

	cfi.size = 40;
	CHECK(jitsframe_rows_from_cfi(&cfi, visit, &seen, &error) == JITSFRAME_MALFORMED);
	CHECK(error.at == 28);
	CHECK(jitsframe_rows_from_cfi(NULL, visit, &seen, &error) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(jitsframe_rows_from_cfi(&cfi, NULL, &seen, &error) == JITSFRAME_INVALID_ARGUMENT);
	CHECK(strstr(jitsframe_cfi_reason_text(JITSFRAME_CFI_FP_UNDEFINED), "FP"));
	jitsframe_area_free(seen.area);
	return failures ? 1 : 0;
}
