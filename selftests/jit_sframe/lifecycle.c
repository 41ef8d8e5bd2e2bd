// SPDX-License-Identifier: GPL-2.0
/*
 * Areas across fork, vfork, exec, threads and exit; their accounting.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jit.h"
#include "kselftest_harness.h"

#define LEVELS		10
#define SPIN		20
#define SAMPLES		300
#define SECONDS		60
#define QUERY_AND_EXIT	"query-and-exit"

static int nr_areas(void)
{
	struct jit_sframe_query query = {};

	return jit_sframe_query(&query) ? -1 : (int)query.nr_areas;
}

/* What exec() below runs: the exit status is the number of areas. */
static void __attribute__((constructor)) query_and_exit(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], QUERY_AND_EXIT))
		_exit(nr_areas());
}

FIXTURE(lifecycle) {
	struct jit jit;
	struct verdicts verdicts;
};

FIXTURE_SETUP(lifecycle)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, jit_init(&self->jit, 0));
	jit_emit(&self->jit, code_shapes, code_nr_shapes, LEVELS, SPIN);
	ASSERT_EQ(0, jit_publish(&self->jit));
}

FIXTURE_TEARDOWN(lifecycle)
{
	if (self->jit.text)
		jit_destroy(&self->jit);
}

/* The child's exit status, or -1. */
static int status_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static bool samples_exactly_in(struct jit *jit, struct verdicts *verdicts,
			       bool deferred)
{
	return !jit_sample(jit, verdicts, deferred, SAMPLES, SECONDS) &&
	       verdicts->samples >= SAMPLES &&
	       verdicts->exact == verdicts->samples;
}

static bool samples_exactly(struct jit *jit, struct verdicts *verdicts)
{
	return samples_exactly_in(jit, verdicts, false);
}

/*
 * Nothing that a child's page tables lack is read in interrupt context; where
 * software keeps the access flag, that is all that its parent has touched. So
 * the deferred context comes first: it may fault pages in.
 */
TEST_F_TIMEOUT(lifecycle, fork_copies, 300)
{
	pid_t pid;

	ASSERT_EQ(0, jit_register(&self->jit));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int failed = nr_areas() != 1;

		failed |= !samples_exactly_in(&self->jit, &self->verdicts,
					      true) << 1;
		failed |= !samples_exactly(&self->jit, &self->verdicts) << 2;
		failed |= !!jit_sframe_unregister(self->jit.area.head) << 3;
		failed |= (nr_areas() != 0) << 4;
		_exit(failed);
	}
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(1, nr_areas());
	EXPECT_TRUE(samples_exactly(&self->jit, &self->verdicts));
}

/* What either does after the fork, the other does not see. */
TEST_F(lifecycle, fork_parts)
{
	int go[2];
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, jit_register(&self->jit));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (read(go[0], &byte, 1) != 1)
			_exit(100);
		_exit(nr_areas());
	}
	ASSERT_EQ(0, jit_sframe_unregister(self->jit.area.head));
	ASSERT_EQ(1, write(go[1], &byte, 1));
	EXPECT_EQ(1, status_of(pid));
	EXPECT_EQ(0, nr_areas());
}

static int register_and_return(void *jit)
{
	return nr_areas() == 0 && !jit_register(jit) ? 0 : 1;
}

#define CHILD_STACK	65536

static pid_t clone_child(int (*fn)(void *arg), void *arg, int flags)
{
	char *stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return stack == MAP_FAILED ? -1 :
	       clone(fn, stack + CHILD_STACK, flags | SIGCHLD, arg);
}

/* Memory is shared, and so are its areas. */
TEST_F(lifecycle, vfork_shares)
{
	pid_t pid = clone_child(register_and_return, &self->jit,
				CLONE_VM | CLONE_VFORK);

	ASSERT_LE(0, pid);
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(1, nr_areas());
}

TEST_F_TIMEOUT(lifecycle, clone_vm_shares, 300)
{
	pid_t pid = clone_child(register_and_return, &self->jit, CLONE_VM);

	ASSERT_LE(0, pid);
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(1, nr_areas());
	EXPECT_TRUE(samples_exactly(&self->jit, &self->verdicts));
}

/* A vforked child that runs another program takes nothing from its parent. */
TEST_F(lifecycle, exec_forgets)
{
	pid_t pid;

	ASSERT_EQ(0, jit_register(&self->jit));
	pid = vfork();
	ASSERT_LE(0, pid);
	if (!pid) {
		execl("/proc/self/exe", "lifecycle", QUERY_AND_EXIT, NULL);
		_exit(100);
	}
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(1, nr_areas());
}

static void *register_in_thread(void *jit)
{
	return (void *)(long)jit_register(jit);
}

struct sampled {
	struct jit *jit;
	struct verdicts *verdicts;
};

static void *sample_in_thread(void *arg)
{
	struct sampled *sampled = arg;

	return (void *)(long)samples_exactly(sampled->jit, sampled->verdicts);
}

