// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_get_stack() and bpf_get_stackid() in a program on a perf event see the
 * true call chain, frame for frame.
 */
#include <assert.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

#define LEVELS		20
#define SPIN		20
#define SAMPLES		(1500 * jit_share() / 100)
#define PERIOD		50000
#define BPF_STACK	64
#define NR_RECORDS	16384
#define NR_STACKS	16384

/* What the program stores for each sample; the first counts them, in ip. */
struct record {
	__u64 ip;
	__u64 sp;
	__s64 ret;	/* of the helper: bytes, or the stack's number */
	__u64 ips[BPF_STACK];
};

FIXTURE(exact_bpf) {
	struct jit jit;
	struct verdicts verdicts;
	struct record *records;
	int map, stacks, prog, event;
	char log[16384];
};

FIXTURE_VARIANT(exact_bpf) {
	bool by_id;
};

FIXTURE_VARIANT_ADD(exact_bpf, get_stack) {
	.by_id = false,
};

FIXTURE_VARIANT_ADD(exact_bpf, get_stackid) {
	.by_id = true,
};

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int make_map(__u32 type, __u32 value_size, __u32 nr, __u32 flags)
{
	union bpf_attr attr = {
		.map_type = type,
		.key_size = 4,
		.value_size = value_size,
		.max_entries = nr,
		.map_flags = flags,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

#define OP(code_, dst, src, off_, imm_)					\
	((struct bpf_insn){ .code = code_, .dst_reg = dst,		\
			    .src_reg = src, .off = off_, .imm = imm_ })
#define MOV(dst, src)		OP(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV_IMM(dst, imm)	OP(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define ADD_IMM(dst, imm)	OP(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, imm)
#define LOAD(dst, src, off)	OP(BPF_LDX | BPF_MEM | BPF_DW, dst, src, off, 0)
#define STORE(dst, off, src)	OP(BPF_STX | BPF_MEM | BPF_DW, dst, src, off, 0)
#define STORE32(dst, off, src)	OP(BPF_STX | BPF_MEM | BPF_W, dst, src, off, 0)
#define FETCH_ADD(dst, off, src)					\
	OP(BPF_STX | BPF_ATOMIC | BPF_DW, dst, src, off, BPF_ADD | BPF_FETCH)
/* Two slots: LOAD_MAP, then NEXT. */
#define LOAD_MAP(dst, fd)						\
	OP(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd)
#define NEXT			OP(0, 0, 0, 0, 0)
#define CALL(helper)		OP(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define JUMP_IF_0(reg, off)	OP(BPF_JMP | BPF_JEQ | BPF_K, reg, 0, off, 0)
#define EXIT			OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int load_program(struct _test_data_exact_bpf *self, bool by_id)
{
	const struct bpf_insn get_stack[] = {
		MOV(1, 6), MOV(2, 7), ADD_IMM(2, offsetof(struct record, ips)),
		MOV_IMM(3, BPF_STACK * 8), MOV_IMM(4, BPF_F_USER_STACK),
		CALL(BPF_FUNC_get_stack),
	};
	const struct bpf_insn get_stackid[] = {
		MOV(1, 6), LOAD_MAP(2, self->stacks), NEXT,
		MOV_IMM(3, BPF_F_USER_STACK), MOV_IMM(4, 0),
		CALL(BPF_FUNC_get_stackid),
	};
	struct bpf_insn prog[] = {
		MOV(6, 1), MOV_IMM(1, 0), STORE32(10, -4, 1),
		/* r0 = &records[*(u32 *)(fp - 4)], or on to the exit */
		LOAD_MAP(1, self->map), NEXT, MOV(2, 10), ADD_IMM(2, -4),
		CALL(BPF_FUNC_map_lookup_elem), JUMP_IF_0(0, 22),
		MOV_IMM(1, 1), FETCH_ADD(0, 0, 1), ADD_IMM(1, 1),
		STORE32(10, -4, 1),
		LOAD_MAP(1, self->map), NEXT, MOV(2, 10), ADD_IMM(2, -4),
		CALL(BPF_FUNC_map_lookup_elem), JUMP_IF_0(0, 12),
		MOV(7, 0),
		LOAD(1, 6, code_bpf_ip), STORE(7, offsetof(struct record, ip), 1),
		LOAD(1, 6, code_bpf_sp), STORE(7, offsetof(struct record, sp), 1),
		/* Replaced by one of the calls above, both of six slots. */
		EXIT, EXIT, EXIT, EXIT, EXIT, EXIT,
		STORE(7, offsetof(struct record, ret), 0),
		MOV_IMM(0, 0), EXIT,
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (__u64)prog,
		.insn_cnt = ARRAY_SIZE(prog),
		.license = (__u64)"GPL",
		.log_buf = (__u64)self->log,
		.log_size = sizeof(self->log),
		.log_level = 1,
	};
	unsigned int call = ARRAY_SIZE(prog) - 9;

	static_assert(sizeof(get_stack) == sizeof(get_stackid), "six slots");
	memcpy(prog + call, by_id ? get_stackid : get_stack, sizeof(get_stack));
	return bpf(BPF_PROG_LOAD, &attr);
}

static int open_event(int prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog)) {
		close(fd);
		return -1;
	}
	return fd;
}

