/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the emitters of all architectures share: they write instructions, and
 * note in front of each what is true and which row says it.
 */
#ifndef _JIT_SFRAME_ASSEMBLER_H
#define _JIT_SFRAME_ASSEMBLER_H

#include "code.h"

/* Control words of flexible rows. */
#define FLEX_CFA_DEREF		2
#define FLEX_REG(reg)		((reg) << 3 | 1)
#define FLEX_REG_DEREF(reg)	((reg) << 3 | 3)

/**
 * struct assembler - a function that is being emitted
 * @fn: the function
 * @at: where the next instruction goes
 * @spin: turns to spin in front of each instruction; 0: no spins
 * @trap_at: the instruction to trap in front of
 * @nr: instructions so far, spins and traps not counted
 * @row: the rule now
 * @sp_to_cfa: the truth now
 * @framed: as in struct insn
 * @unsettled: as in struct insn
 */
struct assembler {
	struct function *fn;
	__u8 *at;
	__u32 spin;
	unsigned int trap_at;
	unsigned int nr;
	struct row row;
	__s32 sp_to_cfa;
	bool framed;
	bool unsettled;
};

#define NO_TRAP		(~0U)

/* The state is that of a function just called. */
void asm_begin(struct assembler *a, struct function *fn, void *at, __u32 spin);
void asm_end(struct assembler *a);
__u32 asm_offset(const struct assembler *a);

/* An instruction starts here. */
void asm_mark(struct assembler *a);
/* Bytes, whatever they are. */
void asm_emit(struct assembler *a, const void *code, size_t len);
/* What stands in front of an instruction: a trap, a spin, a mark. */
void asm_lead_in(struct assembler *a);
void asm_insn(struct assembler *a, const void *code, size_t len);

/* The stack pointer went down by this much. */
void asm_moved(struct assembler *a, __s32 by);

/* From here on the row is a flexible one. */
void asm_flexible(struct assembler *a, const __s32 *words, __u8 nr);

#define FLEXIBLE(a, ...)					\
do {								\
	static const __s32 words_[] = { __VA_ARGS__ };		\
								\
	asm_flexible(a, words_, sizeof(words_) / sizeof(__s32));	\
} while (0)

/* By architecture: all of a function with such a frame. */
void arch_emit_shape(struct assembler *a, enum shape frame, const void *callee);
/* Instructions that change neither flags nor stack. */
void arch_spin(struct assembler *a);
/* SIGILL */
void arch_trap(struct assembler *a);

#endif
