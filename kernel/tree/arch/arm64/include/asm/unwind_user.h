/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_ARM64_UNWIND_USER_H
#define _ASM_ARM64_UNWIND_USER_H

#ifdef CONFIG_UNWIND_USER

#include <linux/compat.h>

#include <asm/compiler.h>
#include <asm/ptrace.h>

static inline int unwind_user_word_size(struct pt_regs *regs)
{
	return compat_user_mode(regs) ? 4 : 8;
}

static inline unsigned long unwind_user_frame_pointer(struct pt_regs *regs)
{
	return compat_user_mode(regs) ? regs->compat_fp : frame_pointer(regs);
}

#define unwind_user_frame_pointer unwind_user_frame_pointer

static inline unsigned long unwind_user_strip_ra(unsigned long ra)
{
	return ptrauth_strip_user_insn_pac(ra);
}

#define unwind_user_strip_ra unwind_user_strip_ra

/*
 * AAPCS64, 6.4.6: X29 leads to {the caller's X29, LR}. Where in its frame that
 * record lies is up to the compiler, so "CFA" is only a bound of the caller's
 * stack pointer here. AArch32 tasks: APCS frames, {fp, sp, lr} below what R11
 * leads to, as in unwind_compat_user_frame().
 */
#define ARCH_INIT_USER_FP_FRAME(ws)			\
	.cfa_off	= is_compat_task() ? 0 : 16,	\
	.ra_off		= -(ws),			\
	.fp_off		= is_compat_task() ? -12 : -16,	\
	.use_fp		= true,

#endif /* CONFIG_UNWIND_USER */

#ifdef CONFIG_JIT_SFRAME

#include <linux/nospec.h>
#include <linux/signal_types.h>
#include <asm/ucontext.h>

#define UNWIND_USER_SFRAME_ABI	SFRAME_ABI_AARCH64_ENDIAN_LITTLE

/* DWARF register numbers, AADWARF64, table 1 */
#define UNWIND_USER_FP_REG	29
#define UNWIND_USER_LR_REG	30
#define UNWIND_USER_SP_REG	31

#define UNWIND_USER_FP_GIVES_SP	false

/* Any general register but LR and SP can be a frame register. */
static inline bool unwind_user_frame_reg_ok(unsigned int reg)
{
	return reg <= UNWIND_USER_FP_REG;
}

static inline int unwind_user_get_reg(const struct pt_regs *regs,
				      unsigned int reg, unsigned long *value)
{
	if (reg > UNWIND_USER_LR_REG)
		return -EINVAL;
	*value = regs->regs[array_index_nospec(reg, UNWIND_USER_LR_REG + 1)];
	return 0;
}

/*
 * Where a register is in what setup_rt_frame() made, counted from the stack
 * pointer after the handler's return.
 */
static inline int unwind_user_signal_reg_offset(unsigned int reg)
{
	if (reg > UNWIND_USER_LR_REG)
		return -EINVAL;
	return sizeof(struct siginfo) +
	       offsetof(struct ucontext, uc_mcontext.regs) + 8 * reg;
}

#endif /* CONFIG_JIT_SFRAME */

#endif /* _ASM_ARM64_UNWIND_USER_H */
