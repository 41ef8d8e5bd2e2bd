// SPDX-License-Identifier: GPL-2.0
/*
 * A C program without frame pointers, assembled with SFrame V3, hands its own
 * .sframe over as a static area: every sample of its two threads, in whatever
 * instruction, is unwound to where the thread starts.
 *
 * Where the truth is from: each function is called from one place, and has noted
 * the address it returns to; the symbol table says which function an address is
 * in. No table of frames is looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit.h"
#include "static_elf.h"
#include "kselftest_harness.h"

#define PROGRAM		"static_elf_program"
#define SAMPLES		(1000ULL * jit_share() / 100)
#define SECONDS		60
#define PERIOD		20000
#define SLICE		20000000

/* Where a thread starts; then, the threads' functions are the same. */
static const char *const starts[NR_THREADS] = {
	"program_main_start", "program_cloned_start",
};

static const char *const functions[NR_FUNCTIONS] = {
	[FN_LOOP] = "program_loop",
	[FN_REGISTERS] = "program_registers",
	[FN_EARLY_RETURN] = "program_early_return",
	[FN_LARGE] = "program_large",
	[FN_VARIABLE] = "program_variable",
	[FN_ALIGNED] = "program_aligned",
	[FN_LEAF] = "program_leaf",
};

struct range {
	__u64 start, size;
};

/* What became of the samples, and what they are judged by. */
struct judgement {
	struct range functions[NR_FUNCTIONS];
	__u64 return_to[NR_FUNCTIONS];
	__u64 hits[NR_FUNCTIONS];
	__u64 samples, exact, shorter, wrong;
	unsigned int shown;
};

FIXTURE(static_elf) {
	pid_t child;
	struct static_elf_shared *shared;
	struct judgement judgement;
};

FIXTURE_VARIANT(static_elf) {
	unsigned int thread;
	bool deferred;
};

FIXTURE_VARIANT_ADD(static_elf, main_immediate) {
	.thread = THREAD_MAIN, .deferred = false,
};

FIXTURE_VARIANT_ADD(static_elf, main_deferred) {
	.thread = THREAD_MAIN, .deferred = true,
};

FIXTURE_VARIANT_ADD(static_elf, cloned_immediate) {
	.thread = THREAD_CLONED, .deferred = false,
};

FIXTURE_VARIANT_ADD(static_elf, cloned_deferred) {
	.thread = THREAD_CLONED, .deferred = true,
};

/* The program lies beside this one. */
static void program_path(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *name;

	path[len > 0 ? len : 0] = 0;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	snprintf(name, size - (name - path), "%s", PROGRAM);
}

static const struct elf64_shdr *sections(const struct elf64_hdr *file)
{
	return (void *)((__u8 *)file + file->e_shoff);
}

static const struct elf64_shdr *find_section(const struct elf64_hdr *file,
					     __u32 type)
{
	unsigned int i;

	for (i = 0; i < file->e_shnum; i++) {
		if (sections(file)[i].sh_type == type)
			return &sections(file)[i];
	}
	return NULL;
}

static struct range find_symbol(const struct elf64_hdr *file, const char *name)
{
	const struct elf64_shdr *table = find_section(file, SHT_SYMTAB);
	const struct elf64_sym *symbol, *end;
	struct range range = {};
	const char *strings;

	if (!table)
		return range;
	strings = (char *)file + sections(file)[table->sh_link].sh_offset;
	symbol = (void *)((__u8 *)file + table->sh_offset);
	end = (void *)((__u8 *)symbol + table->sh_size);
	while (symbol < end && strcmp(strings + symbol->st_name, name))
		symbol++;
	if (symbol < end) {
		range.start = symbol->st_value;
		range.size = symbol->st_size;
	}
	return range;
}

static const struct elf64_hdr *map_program(size_t *size)
{
	struct stat stat;
	char path[4096];
	void *file;
	int fd;

	program_path(path, sizeof(path));
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &stat))
		return NULL;
	*size = stat.st_size;
	file = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return file == MAP_FAILED ? NULL : file;
}

/* False if the program cannot be read, or has no such functions. */
static bool find_functions(struct judgement *judgement, unsigned int thread)
{
	const struct elf64_hdr *file;
	bool found = true;
	unsigned int i;
	size_t size;

	file = map_program(&size);
	if (!file)
		return false;
	for (i = 0; i < NR_FUNCTIONS; i++) {
		const char *name = i == FN_START ? starts[thread] : functions[i];

		judgement->functions[i] = find_symbol(file, name);
		found &= judgement->functions[i].size > 0;
	}
	munmap((void *)file, size);
	return found;
}

/* Does not return in the child. */
static pid_t start_program(int fd)
{
	char path[4096];
	pid_t child = fork();

	if (child)
		return child;
	program_path(path, sizeof(path));
	if (dup2(fd, STATIC_ELF_FD) == STATIC_ELF_FD)
		execl(path, path, NULL);
	_exit(127);
}

static bool thread_runs(const struct static_elf_thread *thread)
{
	return __atomic_load_n(&thread->rounds, __ATOMIC_RELAXED) > 1;
}

