// SPDX-License-Identifier: GPL-2.0
/*
 * Plain SFrame sections, as a linker makes them, registered as they are: each
 * encoding of starts, and one section for text that lies elsewhere each time.
 */
#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

#define LEVELS		10
#define SPIN		20
#define SAMPLES		800
#define SECONDS		60
#define SECTION_SIZE	(64UL << 10)

FIXTURE(static_area) {
	struct jit jit;
	struct verdicts verdicts;
	struct section sec;
	__u8 *memory;
};

FIXTURE_VARIANT(static_area) {
	enum start_encoding encoding;
	bool deferred;
};

FIXTURE_VARIANT_ADD(static_area, from_section_immediate) {
	.encoding = START_SECTION, .deferred = false,
};

FIXTURE_VARIANT_ADD(static_area, from_section_deferred) {
	.encoding = START_SECTION, .deferred = true,
};

FIXTURE_VARIANT_ADD(static_area, from_field_immediate) {
	.encoding = START_PCREL, .deferred = false,
};

FIXTURE_VARIANT_ADD(static_area, from_field_deferred) {
	.encoding = START_PCREL, .deferred = true,
};

FIXTURE_VARIANT_ADD(static_area, from_text_immediate) {
	.encoding = START_TEXT, .deferred = false,
};

FIXTURE_VARIANT_ADD(static_area, from_text_deferred) {
	.encoding = START_TEXT, .deferred = true,
};

FIXTURE_SETUP(static_area)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, jit_init(&self->jit, 0));
	jit_emit(&self->jit, code_shapes, code_nr_shapes, LEVELS, SPIN);
	self->memory = mmap(NULL, SECTION_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);

	/* Linkers align sections to 8, yet the index needs no more than 4. */
	self->sec.base = self->memory + 4;
	self->sec.size = SECTION_SIZE - 4;
	self->sec.capacity = code_nr_shapes;
	self->sec.encoding = variant->encoding;
	self->sec.origin = (__u64)self->jit.text;
	section_begin(&self->sec);
}

FIXTURE_TEARDOWN(static_area)
{
	if (self->memory)
		munmap(self->memory, SECTION_SIZE);
	if (self->jit.text)
		jit_destroy(&self->jit);
}

static struct jit_sframe_register registration(const struct section *sec,
					       const __u8 *text)
{
	struct jit_sframe_register reg = {
		.area = (__u64)sec->base,
		.area_size = section_len(sec),
		.text_start = (__u64)text,
		.text_size = JIT_TEXT_SIZE,
		.flags = JIT_SFRAME_STATIC | JIT_SFRAME_NO_FP_FALLBACK |
			 (sec->encoding == START_TEXT ?
			  JIT_SFRAME_TEXT_RELATIVE : 0),
	};

	return reg;
}

static int append_all(struct _test_data_static_area *self)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < self->jit.nr_fns; i++)
		ret = section_append(&self->sec, &self->jit.fns[i]);
	return ret;
}

TEST_F_TIMEOUT(static_area, section, 300)
{
	struct jit_sframe_register reg;

	ASSERT_EQ(0, append_all(self));
	mprotect(self->memory, SECTION_SIZE, PROT_READ);
	reg = registration(&self->sec, self->jit.text);
	ASSERT_EQ(0, jit_sframe_register(&reg));
	ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts, variant->deferred,
				SAMPLES, SECONDS));
	expect_exact(_metadata, &self->verdicts, SAMPLES);
}

/* More rows than a live area's function may have: one for each byte. */
TEST_F_TIMEOUT(static_area, many_rows, 300)
{
	struct function *fn = &self->jit.fns[1];
	struct row rows[MAX_ROWS];
	struct jit_sframe_register reg;
	unsigned int i, row = 0;

	ASSERT_LE(fn->size, MAX_ROWS);
	for (i = 0; i < fn->size; i++) {
		if (row + 1 < fn->nr_rows && fn->rows[row + 1].start == i)
			row++;
		rows[i] = fn->rows[row];
		rows[i].start = i;
	}
	fn->nr_rows = fn->size;
	memcpy(fn->rows, rows, fn->nr_rows * sizeof(*rows));
	ASSERT_LT(JIT_SFRAME_MAX_LIVE_ROWS, fn->nr_rows);

	ASSERT_EQ(0, append_all(self));
	reg = registration(&self->sec, self->jit.text);
	ASSERT_EQ(0, jit_sframe_register(&reg));
	ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts, variant->deferred,
				SAMPLES, SECONDS));
	expect_exact(_metadata, &self->verdicts, SAMPLES);
}

/*
 * The same bytes, mapped again, describe a second copy of the text: anywhere if
 * starts count from the text, else at the same distance from it.
 */
TEST_F_TIMEOUT(static_area, text_elsewhere, 300)
{
	struct jit_sframe_register reg;
	struct section copy = self->sec;
	__u8 *memory;
	struct jit other;

	ASSERT_EQ(0, append_all(self));
	ASSERT_EQ(0, jit_init(&other, 0));
	jit_emit(&other, code_shapes, code_nr_shapes, LEVELS, SPIN);
	memory = other.text + (self->memory - (__u8 *)self->jit.text);
	if (variant->encoding == START_TEXT)
		memory -= 16 * SECTION_SIZE;
	memory = mmap(memory, SECTION_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE |
		      MAP_FIXED_NOREPLACE, -1, 0);
	if (memory == MAP_FAILED)
		SKIP(return, "the address for the copy is taken");
	memcpy(memory, self->memory, SECTION_SIZE);
	copy.base = memory + 4;

	reg = registration(&self->sec, self->jit.text);
	ASSERT_EQ(0, jit_sframe_register(&reg));
	reg = registration(&copy, other.text);
	ASSERT_EQ(0, jit_sframe_register(&reg));
	ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts, variant->deferred,
				SAMPLES, SECONDS));
	expect_exact(_metadata, &self->verdicts, SAMPLES);
	ASSERT_EQ(0, jit_sample(&other, &self->verdicts, variant->deferred,
				SAMPLES, SECONDS));
	expect_exact(_metadata, &self->verdicts, SAMPLES);
	munmap(memory, SECTION_SIZE);
	jit_destroy(&other);
}

TEST_HARNESS_MAIN
