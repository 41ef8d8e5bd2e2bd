// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the SFrame lookup: sections written out byte by byte.
 */
#include <kunit/test.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "sframe.h"

/* Here a section is kernel memory, and reading past it is a test failure. */
static u64 readable_end;

static int read_bytes(void *dst, u64 address, size_t len)
{
	if (address + len > readable_end)
		return -EFAULT;
	memcpy(dst, (const void *)(unsigned long)address, len);
	return 0;
}

#define SFRAME_READ(sec, dst, off, len)				\
	read_bytes(dst, (sec)->base + (off), len)
#define SFRAME_READ_ACQUIRE_U32(sec, dst, off)				\
	read_bytes(dst, (sec)->base + (off), sizeof(u32))
#define SFRAME_READ_ACQUIRE_U64(sec, dst, off)				\
	read_bytes(dst, (sec)->base + (off), sizeof(u64))

#include "sframe_lookup.h"

#define TEXT		0x400000ULL
#define MAX_FDES	4
#define ROWS_SIZE	256

/* A section as a writer lays it out: header, padding, index, rows. */
struct test_section {
	struct sframe_header header;
	u8 padding[4];
	struct sframe_func_desc_idx index[MAX_FDES];
	u8 rows[ROWS_SIZE];
} __aligned(8);

struct lookup_test {
	struct test_section bytes;
	struct sframe_section sec;
};

static void section_init(struct lookup_test *t, u8 abi)
{
	memset(t, 0, sizeof(*t));
	t->bytes.header = (struct sframe_header) {
		.sfp_magic = SFRAME_MAGIC,
		.sfp_version = SFRAME_VERSION_3,
		.sfp_flags = SFRAME_F_FDE_SORTED,
		.sfh_abi_arch = abi,
		.sfh_cfa_fixed_ra_offset =
			abi == SFRAME_ABI_AMD64_ENDIAN_LITTLE ? -8 : 0,
		.sfh_fdeoff = sizeof(t->bytes.padding),
		.sfh_freoff = sizeof(t->bytes.padding) + sizeof(t->bytes.index),
	};
	t->sec = (struct sframe_section) {
		.base = (unsigned long)&t->bytes,
		.address = 0,
		.size = sizeof(t->bytes),
		.max_rows = 64,
		.abi_arch = abi,
		.live = true,
	};
	readable_end = t->sec.base + t->sec.size;
}

static void add_fde(struct lookup_test *t, u64 start, u32 size, const u8 *rows,
		    u32 len)
{
	struct sframe_header *header = &t->bytes.header;

	t->bytes.index[header->sfh_num_fdes++] = (struct sframe_func_desc_idx) {
		.sfdi_func_start_offset = start,
		.sfdi_func_size = size,
		.sfdi_func_start_fre_off = header->sfh_fre_len,
	};
	memcpy(t->bytes.rows + header->sfh_fre_len, rows, len);
	header->sfh_fre_len += len;
}

#define ADD_FDE(t, start, size, ...)					\
do {									\
	static const u8 rows_[] = { __VA_ARGS__ };			\
									\
	add_fde(t, start, size, rows_, sizeof(rows_));			\
} while (0)

static int lookup(struct lookup_test *t, u64 pc, struct sframe_row *row)
{
	int ret = sframe_section_open(&t->sec);

	return ret ?: sframe_lookup(&t->sec, pc, row);
}

static void expect_rule(struct kunit *test, const struct sframe_rule *rule,
			enum sframe_rule_kind kind, u8 reg, s32 offset)
{
	KUNIT_EXPECT_EQ(test, rule->kind, kind);
	KUNIT_EXPECT_EQ(test, rule->reg, reg);
	KUNIT_EXPECT_EQ(test, rule->offset, offset);
}

/* push %rbp; mov %rsp,%rbp; ...: the rows that gas makes of it */
static void add_prologue(struct lookup_test *t, u64 start, u32 size)
{
	ADD_FDE(t, start, size, 3, 0, 0, 0, 0,
		0, 0x03, 8,
		1, 0x05, 16, 0xf0,
		4, 0x04, 16, 0xf0);
}