/* Leaves it to be waited for. */
static bool has_ended(pid_t child)
{
	siginfo_t info = {};

	return waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) ||
	       info.si_pid == child;
}

/* Until both threads have been through all their functions. */
static enum static_elf_state
wait_for_program(const struct static_elf_shared *shared, pid_t child)
{
	__u32 state;

	for (;;) {
		state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
		if (state == STATIC_ELF_NO_SFRAME || state == STATIC_ELF_REFUSED)
			return state;
		if (state == STATIC_ELF_RUNNING &&
		    thread_runs(&shared->threads[THREAD_MAIN]) &&
		    thread_runs(&shared->threads[THREAD_CLONED]))
			return state;
		if (has_ended(child))
			return STATIC_ELF_STARTING;
		usleep(1000);
	}
}

FIXTURE_SETUP(static_elf)
{
	const char *missing = jit_missing();
	enum static_elf_state state;
	int fd;

	if (missing)
		SKIP(return, "%s", missing);
	fd = memfd_create(PROGRAM, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, sizeof(*self->shared)));
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	self->child = start_program(fd);
	ASSERT_LT(0, self->child);
	close(fd);
	state = wait_for_program(self->shared, self->child);
	if (state == STATIC_ELF_NO_SFRAME)
		SKIP(return, "no SFrame V3 in " PROGRAM ": the assembler '"
		     SFRAME_AS "' does not write it");
	ASSERT_EQ(0, self->shared->error);
	ASSERT_EQ(STATIC_ELF_RUNNING, state);
	ASSERT_TRUE(find_functions(&self->judgement, variant->thread));
	memcpy(self->judgement.return_to,
	       self->shared->threads[variant->thread].return_to,
	       sizeof(self->judgement.return_to));
}

FIXTURE_TEARDOWN(static_elf)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	if (self->shared)
		munmap(self->shared, sizeof(*self->shared));
}

static int find_function(const struct judgement *judgement, __u64 ip)
{
	int i;

	for (i = 0; i < NR_FUNCTIONS; i++) {
		if (ip - judgement->functions[i].start <
		    judgement->functions[i].size)
			return i;
	}
	return -1;
}

static void show(const char *what, const __u64 *ips, __u64 nr)
{
	__u64 i;

	printf("#   %s", what);
	for (i = 0; i < nr; i++)
		printf(" %llx", ips[i]);
	printf("\n");
}

static void judge(const struct sample *sample, void *arg)
{
	struct judgement *judgement = arg;
	__u64 truth[NR_FUNCTIONS + 1], nr = 0;
	int function = find_function(judgement, sample->ip);
	bool right;
	int i;

	if (function < 0)
		return;
	truth[nr++] = sample->ip;
	for (i = function; i >= 0; i--)
		truth[nr++] = judgement->return_to[i];

	judgement->samples++;
	judgement->hits[function]++;
	right = sample->nr <= nr &&
		!memcmp(sample->ips, truth, sample->nr * sizeof(*truth));
	if (right && sample->nr == nr) {
		judgement->exact++;
		return;
	}
	if (right)
		judgement->shorter++;
	else
		judgement->wrong++;
	if (judgement->shown++ >= MAX_SHOWN)
		return;
	show("true ", truth, nr);
	show("taken", sample->ips, sample->nr);
}

static bool all_sampled(const struct judgement *judgement)
{
	unsigned int i;

	for (i = FN_LOOP; i < NR_FUNCTIONS; i++) {
		if (!judgement->hits[i])
			return false;
	}
	return true;
}

static int take(struct judgement *judgement, pid_t tid, bool deferred)
{
	__u64 end = now_ns() + SECONDS * 1000000000ULL;
	struct sampler *sampler = malloc(sizeof(*sampler));
	int ret;

	if (!sampler)
		return -ENOMEM;
	sampler_raise_limits();
	ret = sampler_open(sampler, tid, TRIGGER_CLOCK, PERIOD, deferred);
	if (ret)
		goto free;
	while ((judgement->samples < SAMPLES || !all_sampled(judgement)) &&
	       now_ns() < end) {
		sampler_start(sampler);
		usleep(SLICE / 1000);
		sampler_stop(sampler);
		sampler_drain(sampler, judge, judgement);
		sampler_adapt(sampler, SLICE);
	}
	sampler_close(sampler);
free:
	free(sampler);
	return ret;
}

TEST_F_TIMEOUT(static_elf, unwound_to_the_start, 300)
{
	struct judgement *judgement = &self->judgement;

	ASSERT_EQ(0, take(judgement,
			  self->shared->threads[variant->thread].tid,
			  variant->deferred));
	printf("# %s: %llu samples in described code, %llu exact, %llu short, %llu wrong\n",
	       variant->deferred ? "deferred" : "immediate",
	       judgement->samples, judgement->exact, judgement->shorter,
	       judgement->wrong);
	EXPECT_LE(SAMPLES, judgement->samples);
	EXPECT_TRUE(all_sampled(judgement));
	EXPECT_EQ(0, judgement->wrong);
	EXPECT_EQ(0, judgement->shorter);
}

TEST_HARNESS_MAIN
