// SPDX-License-Identifier: GPL-2.0
/*
 * A chain of calls through code made at run time, and the judgement of what was
 * sampled in it.
 *
 * The truth comes from the instruction and the stack pointer alone: every level
 * has a fixed CFA, and at every instruction the distance to it is known from
 * how the code was made. No table is looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "chain.h"

#define STACK_SIZE	0x100000UL

int chain_init(struct chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	chain->last = -1;
	chain->stack_size = STACK_SIZE;
	chain->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (chain->stack == MAP_FAILED)
		return -errno;
	chain->stack_top = (__u64)chain->stack + STACK_SIZE - 256;
	return 0;
}

void chain_destroy(struct chain *chain)
{
	munmap(chain->stack, chain->stack_size);
}

void chain_plan(struct chain *chain, const struct function *fns,
		unsigned int nr_fns, unsigned int nr_levels)
{
	__u64 cfa = chain->stack_top;
	unsigned int i;

	chain->nr_levels = nr_levels;
	chain->counter = nr_levels - 1;
	for (i = 0; i < nr_levels; i++) {
		const struct function *fn = &fns[i % nr_fns];

		chain->levels[i].fn = fn;
		chain->levels[i].cfa = cfa;
		chain->levels[i].return_to = fn->start + fn->return_offset;
		cfa -= fn->call_depth;
	}
}

void chain_run(const struct chain *chain)
{
	code_call_on_stack(chain->levels[0].fn->start, chain->counter,
			   chain->address, chain->stack_top);
}

static const struct insn *find_insn(const struct function *fn, __u64 ip)
{
	unsigned int i;

	if (ip - fn->start >= fn->size)
		return NULL;
	for (i = 0; i < fn->nr_insns; i++) {
		if (fn->start + fn->insns[i].offset == ip)
			return &fn->insns[i];
	}
	return NULL;
}

enum where { ELSEWHERE, ASTRAY, IN_LEVEL };

static enum where find_level(const struct chain *chain, __u64 ip,
			     const __u64 *regs, unsigned int *level,
			     const struct insn **insn)
{
	enum where where = ELSEWHERE;
	unsigned int i;
	__u64 sp;

	for (i = 0; i < chain->nr_levels; i++) {
		*insn = find_insn(chain->levels[i].fn, ip);
		if (!*insn)
			continue;
		where = ASTRAY;
		sp = regs[chain->levels[i].fn->own_stack ? code_reg_frame :
							   code_reg_sp];
		if (!chain->levels[i].cfa ||
		    sp + (*insn)->sp_to_cfa == chain->levels[i].cfa) {
			*level = i;
			return IN_LEVEL;
		}
	}
	return where;
}

static unsigned int true_stack(const struct chain *chain, unsigned int level,
			       __u64 ip, __u64 *ips)
{
	bool ends = chain->last >= 0 && (int)level >= chain->last;
	int i, last = ends ? chain->last : 0;
	unsigned int nr = 0;

	ips[nr++] = ip;
	for (i = (int)level - 1; i >= last; i--)
		ips[nr++] = chain->levels[i].return_to;
	if (!ends)
		ips[nr++] = (__u64)code_call_on_stack_return;
	return nr;
}

void verdicts_init(struct verdicts *verdicts, const struct chain *chain,
		   const char *context)
{
	memset(verdicts, 0, sizeof(*verdicts));
	verdicts->chain = chain;
	verdicts->context = context;
}

static void show_stack(const char *what, const __u64 *ips, __u64 nr)
{
	__u64 i;

	printf("#   %s", what);
	for (i = 0; i < nr; i++)
		printf(" %llx", ips[i]);
	printf("\n");
}

static void show(struct verdicts *verdicts, __u64 sp, const __u64 *truth,
		 unsigned int nr_truth, const __u64 *ips, __u64 nr)
{
	if (verdicts->shown++ >= MAX_SHOWN)
		return;
	printf("# %s: not exact, sp %llx\n", verdicts->context, sp);
	show_stack("true ", truth, nr_truth);
	show_stack("taken", ips, nr);
}

static void judge(struct verdicts *verdicts, __u64 ip, const __u64 *regs,
		  const __u64 *ips, __u64 nr)
{
	const struct chain *chain = verdicts->chain;
	__u64 truth[MAX_LEVELS + 2];
	const struct insn *insn;
	unsigned int level, nr_truth;

	switch (find_level(chain, ip, regs, &level, &insn)) {
	case ELSEWHERE:
		return;
	case ASTRAY:
		verdicts->astray++;
		return;
	default:
		break;
	}
	/* Native code in a prologue is nothing that this is to get right. */
	if ((chain->levels[level].fn->native && !insn->framed) ||
	    insn->unsettled)
		return;

	nr_truth = true_stack(chain, level, ip, truth);
	verdicts->samples++;
	verdicts->hits[level][insn - chain->levels[level].fn->insns]++;
	if (nr == nr_truth && !memcmp(ips, truth, nr * sizeof(*ips))) {
		verdicts->exact++;
		return;
	}
	if (nr < nr_truth && !memcmp(ips, truth, nr * sizeof(*ips)))
		verdicts->shorter++;
	else
		verdicts->wrong++;
	show(verdicts, regs[code_reg_sp], truth, nr_truth, ips, nr);
}

void verdicts_judge_stack(struct verdicts *verdicts, __u64 ip, __u64 sp,
			  const __u64 *ips, __u64 nr)
{
	__u64 regs[CODE_NR_REGS] = {};

	regs[code_reg_sp] = sp;
	judge(verdicts, ip, regs, ips, nr);
}

void verdicts_judge(const struct sample *sample, void *arg)
{
	judge(arg, sample->ip, sample->regs, sample->ips, sample->nr);
}

void verdicts_print(const struct verdicts *verdicts)
{
	printf("# %s: %llu samples in JIT code, %llu exact, %llu short, %llu wrong\n",
	       verdicts->context, verdicts->samples, verdicts->exact,
	       verdicts->shorter, verdicts->wrong);
	if (verdicts->astray)
		printf("# %s: %llu samples in states the chain cannot be in\n",
		       verdicts->context, verdicts->astray);
	fflush(stdout);
}