static struct lookup_test *amd64(struct kunit *test)
{
	struct lookup_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	section_init(t, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
	return t;
}

static struct lookup_test *arm64(struct kunit *test)
{
	struct lookup_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	section_init(t, SFRAME_ABI_AARCH64_ENDIAN_LITTLE);
	return t;
}

static void test_default_amd64(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	add_prologue(t, TEXT, 32);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 8);
	expect_rule(test, &row.ra, SFRAME_RULE_CFA_DEREF, 0, -8);
	expect_rule(test, &row.fp, SFRAME_RULE_UNCHANGED, 0, 0);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 3, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 16);
	expect_rule(test, &row.fp, SFRAME_RULE_CFA_DEREF, 0, -16);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 31, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 6, 16);
	KUNIT_EXPECT_FALSE(test, row.outermost);
	KUNIT_EXPECT_FALSE(test, row.signal);
}

static void test_default_arm64(struct kunit *test)
{
	struct lookup_test *t = arm64(test);
	struct sframe_row row;

	ADD_FDE(t, TEXT, 32, 2, 0, SFRAME_FDE_PAUTH_KEY_B, 0, 0,
		0, 0x03, 0,
		4, 0x87, 32, 0xe8, 0xe0);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 31, 0);
	expect_rule(test, &row.ra, SFRAME_RULE_UNCHANGED, 0, 0);
	KUNIT_EXPECT_FALSE(test, row.ra_mangled);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 4, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 31, 32);
	expect_rule(test, &row.ra, SFRAME_RULE_CFA_DEREF, 0, -24);
	expect_rule(test, &row.fp, SFRAME_RULE_CFA_DEREF, 0, -32);
	KUNIT_EXPECT_TRUE(test, row.ra_mangled);
	KUNIT_EXPECT_TRUE(test, row.pauth_key_b);
}

/* A frame whose CFA is in memory, as stack realignment leaves it */
static void test_flexible(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	ADD_FDE(t, TEXT, 32, 2, 0, 0, SFRAME_FDE_TYPE_FLEX, 0,
		0, 0x0a, 0x33, 0xf8, 0, 0x33, 0,
		8, 0x0c, 0x51, 0, 0x02, 0xf0, 0x19, 4);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG_DEREF, 6, -8);
	expect_rule(test, &row.ra, SFRAME_RULE_CFA_DEREF, 0, -8);
	expect_rule(test, &row.fp, SFRAME_RULE_REG_DEREF, 6, 0);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 8, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 10, 0);
	expect_rule(test, &row.ra, SFRAME_RULE_CFA_DEREF, 0, -16);
	expect_rule(test, &row.fp, SFRAME_RULE_REG, 3, 4);
}

static void test_pc_mask(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	ADD_FDE(t, TEXT, 64, 2, 0, SFRAME_FDE_PCTYPE_MASK, 0, 16,
		0, 0x03, 8,
		11, 0x03, 16);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 32 + 10, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 8);
	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 48 + 11, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 16);

	t->bytes.rows[4] = 0;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
}

/* Row starts of 1, 2 and 4 bytes; data words of 1, 2 and 4 bytes */
static void test_widths(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	ADD_FDE(t, TEXT, 0x10, 1, 0, SFRAME_FRE_TYPE_ADDR1, 0, 0,
		0, 0x23, 0x08, 0x01);
	ADD_FDE(t, TEXT + 0x10, 0x1000, 2, 0, SFRAME_FRE_TYPE_ADDR2, 0, 0,
		0, 0, 0x03, 8,
		0x00, 0x08, 0x43, 0x00, 0x00, 0x01, 0x00);
	ADD_FDE(t, TEXT + 0x2000, 0x200000, 1, 0, SFRAME_FRE_TYPE_ADDR4, 0, 0,
		0x00, 0x00, 0x10, 0x00, 0x03, 24);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 5, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 264);
	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 0x10 + 0x7ff, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 8);
	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 0x10 + 0x800, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 0x10000);
	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 0x2000 + 0x100000, &row), 0);
	expect_rule(test, &row.cfa, SFRAME_RULE_REG, 7, 24);
	/* Before the first row of a function nothing is said. */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + 0x2000, &row), -ENOENT);
}