TEST_F_TIMEOUT(lifecycle, threads_share, 300)
{
	struct sampled sampled = { &self->jit, &self->verdicts };
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, register_in_thread,
				    &self->jit));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	ASSERT_EQ(NULL, ret);
	/* The thread that registered is gone, its area is the process's. */
	EXPECT_EQ(1, nr_areas());
	EXPECT_TRUE(samples_exactly(&self->jit, &self->verdicts));
	ASSERT_EQ(0, pthread_create(&thread, NULL, sample_in_thread, &sampled));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_NE(NULL, ret);
}

/* After UNREGISTER returned, the area is not read: it may hold anything. */
TEST_F_TIMEOUT(lifecycle, unregister_ends_it, 300)
{
	ASSERT_EQ(0, jit_register(&self->jit));
	EXPECT_TRUE(samples_exactly(&self->jit, &self->verdicts));
	ASSERT_EQ(0, jit_sframe_unregister(self->jit.area.head));
	self->jit.quiet = true;
	ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts, false, SAMPLES,
				SECONDS));
	EXPECT_LT(self->verdicts.exact, self->verdicts.samples / 2);
	self->jit.quiet = false;
	ASSERT_EQ(0, jit_register(&self->jit));
	EXPECT_TRUE(samples_exactly(&self->jit, &self->verdicts));
}

/* An area that is unmapped but registered: the walk ends, nothing else. */
TEST_F_TIMEOUT(lifecycle, unmapped_area, 300)
{
	ASSERT_EQ(0, jit_register(&self->jit));
	ASSERT_EQ(0, munmap(self->jit.area.head, self->jit.area.size));
	self->jit.quiet = true;
	ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts, false, SAMPLES,
				SECONDS));
	EXPECT_EQ(0, self->verdicts.exact);
	ASSERT_EQ(0, jit_sample(&self->jit, &self->verdicts, true, SAMPLES,
				SECONDS));
	EXPECT_EQ(0, self->verdicts.exact);
	EXPECT_EQ(0, jit_sframe_unregister(self->jit.area.head));
	memset(&self->jit, 0, sizeof(self->jit));
}

/* Processes that come and go, some with threads that are still running. */
TEST_F_TIMEOUT(lifecycle, exit_frees, 300)
{
	int i;

	for (i = 0; i < 200; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			pthread_t thread;

			if (jit_register(&self->jit))
				_exit(1);
			if (i % 4 == 0)
				pthread_create(&thread, NULL, (void *)pause,
					       NULL);
			_exit(fork() ? 0 : nr_areas() != 1);
		}
		EXPECT_EQ(0, status_of(pid));
	}
	EXPECT_EQ(0, nr_areas());
}

/* Bytes of kernel memory charged to a control group; -1 if it does not say. */
static long long kernel_memory(const char *group)
{
	long long bytes = -1;
	char path[256], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.stat", group);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		sscanf(line, "kernel %lld", &bytes);
	fclose(file);
	return bytes;
}

#define NR_SECTIONS	4000

/* 28 bytes each, as many as a registry of some 160 KiB takes. */
static int register_sections(void)
{
	__u8 *base = mmap(NULL, NR_SECTIONS * 28, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct jit_sframe_register reg = {
		.area_size = 28,
		.text_start = 0x10000000,
		.text_size = 0x1000,
		.flags = JIT_SFRAME_STATIC,
	};
	struct section sec = { .capacity = 0 };
	int i, ret;

	for (i = 0; i < NR_SECTIONS; i++) {
		sec.base = base + i * 28;
		section_begin(&sec);
		reg.area = (__u64)sec.base;
		ret = jit_sframe_register(&reg);
		if (ret)
			return ret;
		reg.text_start += reg.text_size;
	}
	return 0;
}

static int register_in_group(const char *group)
{
	const long long registry = NR_SECTIONS *
				   sizeof(struct jit_sframe_register);
	char path[256];
	long long before, after;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	if (!write_file(path, "0"))
		return 2;
	before = kernel_memory(group);
	if (before < 0)
		return 2;
	if (register_sections())
		return 1;
	/* The statistics are brought up to date every two seconds. */
	sleep(3);
	after = kernel_memory(group);
	printf("# kernel memory of the group: %lld before, %lld after, registry %lld\n",
	       before, after, registry);
	fflush(stdout);
	return after - before >= registry * 3 / 4 ? 0 : 1;
}

/* The registry is charged to the process's control group. */
TEST_F_TIMEOUT(lifecycle, memory_is_accounted, 300)
{
	char root[] = "/tmp/jit_sframe.XXXXXX", group[64];
	pid_t pid;
	int status;

	ASSERT_NE(NULL, mkdtemp(root));
	if (mount("none", root, "cgroup2", 0, NULL)) {
		rmdir(root);
		SKIP(return, "cannot mount cgroup2 (CONFIG_MEMCG, root)");
	}
	snprintf(group, sizeof(group), "%s/cgroup.subtree_control", root);
	write_file(group, "+memory");
	snprintf(group, sizeof(group), "%s/jit_sframe_test", root);
	mkdir(group, 0755);

	pid = fork();
	if (!pid)
		_exit(register_in_group(group));
	status = status_of(pid);
	rmdir(group);
	umount(root);
	rmdir(root);
	if (status == 2)
		SKIP(return, "no memory controller");
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
