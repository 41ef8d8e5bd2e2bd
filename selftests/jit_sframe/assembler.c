// SPDX-License-Identifier: GPL-2.0
/*
 * What the emitters of all architectures share.
 */
#include <string.h>

#include "assembler.h"

__u32 asm_offset(const struct assembler *a)
{
	return (__u32)((__u64)a->at - a->fn->start);
}

void asm_begin(struct assembler *a, struct function *fn, void *at, __u32 spin)
{
	memset(fn, 0, sizeof(*fn));
	fn->start = (__u64)at;
	memset(a, 0, sizeof(*a));
	a->fn = fn;
	a->at = at;
	a->spin = spin;
	a->trap_at = NO_TRAP;
	/* A call has pushed a return address, or nothing. */
	a->row.cfa = -code_sframe_fixed_ra;
	a->sp_to_cfa = -code_sframe_fixed_ra;
}

void asm_end(struct assembler *a)
{
	a->fn->size = asm_offset(a);
	/* The same thread runs it: nothing more than this is needed. */
	__builtin___clear_cache((char *)a->fn->start, (char *)a->at);
}

static bool same_rule(const struct row *a, const struct row *b)
{
	return a->base_fp == b->base_fp && a->outermost == b->outermost &&
	       a->mangled == b->mangled && a->cfa == b->cfa &&
	       a->ra == b->ra && a->fp == b->fp &&
	       a->nr_words == b->nr_words &&
	       !memcmp(a->words, b->words, sizeof(a->words));
}

void asm_mark(struct assembler *a)
{
	struct function *fn = a->fn;
	struct insn *insn = &fn->insns[fn->nr_insns++];

	insn->offset = asm_offset(a);
	insn->sp_to_cfa = a->sp_to_cfa;
	insn->framed = a->framed;
	insn->unsettled = a->unsettled;
	if (fn->nr_rows && same_rule(&fn->rows[fn->nr_rows - 1], &a->row))
		return;
	a->row.start = insn->offset;
	fn->rows[fn->nr_rows++] = a->row;
}

void asm_emit(struct assembler *a, const void *code, size_t len)
{
	memcpy(a->at, code, len);
	a->at += len;
}

void asm_lead_in(struct assembler *a)
{
	if (a->nr++ == a->trap_at) {
		/* What the signal handler's caller is found to be at. */
		a->fn->return_offset = asm_offset(a);
		asm_mark(a);
		arch_trap(a);
	}
	if (a->spin)
		arch_spin(a);
	asm_mark(a);
}

void asm_insn(struct assembler *a, const void *code, size_t len)
{
	asm_lead_in(a);
	asm_emit(a, code, len);
}

void asm_moved(struct assembler *a, __s32 by)
{
	a->sp_to_cfa += by;
	if (!a->row.base_fp && !a->row.nr_words)
		a->row.cfa += by;
}

void asm_flexible(struct assembler *a, const __s32 *words, __u8 nr)
{
	memset(a->row.words, 0, sizeof(a->row.words));
	memcpy(a->row.words, words, nr * sizeof(*words));
	a->row.nr_words = nr;
}

void code_emit(struct function *fn, void *at, enum shape shape,
	       const void *callee, __u32 spin)
{
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	arch_emit_shape(&a, shape, callee);
	asm_end(&a);
}

bool code_emit_trapping(struct function *fn, void *at, enum shape shape,
			unsigned int nth, __u32 spin)
{
	struct assembler a;

	asm_begin(&a, fn, at, spin);
	a.trap_at = nth;
	arch_emit_shape(&a, shape, NULL);
	asm_end(&a);
	return nth < a.nr;
}
