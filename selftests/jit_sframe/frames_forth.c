// SPDX-License-Identifier: GPL-2.0
/*
 * A small Forth, compiled to machine code whose return addresses lie on a stack
 * of its own, addressed by a callee-saved register; native code below it, which
 * enters Forth again, twice.
 *
 * Rows of the words keep SP as it is and take the return address from the return
 * stack. The word that calls native code saves the return stack's register in a
 * native frame, where its rows find it when the walk comes from native code, which
 * is walked by frame pointers and tells nothing of that register.
 */
#include <string.h>

#include "kselftest_harness.h"
#include "frames_expect.h"

#define NESTINGS	3
#define MAX_WORDS_MADE	16
#define STACK_WORDS	64

/*
 * Each program's words, the last of which is its main one. Every word has one
 * caller; "native" calls frames_native(), and so the next program.
 */
static const char *const programs[NESTINGS][4] = {
	{
		": call-out  7 native + ;",
		": keep      >r call-out r> * ;",
		": main      2 dup keep 1 + drop ;",
	}, {
		": hand-down 3 * native ;",
		": main      dup 5 + hand-down + ;",
	}, {
		": square    dup * ;",
		": shift     dup >r square r> + ;",
		": main      dup shift + ;",
	},
};

/* The same in C. Operands are common to all; the first drops its result. */
static __u64 program2(__u64 x)
{
	return x + (x * x + x);
}

static __u64 program1(__u64 x)
{
	return x + program2((x + 5) * 3);
}

static __u64 program0(void)
{
	return (2 + program1(7)) * 2 + 1;
}

struct word {
	char name[16];
	const struct function *fn;
};

/* The words of one program, in the order they were made: callees first. */
struct dictionary {
	struct word words[MAX_WORDS_MADE];
	unsigned int nr_words;
};

FIXTURE(frames_forth) {
	struct frames frames;
	struct verdicts verdicts;
	struct dictionary dictionaries[NESTINGS];
	struct nesting nestings[NESTINGS];
	const struct function *enters[NESTINGS];
	struct stacks stacks;
	__u64 data[STACK_WORDS];
	__u64 control[STACK_WORDS];
};

FIXTURE_VARIANT(frames_forth) {
	bool deferred;
};

FIXTURE_VARIANT_ADD(frames_forth, immediate) {
	.deferred = false,
};

FIXTURE_VARIANT_ADD(frames_forth, deferred) {
	.deferred = true,
};

static const struct {
	const char *name;
	const struct template *code;
} primitives[] = {
	{ "dup", &forth_dup },
	{ "drop", &forth_drop },
	{ "+", &forth_add },
	{ "*", &forth_multiply },
	{ ">r", &forth_to_r },
	{ "r>", &forth_r_from },
};

static const struct template *find_primitive(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(primitives) / sizeof(*primitives); i++) {
		if (!strcmp(primitives[i].name, name))
			return primitives[i].code;
	}
	return NULL;
}

static const struct function *find_word(const struct dictionary *dictionary,
					const char *name)
{
	unsigned int i;

	for (i = 0; i < dictionary->nr_words; i++) {
		if (!strcmp(dictionary->words[i].name, name))
			return dictionary->words[i].fn;
	}
	return NULL;
}

static void add_word(struct dictionary *dictionary, const char *name,
		     const struct function *fn)
{
	struct word *word = &dictionary->words[dictionary->nr_words++];

	snprintf(word->name, sizeof(word->name), "%s", name);
	word->fn = fn;
}

/* Compile one token; false if it is neither known nor a number. */
static bool compile_token(struct function *fn,
			  const struct dictionary *dictionary,
			  const char *token, bool operand_kept)
{
	const struct template *primitive = find_primitive(token);
	const struct function *word = find_word(dictionary, token);
	char *end;
	__u64 value = strtoull(token, &end, 0);

	if (primitive)
		frames_append(fn, primitive, 0, 0, 0);
	else if (word)
		frames_append(fn, operand_kept ? &forth_call_r : &forth_call,
			      word->start, 0, 0);
	else if (!*end)
		frames_append(fn, &forth_literal, value, 0, 0);
	else
		return false;
	return true;
}

