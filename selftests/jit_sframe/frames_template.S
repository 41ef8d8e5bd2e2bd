/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Templates: pieces of machine code that frames.c copies to where they run and
 * strings together, each with its SFrame rows and the places at which it can be
 * sampled. For the assembler; the architecture defines SPIN before its use: a
 * loop that touches neither flags nor stack, so that a sample can hit every state
 * of a frame, also where the machine takes interrupts at jumps only.
 *
 *	BEGIN name
 *	RULE ...		data words of the flexible rows from here on;
 *				none: outermost
 *	I instruction		a place that is sampled: a spin, then it
 *	.set frames_side, 1	from here on the stack is another one
 *	END name, ...		and where its entry, its call's return address
 *				and the words to fill in are
 */
#ifndef _JIT_SFRAME_FRAMES_TEMPLATE_H
#define _JIT_SFRAME_FRAMES_TEMPLATE_H

/* Pairs of control and offset words. No spaces: they would end an argument. */
#define REG(reg, offset)	(reg)*8+1,offset
#define DEREF(reg, offset)	(reg)*8+3,offset
#define AT_CFA(offset)		2,offset
/* A control word alone: what the ABI lays down, or unchanged. */
#define DEFAULT			0

	.macro BEGIN name
	.set	frames_side, 0
	.pushsection .rodata.frames_rows, "a"
	.balign	4
\name\()_rows:
	.popsection
	.pushsection .rodata.frames_places, "a"
	.balign	4
\name\()_places:
	.popsection
	.text
	.balign	16
\name\()_text:
1000:
	.endm

	/* struct template_row */
	.macro RULE words:vararg
	.set	frames_words, 0
	.irp	word, \words
	.ifnb	\word
	.set	frames_words, frames_words + 1
	.endif
	.endr
1001:
	.pushsection .rodata.frames_rows, "a"
	.long	1001b - 1000b, frames_words
	.irp	word, \words
	.ifnb	\word
	.long	\word
	.endif
	.endr
	.fill	6 - frames_words, 4, 0
	.popsection
	.endm

	/* struct template_place */
	.macro PLACE spin=0
1001:
	.pushsection .rodata.frames_places, "a"
	.long	1001b - 1000b, \spin, frames_side
	.popsection
	.endm

	.macro I instruction:vararg
	SPIN
	PLACE
	\instruction
	.endm

	/* A word to be filled in, where no code runs into it. */
	.macro HOLE label
	.balign	8
\label:	.quad	0
	.endm

	/* struct template */
	.macro END name, entry=0, ret=0, hole0=0, hole1=0, hole2=0
	.balign	8
1001:
	.pushsection .data.rel.ro.frames, "aw"
	.balign	8
	.globl	\name
	.type	\name, %object
\name:
	.quad	\name\()_text, \name\()_rows, \name\()_places
	.long	1001b - 1000b
	.pushsection .rodata.frames_rows, "a"
1002:
	.popsection
	.long	(1002b - \name\()_rows) / 32
	.pushsection .rodata.frames_places, "a"
1003:
	.popsection
	.long	(1003b - \name\()_places) / 12
	FRAMES_OFFSET \name, \entry
	FRAMES_OFFSET \name, \ret
	FRAMES_OFFSET \name, \hole0
	FRAMES_OFFSET \name, \hole1
	FRAMES_OFFSET \name, \hole2
	.size	\name, . - \name
	.popsection
	.endm

	.macro FRAMES_OFFSET name, label
	.ifc	\label, 0
	.long	0
	.else
	.long	\label - \name\()_text
	.endif
	.endm

#endif
