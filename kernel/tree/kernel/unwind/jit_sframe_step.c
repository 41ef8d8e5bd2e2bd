// SPDX-License-Identifier: GPL-2.0
/*
 * From a frame in a JIT SFrame area's text to its caller's.
 */
#include <linux/jit_sframe.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include "jit_sframe.h"

/* Lookups a walk may start over because the process flipped its tables. */
#define RETRIES_ATOMIC		32
#define RETRIES_FAULTABLE	1024

/*
 * Rows of the functions that a walk may look at, a lookup counting as some. Where
 * it may not sleep it is enough for 64 rows in each of 127 frames, the most a live
 * area can ask for, and takes well below a millisecond.
 */
#define ROWS_ATOMIC		16384
#define ROWS_FAULTABLE		4000000

/*
 * A function that a uretprobe watches returns to a trampoline, of which no table
 * knows anything. The address it displaced is at hand.
 */
static void leave_trampoline(struct unwind_user_state *state)
{
#ifdef CONFIG_UPROBES
	struct return_instance *ri = state->sframe.return_instance;
	bool chained;

	if (likely(!ri) || state->ip != uprobe_get_trampoline_vaddr())
		return;
	state->ip = ri->orig_ret_vaddr;
	/* Several probes on one function share its return address. */
	do {
		chained = ri->chained;
		ri = ri->next;
	} while (chained && ri);
	state->sframe.return_instance = ri;
#endif
}

/**
 * unwind_user_sframe_start - prepare a walk
 * @state: its registers are set
 * @regs: where they are from
 * @atomic: the walk may not sleep
 * @fp_any_order: frame pointers may lead down the stack in text without an area
 */
void unwind_user_sframe_start(struct unwind_user_state *state,
			      struct pt_regs *regs, bool atomic,
			      bool fp_any_order)
{
	struct unwind_user_sframe *sframe = &state->sframe;

	sframe->regs = regs;
	if (state->ws != sizeof(u64) || !current->mm ||
	    !jit_sframe_active(current->mm))
		return;
	state->available_types |= UNWIND_USER_TYPE_JIT_SFRAME;
	sframe->interrupted = true;
	sframe->sp_known = true;
	sframe->any_order_allowed = fp_any_order;
	sframe->budget.retries = atomic ? RETRIES_ATOMIC : RETRIES_FAULTABLE;
	sframe->budget.rows = atomic ? ROWS_ATOMIC : ROWS_FAULTABLE;
	sframe->budget.max_static_rows = atomic ? JIT_SFRAME_MAX_STATIC_ROWS :
						  U16_MAX;
#ifdef CONFIG_UPROBES
	if (current->utask)
		sframe->return_instance = current->utask->return_instances;
#endif
	leave_trampoline(state);
}

/**
 * unwind_user_sframe_stepped - put right what any step leaves behind
 * @state: now at the caller's frame
 */
void unwind_user_sframe_stepped(struct unwind_user_state *state)
{
	struct unwind_user_sframe *sframe = &state->sframe;

	if (!(state->available_types & UNWIND_USER_TYPE_JIT_SFRAME))
		return;
	leave_trampoline(state);
	/* Frame pointers lead to callers, and say nothing of other registers. */
	if (state->current_type == UNWIND_USER_TYPE_FP) {
		sframe->interrupted = false;
		sframe->signal_sp = 0;
		sframe->frame_reg_known = false;
		sframe->sp_known = UNWIND_USER_FP_GIVES_SP;
	}
}

static bool uses_frame_reg(const struct jit_sframe_register *area)
{
	return area->flags & JIT_SFRAME_FRAME_REG;
}

/* A register of the frame that a signal interrupted. */
static int get_signal_reg(u64 sp, u8 reg, u64 *value)
{
	int offset = unwind_user_signal_reg_offset(reg);

	if (!sp || offset < 0)
		return -EINVAL;
	return get_user(*value, (u64 __user *)u64_to_user_ptr(sp + offset));
}

static int get_reg(const struct unwind_user_state *state,
		   const struct jit_sframe_register *area, u8 reg, u64 *value)
{
	const struct unwind_user_sframe *sframe = &state->sframe;
	unsigned long word;

	if (reg == UNWIND_USER_SP_REG) {
		if (!sframe->sp_known)
			return -EINVAL;
		*value = state->sp;
		return 0;
	}
	if (reg == UNWIND_USER_FP_REG) {
		*value = state->fp;
		return 0;
	}
	if (uses_frame_reg(area) && reg == area->frame_reg &&
	    sframe->frame_reg_known && sframe->frame_reg_num == reg) {
		*value = sframe->frame_reg;
		return 0;
	}
	/* Any other register is known only where it has not been called from. */
	if (!state->topmost)
		return get_signal_reg(sframe->signal_sp, reg, value);
	if (unwind_user_get_reg(sframe->regs, reg, &word))
		return -EINVAL;
	*value = word;
	return 0;
}

static int apply_rule(const struct unwind_user_state *state,
		      const struct jit_sframe_register *area,
		      const struct sframe_rule *rule, u64 cfa, u64 *value)
{
	u64 base = cfa;

	if ((rule->kind == SFRAME_RULE_REG ||
	     rule->kind == SFRAME_RULE_REG_DEREF) &&
	    get_reg(state, area, rule->reg, &base))
		return -EINVAL;

	base += rule->offset;
	if (rule->kind == SFRAME_RULE_CFA || rule->kind == SFRAME_RULE_REG) {
		*value = base;
		return 0;
	}
	return get_user(*value, (u64 __user *)u64_to_user_ptr(base));
}