FIXTURE_SETUP(exact_bpf)
{
	const char *missing = jit_missing();

	if (missing)
		SKIP(return, "%s", missing);
	if (access("/proc/sys/kernel/unprivileged_bpf_disabled", F_OK))
		SKIP(return, "no bpf() (CONFIG_BPF_SYSCALL)");
	self->map = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct record),
			     NR_RECORDS, BPF_F_MMAPABLE);
	ASSERT_LE(0, self->map);
	self->stacks = make_map(BPF_MAP_TYPE_STACK_TRACE, BPF_STACK * 8,
				NR_STACKS, 0);
	ASSERT_LE(0, self->stacks);
	self->records = mmap(NULL, NR_RECORDS * sizeof(struct record),
			     PROT_READ | PROT_WRITE, MAP_SHARED, self->map, 0);
	ASSERT_NE(MAP_FAILED, self->records);
	self->prog = load_program(self, variant->by_id);
	ASSERT_LE(0, self->prog)
		TH_LOG("%s: %s", strerror(errno), self->log);
	self->event = open_event(self->prog);
	ASSERT_LE(0, self->event);

	ASSERT_EQ(0, jit_init(&self->jit, 0));
	jit_emit(&self->jit, code_shapes, code_nr_shapes, LEVELS, SPIN);
	ASSERT_EQ(0, jit_publish(&self->jit));
	ASSERT_EQ(0, jit_register(&self->jit));
}

FIXTURE_TEARDOWN(exact_bpf)
{
	if (self->jit.text)
		jit_destroy(&self->jit);
}

/* A stack in the map ends with a zero, unless it is full. */
static __u64 stack_length(const __u64 *ips)
{
	__u64 nr = 0;

	while (nr < BPF_STACK && ips[nr])
		nr++;
	return nr;
}

/* Returns whether there was a stack to judge. */
static bool judge(struct _test_data_exact_bpf *self, struct record *record,
		  bool by_id)
{
	__u32 id = (__u32)record->ret;
	union bpf_attr attr = {
		.map_fd = self->stacks,
		.key = (__u64)&id,
		.value = (__u64)record->ips,
	};

	if (record->ret < 0)
		return false;
	if (by_id && bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		return false;
	verdicts_judge_stack(&self->verdicts, record->ip, record->sp,
			     record->ips, by_id ? stack_length(record->ips) :
						  (__u64)record->ret / 8);
	return true;
}

TEST_F_TIMEOUT(exact_bpf, recursion, 300)
{
	__u64 end = now_ns() + 20000000000ULL, i, taken, missed = 0;

	sampler_raise_limits();
	verdicts_init(&self->verdicts, &self->jit.chain,
		      variant->by_id ? "bpf_get_stackid" : "bpf_get_stack");
	ioctl(self->event, PERF_EVENT_IOC_ENABLE, 0);
	do {
		chain_run(&self->jit.chain);
		taken = __atomic_load_n(&self->records[0].ip, __ATOMIC_RELAXED);
	} while (taken < 8 * SAMPLES && now_ns() < end);
	ioctl(self->event, PERF_EVENT_IOC_DISABLE, 0);

	taken = self->records[0].ip;
	for (i = 1; i <= taken && i < NR_RECORDS; i++)
		missed += !judge(self, &self->records[i], variant->by_id);
	verdicts_print(&self->verdicts);
	/* Two stacks in one hash bucket: the map keeps the first. */
	printf("# %llu without a stack\n", missed);
	EXPECT_LE(missed, variant->by_id ? taken / 4 : 0);
	expect_exact(_metadata, &self->verdicts, SAMPLES);
}

TEST_HARNESS_MAIN