static void test_start_encodings(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	u64 entry = offsetof(struct test_section, index);
	struct sframe_row row;

	add_prologue(t, 0x1000, 16);

	t->sec.address = TEXT;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + 0x1000, &row), 0);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + 0x1000 + 16, &row), -ENOENT);

	t->bytes.header.sfp_flags |= SFRAME_F_FDE_FUNC_START_PCREL;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + entry + 0x1000, &row), 0);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + entry + 0xfff, &row), -ENOENT);

	/* Where starts count from the text, the section's place says nothing. */
	t->sec.text_relative = true;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + 0x1000, &row), -EINVAL);
}

static void test_outermost_and_signal(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	ADD_FDE(t, TEXT, 16, 0, 0, 0, 0, 0);
	ADD_FDE(t, TEXT + 16, 16, 2, 0, 0, 0, 0,
		0, 0x03, 8,
		4, 0x00);
	ADD_FDE(t, TEXT + 32, 16, 1, 0, SFRAME_FDE_SIGNAL, 0, 0,
		0, 0x03, 8);

	KUNIT_ASSERT_EQ(test, lookup(t, TEXT, &row), 0);
	KUNIT_EXPECT_TRUE(test, row.outermost);
	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 16, &row), 0);
	KUNIT_EXPECT_FALSE(test, row.outermost);
	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 20, &row), 0);
	KUNIT_EXPECT_TRUE(test, row.outermost);
	KUNIT_ASSERT_EQ(test, lookup(t, TEXT + 32, &row), 0);
	KUNIT_EXPECT_TRUE(test, row.signal);
}

static void test_tombstone(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	add_prologue(t, TEXT, 16);
	add_prologue(t, TEXT + 16, 16);

	t->bytes.index[0].sfdi_func_size = 0;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -ENOENT);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + 15, &row), -ENOENT);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + 16, &row), 0);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT - 1, &row), -ENOENT);
}

static void test_row_limit(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	ADD_FDE(t, TEXT, 16, 65, 0, 0, 0, 0, 0, 0x03, 8);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -E2BIG);
	t->sec.max_rows = 2;
	t->bytes.rows[0] = 3;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -E2BIG);
}

/* A header's field, its size and a value that no reader may take */
static const struct {
	u8 offset;
	u8 size;
	u32 value;
} bad_header_fields[] = {
	{ offsetof(struct sframe_header, sfp_magic), 2, 0xe2de },
	{ offsetof(struct sframe_header, sfp_version), 1, 2 },
	{ offsetof(struct sframe_header, sfp_flags), 1, 0 },
	{ offsetof(struct sframe_header, sfp_flags), 1, 0x81 },
	{ offsetof(struct sframe_header, sfh_abi_arch), 1,
	  SFRAME_ABI_AARCH64_ENDIAN_LITTLE },
	{ offsetof(struct sframe_header, sfh_auxhdr_len), 1, 1 },
	{ offsetof(struct sframe_header, sfh_num_fdes), 4, U32_MAX },
	{ offsetof(struct sframe_header, sfh_fre_len), 4, U32_MAX },
	{ offsetof(struct sframe_header, sfh_fre_len), 4, 4 },
	{ offsetof(struct sframe_header, sfh_fdeoff), 4, 0 },
	{ offsetof(struct sframe_header, sfh_fdeoff), 4, 0xfffffffc },
	{ offsetof(struct sframe_header, sfh_freoff), 4, U32_MAX },
	/* No return address anywhere */
	{ offsetof(struct sframe_header, sfh_cfa_fixed_ra_offset), 1, 0 },
};

static void test_malformed_header(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_header good;
	struct sframe_row row;
	u32 i;

	add_prologue(t, TEXT, 16);
	good = t->bytes.header;

	for (i = 0; i < ARRAY_SIZE(bad_header_fields); i++) {
		memcpy((u8 *)&t->bytes.header + bad_header_fields[i].offset,
		       &bad_header_fields[i].value, bad_header_fields[i].size);
		KUNIT_EXPECT_EQ_MSG(test, lookup(t, TEXT, &row), -EINVAL,
				    "%#x at offset %u",
				    bad_header_fields[i].value,
				    bad_header_fields[i].offset);
		t->bytes.header = good;
	}
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), 0);
}