static int return_address(const struct unwind_user_state *state,
			  const struct jit_sframe_register *area,
			  const struct sframe_row *row, u64 cfa, u64 *ra)
{
	if (row->ra.kind == SFRAME_RULE_UNCHANGED) {
		if (get_reg(state, area, UNWIND_USER_LR_REG, ra))
			return -EINVAL;
	} else if (apply_rule(state, area, &row->ra, cfa, ra)) {
		return -EINVAL;
	}
	*ra = unwind_user_strip_ra(*ra);
	return *ra ? 0 : -EINVAL;
}

/* The rule for the CFA, with the register that "FP" stands for. */
static struct sframe_rule cfa_rule(const struct jit_sframe_register *area,
				   const struct sframe_row *row)
{
	struct sframe_rule rule = row->cfa;

	if (uses_frame_reg(area) && !row->flexible &&
	    rule.reg == UNWIND_USER_FP_REG)
		rule.reg = area->frame_reg;
	return rule;
}

/*
 * The stack of calls grows one way, which also makes a walk end. A signal may
 * have come in on another stack, and a language may keep one of its own: there
 * the bound on the number of frames ends it.
 */
static bool cfa_in_order(const struct unwind_user_state *state,
			 const struct jit_sframe_register *area,
			 const struct sframe_row *row, u64 cfa)
{
	if (row->signal || uses_frame_reg(area))
		return true;
	if (cfa & (state->ws - 1))
		return false;
	return state->sframe.interrupted ? cfa >= state->sp : cfa > state->sp;
}

/* The caller's frame register: FP, or what the area uses in its place. */
static int caller_frame_reg(struct unwind_user_state *state,
			    const struct jit_sframe_register *area,
			    const struct sframe_row *row, u64 cfa)
{
	struct unwind_user_sframe *sframe = &state->sframe;
	bool own = uses_frame_reg(area) &&
		   area->frame_reg != UNWIND_USER_FP_REG;
	u64 value;

	if (row->fp.kind != SFRAME_RULE_UNCHANGED) {
		if (apply_rule(state, area, &row->fp, cfa, &value))
			return -EINVAL;
	} else if (!own) {
		sframe->frame_reg_known = false;
		return 0;
	} else if (get_reg(state, area, area->frame_reg, &value)) {
		sframe->frame_reg_known = false;
		return 0;
	}

	sframe->frame_reg_known = own;
	if (own) {
		sframe->frame_reg = value;
		sframe->frame_reg_num = area->frame_reg;
	} else {
		state->fp = value;
	}
	return 0;
}

static int apply_row(struct unwind_user_state *state,
		     const struct jit_sframe_register *area,
		     const struct sframe_row *row)
{
	struct unwind_user_sframe *sframe = &state->sframe;
	struct sframe_rule rule;
	u64 cfa, ra;

	if (row->outermost)
		return -EINVAL;
	rule = cfa_rule(area, row);
	if (apply_rule(state, area, &rule, 0, &cfa) ||
	    !cfa_in_order(state, area, row, cfa) ||
	    return_address(state, area, row, cfa, &ra) ||
	    caller_frame_reg(state, area, row, cfa))
		return -EINVAL;

	sframe->signal_sp = row->signal && sframe->sp_known ? state->sp : 0;
	sframe->interrupted = row->signal;
	state->ip = ra;
	state->sp = cfa;
	sframe->sp_known = true;
	state->topmost = false;
	return 0;
}

/* Lookups, until one is of an area that stayed registered all the time. */
static int lookup(struct jit_sframe_entry *entry, u64 pc,
		  struct jit_sframe_budget *budget, struct sframe_row *row)
{
	int ret;

	for (;;) {
		ret = jit_sframe_lookup(&entry->reg, pc, budget, row);
		if (jit_sframe_area_stays(pc, entry))
			return ret;
		if (!budget->retries)
			return -EAGAIN;
		budget->retries--;
		if (!jit_sframe_find_area(pc, entry))
			return -ENOENT;
	}
}

/**
 * unwind_user_next_jit_sframe - go to the caller by what an area says
 * @state: the walk
 *
 * Return: 0; -ENOENT if no area speaks of this frame and another method may be
 * tried; -EINVAL if the walk ends here.
 */
int unwind_user_next_jit_sframe(struct unwind_user_state *state)
{
	struct unwind_user_sframe *sframe = &state->sframe;
	struct jit_sframe_entry entry;
	struct sframe_row row;
	/* A call may be the last instruction: look at it, not behind it. */
	u64 pc = state->ip - !sframe->interrupted;
	int ret;

	/* Text without an area is walked as if the process had none at all. */
	sframe->fp_any_order = sframe->any_order_allowed;
	if (!jit_sframe_find_area(pc, &entry))
		return -ENOENT;
	sframe->fp_any_order = false;
	ret = lookup(&entry, pc, &sframe->budget, &row);
	if (ret == -ENOENT && !(entry.reg.flags & JIT_SFRAME_NO_FP_FALLBACK))
		return -ENOENT;
	return ret ? -EINVAL : apply_row(state, &entry.reg, &row);
}
