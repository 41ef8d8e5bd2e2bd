// SPDX-License-Identifier: GPL-2.0
/*
 * ftrace's userstacktrace shows the true call chain, frame for frame.
 *
 * JIT code sends its own thread a signal that is ignored; the event
 * signal:signal_generate records the user stack. It keeps eight addresses.
 */
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

#define TRACEFS		"/sys/kernel/tracing/"
#define EVENT		TRACEFS "events/signal/signal_generate/"
#define RUNS		200
#define MAX_ENTRIES	8

FIXTURE(exact_ftrace) {
	struct jit jit;
	struct verdicts verdicts;
	__u64 syscall[4];
};

FIXTURE_SETUP(exact_ftrace)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
	if (access(TRACEFS "trace", R_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	if (access(TRACEFS "options/userstacktrace", W_OK))
		SKIP(return, "no userstacktrace in tracefs");
	if (access(EVENT "enable", W_OK))
		SKIP(return, "no event signal:signal_generate");
	ASSERT_EQ(0, jit_init(&self->jit, JIT_SFRAME_NO_FP_FALLBACK));
}

FIXTURE_TEARDOWN(exact_ftrace)
{
	write_file(EVENT "enable", "0");
	write_file(EVENT "filter", "0");
	write_file(TRACEFS "options/userstacktrace", "0");
	if (self->jit.text)
		jit_destroy(&self->jit);
}

/* The stack of the leaf's system call: where it returns to. */
static const struct insn *after_syscall(const struct function *fn)
{
	return &fn->insns[fn->nr_insns - 1];
}

static void judge(struct _test_data_exact_ftrace *self, const __u64 *ips, __u64 nr)
{
	const struct level *leaf = &self->jit.chain.levels[3];
	const struct insn *insn = after_syscall(leaf->fn);

	verdicts_judge_stack(&self->verdicts, leaf->fn->start + insn->offset,
			     leaf->cfa - insn->sp_to_cfa, ips, nr);
}

/* " =>  <address>" after a line "<user stack trace>" */
static void judge_trace(struct _test_data_exact_ftrace *self, FILE *trace)
{
	__u64 ips[MAX_ENTRIES], nr = 0;
	bool stack = false;
	char line[512];

	while (fgets(line, sizeof(line), trace)) {
		const char *address = strrchr(line, '<');

		if (stack && strncmp(line, " => ", 4)) {
			judge(self, ips, nr);
			stack = false;
		}
		if (strstr(line, "<user stack trace>")) {
			stack = true;
			nr = 0;
		} else if (stack && address && nr < MAX_ENTRIES) {
			ips[nr++] = strtoull(address + 1, NULL, 16);
		}
	}
	if (stack)
		judge(self, ips, nr);
}

TEST_F_TIMEOUT(exact_ftrace, system_call_from_jit_code, 300)
{
	const enum shape shapes[] = { SHAPE_SP, SHAPE_SP_4, SHAPE_SP_2 };
	struct jit *jit = &self->jit;
	char filter[64];
	FILE *trace;
	int i;

	jit_emit(jit, shapes, 3, 3, 0);
	code_emit(&jit->fns[2], jit_slot(jit, 2), SHAPE_SP_2, jit_slot(jit, 3),
		  0);
	code_emit_syscall(&jit->fns[3], jit_slot(jit, 3));
	jit->nr_fns = 4;
	chain_plan(&jit->chain, jit->fns, 4, 4);
	ASSERT_EQ(0, jit_publish(jit));
	ASSERT_EQ(0, jit_register(jit));

	self->syscall[0] = SYS_tgkill;
	self->syscall[1] = getpid();
	self->syscall[2] = syscall(SYS_gettid);
	self->syscall[3] = SIGURG;
	jit->chain.address = (__u64)self->syscall;

	snprintf(filter, sizeof(filter), "sig == %d && pid == %d", SIGURG,
		 (int)self->syscall[2]);
	ASSERT_TRUE(write_file(TRACEFS "trace", "\n"));
	ASSERT_TRUE(write_file(TRACEFS "options/userstacktrace", "1"));
	ASSERT_TRUE(write_file(EVENT "filter", filter));
	ASSERT_TRUE(write_file(EVENT "enable", "1"));
	for (i = 0; i < RUNS; i++)
		chain_run(&jit->chain);
	ASSERT_TRUE(write_file(EVENT "enable", "0"));

	verdicts_init(&self->verdicts, &jit->chain, "userstacktrace");
	trace = fopen(TRACEFS "trace", "r");
	ASSERT_NE(NULL, trace);
	judge_trace(self, trace);
	fclose(trace);
	verdicts_print(&self->verdicts);
	expect_exact(_metadata, &self->verdicts, RUNS);
}

TEST_HARNESS_MAIN