static void test_malformed_rows(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	u8 *rows = t->bytes.rows;
	struct sframe_row row;

	ADD_FDE(t, TEXT, 16, 1, 0, 0, 0, 0, 0, 0x03, 8);

	rows[2] = 3;				/* no such type of row */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	rows[2] = SFRAME_FDE_INFO_UNUSED;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	rows[2] = 0;
	rows[3] = 2;				/* no such type of FDE */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	rows[3] = 0;
	rows[6] = 0x63;				/* no such size of data word */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	rows[6] = 0x07;				/* more words than there are */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	rows[6] = 0x03;
	rows[3] = SFRAME_FDE_TYPE_FLEX;		/* half a rule */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	rows[3] = 0;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), 0);
}

static void test_malformed_flexible(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	u8 *words = t->bytes.rows + 7;
	struct sframe_row row;

	ADD_FDE(t, TEXT, 16, 1, 0, 0, SFRAME_FDE_TYPE_FLEX, 0,
		0, 0x08, 0x33, 0xf8, 0x02, 0xf8);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), 0);

	words[0] = 0x02;			/* a CFA that depends on the CFA */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	words[0] = 0x37;			/* the bit that means nothing */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	words[0] = 0;				/* no CFA, and words left over */
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);

	/* A register beyond any machine's needs a wider word. */
	ADD_FDE(t, TEXT + 16, 16, 1, 0, 0, SFRAME_FDE_TYPE_FLEX, 0,
		0, 0x24, 0x01, 0x02, 0x08, 0x00);
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT + 16, &row), -EINVAL);
}

/* However short a section is cut, nothing beyond the cut is read. */
static void test_truncated(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;
	u32 size;
	int ret;

	add_prologue(t, TEXT, 16);
	for (size = 0; size < offsetof(struct test_section, rows) +
	     t->bytes.header.sfh_fre_len; size++) {
		t->sec.size = size;
		readable_end = t->sec.base + size;
		ret = lookup(t, TEXT + 8, &row);
		KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, "cut at %u", size);
	}
}

/* Memory that is gone is a fault, wherever the reader is. */
static void test_unreadable(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;
	u32 size;

	add_prologue(t, TEXT, 16);
	for (size = 0; size < offsetof(struct test_section, rows) +
	     t->bytes.header.sfh_fre_len; size++) {
		readable_end = t->sec.base + size;
		KUNIT_EXPECT_EQ_MSG(test, lookup(t, TEXT + 8, &row), -EFAULT,
				    "gone at %u", size);
	}
}

/* A linker aligns the index to 4; only a live area needs 64-bit words. */
static void test_static_alignment(struct kunit *test)
{
	struct lookup_test *t = amd64(test);
	struct sframe_row row;

	add_prologue(t, TEXT, 16);
	memmove(t->bytes.padding, t->bytes.index, sizeof(t->bytes.index));
	t->bytes.header.sfh_fdeoff = 0;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), -EINVAL);
	t->sec.live = false;
	KUNIT_EXPECT_EQ(test, lookup(t, TEXT, &row), 0);
}

static struct kunit_case sframe_cases[] = {
	KUNIT_CASE(test_default_amd64),
	KUNIT_CASE(test_default_arm64),
	KUNIT_CASE(test_flexible),
	KUNIT_CASE(test_pc_mask),
	KUNIT_CASE(test_widths),
	KUNIT_CASE(test_start_encodings),
	KUNIT_CASE(test_outermost_and_signal),
	KUNIT_CASE(test_tombstone),
	KUNIT_CASE(test_row_limit),
	KUNIT_CASE(test_malformed_header),
	KUNIT_CASE(test_malformed_rows),
	KUNIT_CASE(test_malformed_flexible),
	KUNIT_CASE(test_truncated),
	KUNIT_CASE(test_unreadable),
	KUNIT_CASE(test_static_alignment),
	{}
};

static struct kunit_suite sframe_suite = {
	.name = "sframe",
	.test_cases = sframe_cases,
};

kunit_test_suite(sframe_suite);