/* ": name token... ;" */
static bool compile_word(struct frames *frames, struct dictionary *dictionary,
			 const char *source)
{
	struct function *fn = frames_next(frames, WINDOW_CODE);
	bool operand_kept = false;
	char line[80];
	char *name, *token, *rest;

	snprintf(line, sizeof(line), "%s", source);
	token = strtok_r(line, " ", &rest);
	name = strtok_r(NULL, " ", &rest);
	if (!token || strcmp(token, ":") || !name)
		return false;
	frames_append(fn, &forth_begin, 0, 0, 0);
	while ((token = strtok_r(NULL, " ", &rest)) && strcmp(token, ";")) {
		if (!compile_token(fn, dictionary, token, operand_kept))
			return false;
		if (!strcmp(token, ">r"))
			operand_kept = true;
		if (!strcmp(token, "r>"))
			operand_kept = false;
	}
	frames_append(fn, &forth_end, 0, 0, 0);
	add_word(dictionary, name, fn);
	return true;
}

static bool compile_program(struct _test_data_frames_forth *self, unsigned int i)
{
	struct dictionary *dictionary = &self->dictionaries[i];
	struct frames *frames = &self->frames;
	struct function *native, *enter;
	const struct function *main_word;
	unsigned int line;

	native = frames_next(frames, WINDOW_CODE);
	frames_append(native, &forth_native, WORD(&self->nestings[i]),
		      WORD(frames_native), 0);
	add_word(dictionary, "native", native);
	for (line = 0; line < 4 && programs[i][line]; line++) {
		if (!compile_word(frames, dictionary, programs[i][line]))
			return false;
	}

	main_word = find_word(dictionary, "main");
	if (!main_word)
		return false;
	enter = frames_next(frames, WINDOW_STUBS);
	frames_append(enter, &forth_enter, main_word->start, 0, 0);
	self->enters[i] = enter;
	if (i)
		self->nestings[i - 1].enter = (void *)enter->start;
	return true;
}

/* main calls the word before it, and so on, the first of which is "native". */
static void plan(struct _test_data_frames_forth *self)
{
	struct chain *chain = &self->frames.jit.chain;
	const struct dictionary *dictionary;
	unsigned int i, word;

	for (i = 0; i < NESTINGS; i++) {
		dictionary = &self->dictionaries[i];
		frames_add_level(chain, self->enters[i]);
		for (word = dictionary->nr_words - 1; word > 0; word--)
			frames_add_level(chain, dictionary->words[word].fn);
		if (i == NESTINGS - 1)
			return;
		frames_add_level(chain, dictionary->words[0].fn);
		frames_add_native_levels(chain);
	}
}

FIXTURE_SETUP(frames_forth)
{
	const char *missing = jit_missing();
	unsigned int i;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, frames_init(&self->frames, JIT_SFRAME_FRAME_REG |
				 JIT_SFRAME_NO_FP_FALLBACK,
				 frames_callee_saved));
	for (i = 0; i < NESTINGS; i++)
		ASSERT_TRUE(compile_program(self, i));
	plan(self);
	ASSERT_EQ(0, frames_publish(&self->frames));
	self->stacks.data = self->data + STACK_WORDS;
	self->stacks.control = self->control + STACK_WORDS;
	self->frames.jit.chain.address = WORD(&self->stacks);
}

FIXTURE_TEARDOWN(frames_forth)
{
	if (self->frames.jit.text)
		frames_destroy(&self->frames);
}

/* The Forth computes what its source says. */
TEST_F(frames_forth, computes)
{
	chain_run(&self->frames.jit.chain);
	EXPECT_EQ(self->data + STACK_WORDS, self->stacks.data);
	EXPECT_EQ(program0(), self->stacks.data[-1]);
	EXPECT_EQ(1, self->nestings[0].calls);
	EXPECT_EQ(1, self->nestings[1].calls);
}

TEST_F_TIMEOUT(frames_forth, return_stack_through_native_code, 300)
{
	verdicts_init(&self->verdicts, &self->frames.jit.chain,
		      variant->deferred ? "deferred" : "immediate");
	expect_frames_exact(_metadata, &self->frames, &self->verdicts, 1,
			    variant->deferred);
}

TEST_HARNESS_MAIN
