/* SPDX-License-Identifier: MIT */
/* Code memory, names and functions through the C API, in C11. */
#include <jitsframe/jitsframe.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "not true: %s\n", what);
	failures++;
}

#define EXPECT(condition) expect(condition, #condition)

/* A leaf that does nothing, on either machine: int 3 and udf would stop it. */
static const unsigned char nothing[] = {
#if defined(__x86_64__)
	0xc3, /* ret */
#else
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

static void run(uint64_t address)
{
	void (*function)(void);

	memcpy(&function, &address, sizeof(function));
	function();
}

static struct jitsframe_code_memory *make_memory(void)
{
	struct jitsframe_code_options options;
	struct jitsframe_error error;
	struct jitsframe_code_memory *memory;

	jitsframe_code_options_init(&options, sizeof(options));
	options.window_bytes = 1 << 20;
	memory = jitsframe_code_memory_new(&options, &error);
	EXPECT(error.code == JITSFRAME_OK);
	return memory;
}

static void spans_are_written_and_reused(void)
{
	struct jitsframe_code_memory *memory = make_memory();
	struct jitsframe_write_scope *scope = jitsframe_write_scope_new(memory);
	struct jitsframe_code_span span = {0};
	struct jitsframe_error error;
	uint64_t first = 0;

	for (int i = 0; i < 2; i++) {
		EXPECT(jitsframe_code_allocate(scope, sizeof(nothing), 0, &span, &error) == JITSFRAME_OK);
		memcpy(span.writable, nothing, sizeof(nothing));
		EXPECT((jitsframe_code_commit(scope) == JITSFRAME_SYNC_NOT_NEEDED) == !i);
		jitsframe_maybe_synchronize();
		run(span.address);
		EXPECT(!i || span.address == first);
		first = span.address;
		EXPECT(jitsframe_code_release(memory, first, NULL) == JITSFRAME_OK);
	}
	EXPECT(jitsframe_code_release(memory, first, &error) == JITSFRAME_NOT_FOUND);
	EXPECT(error.at == first);
	EXPECT(jitsframe_code_allocate(scope, 0, 0, &span, NULL) == JITSFRAME_INVALID_ARGUMENT);
	EXPECT(jitsframe_code_rewrite(scope, 0, 4, JITSFRAME_BARRIER_NONE, &span, NULL) ==
	       JITSFRAME_OUTSIDE_TEXT);
	EXPECT(jitsframe_code_memory_stats(memory).allocations == 2);
	EXPECT(jitsframe_code_memory_stats(memory).sync.reusing_batches == 1);
	EXPECT(jitsframe_code_trim(memory) == 1 << 20);
	jitsframe_write_scope_free(scope);
	jitsframe_code_memory_free(memory);
}

static void domains_stand_alone(void)
{
	struct jitsframe_sync_domain *domain =
		jitsframe_sync_domain_new((uintptr_t)nothing & ~(uint64_t)4095, 8192, 0, false, NULL);
	struct jitsframe_sync_batch *batch = jitsframe_sync_batch_new(domain);
	const uint64_t address = (uintptr_t)nothing;

	for (int i = 0; i < 2; i++) {
		EXPECT(jitsframe_sync_mark_written(batch, address, 1, JITSFRAME_BARRIER_IF_REUSED, NULL) ==
		       JITSFRAME_OK);
		EXPECT(jitsframe_sync_commit(batch) ==
		       (i ? JITSFRAME_SYNC_OWED : JITSFRAME_SYNC_NOT_NEEDED));
	}
	EXPECT(jitsframe_maybe_synchronize());
	EXPECT(!jitsframe_maybe_synchronize());
	EXPECT(jitsframe_sync_domain_stats(domain).owed == 1);
	jitsframe_sync_batch_free(batch);
	jitsframe_sync_domain_free(domain);
}

static void functions_have_one_lifetime(void)
{
	struct jitsframe_symbols_options names;
	struct jitsframe_options options;
	struct jitsframe_function_text text = {0};
	struct jitsframe_code_memory *memory = make_memory();
	struct jitsframe_write_scope *scope = jitsframe_write_scope_new(memory);
	struct jitsframe_rows *rows = jitsframe_rows_new(JITSFRAME_ARCH_HOST);
	struct jitsframe_function *function;
	struct jitsframe_symbols *symbols;
	struct jitsframe_area *area;
	struct jitsframe_found found;
	uint64_t start;

	jitsframe_symbols_options_init(&names, sizeof(names));
	names.background = false;
	symbols = jitsframe_symbols_new(&names, NULL);
	EXPECT(symbols);
	jitsframe_options_init(&options, sizeof(options));
	options.text_start = jitsframe_code_text_start(memory);
	options.text_size = jitsframe_code_text_size(memory);
	area = jitsframe_area_new(&options, NULL);
	text.bytes = nothing;
	text.size = sizeof(nothing);
	text.rows = rows;
	text.name = "nothing";

	function = jitsframe_function_new(scope, &text, area, symbols, NULL);
	EXPECT(function);
	EXPECT(jitsframe_code_commit(scope) == JITSFRAME_SYNC_NOT_NEEDED);
	start = jitsframe_function_start(function);
	run(start);
	EXPECT(jitsframe_lookup(area, start, &found, NULL) == JITSFRAME_OK);
	EXPECT(jitsframe_symbols_flush(symbols, NULL) == JITSFRAME_OK);
	EXPECT(jitsframe_symbols_stats(symbols).written == 1);
	jitsframe_function_free(function);
	EXPECT(jitsframe_lookup(area, start, &found, NULL) == JITSFRAME_NOT_FOUND);
	EXPECT(jitsframe_code_memory_stats(memory).live_spans == 0);

	jitsframe_symbols_free(symbols);
	jitsframe_area_free(area);
	jitsframe_rows_free(rows);
	jitsframe_write_scope_free(scope);
	jitsframe_code_memory_free(memory);
}

/* As every handle: null is an error where there is a code, else harmless. */
static void nulls_are_harmless(void)
{
	struct jitsframe_code_options code = {0};
	struct jitsframe_error error;

	EXPECT(!jitsframe_code_memory_new(NULL, &error) && error.code == JITSFRAME_INVALID_ARGUMENT);
	EXPECT(!jitsframe_code_memory_new(&code, &error) && error.code == JITSFRAME_INVALID_ARGUMENT);
	EXPECT(!jitsframe_symbols_new(NULL, NULL));
	EXPECT(!jitsframe_write_scope_new(NULL));
	EXPECT(!jitsframe_sync_batch_new(NULL));
	EXPECT(!jitsframe_function_new(NULL, NULL, NULL, NULL, NULL));
	EXPECT(jitsframe_code_release(NULL, 0, NULL) == JITSFRAME_INVALID_ARGUMENT);
	EXPECT(jitsframe_code_commit(NULL) == JITSFRAME_SYNC_NOT_NEEDED);
	EXPECT(jitsframe_sync_commit(NULL) == JITSFRAME_SYNC_NOT_NEEDED);
	EXPECT(jitsframe_symbols_flush(NULL, NULL) == JITSFRAME_INVALID_ARGUMENT);
	EXPECT(jitsframe_code_memory_stats(NULL).allocations == 0);
	EXPECT(jitsframe_symbols_stats(NULL).recorded == 0);
	jitsframe_write_scope_free(NULL);
	jitsframe_sync_batch_free(NULL);
	jitsframe_sync_domain_free(NULL);
	jitsframe_symbols_free(NULL);
	jitsframe_function_free(NULL);
	jitsframe_code_memory_free(NULL);
}

int main(void)
{
	spans_are_written_and_reused();
	domains_stand_alone();
	functions_have_one_lifetime();
	nulls_are_harmless();
	return failures != 0;
}
