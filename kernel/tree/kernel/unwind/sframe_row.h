/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What an SFrame row says, decoded and validated: how to get from a frame to
 * its caller. No bit of the encoding is left in it.
 */
#ifndef _SFRAME_ROW_H
#define _SFRAME_ROW_H

#include <linux/types.h>

/**
 * enum sframe_rule_kind - where a value comes from
 * @SFRAME_RULE_UNCHANGED: the register keeps its value; for the return
 *	address: it is still in the link register
 * @SFRAME_RULE_CFA: the value is CFA + offset
 * @SFRAME_RULE_CFA_DEREF: the value is in memory at CFA + offset
 * @SFRAME_RULE_REG: the value is a register + offset
 * @SFRAME_RULE_REG_DEREF: the value is in memory at a register + offset
 */
enum sframe_rule_kind {
	SFRAME_RULE_UNCHANGED,
	SFRAME_RULE_CFA,
	SFRAME_RULE_CFA_DEREF,
	SFRAME_RULE_REG,
	SFRAME_RULE_REG_DEREF,
};

/* DWARF register numbers below this one are accepted. */
#define SFRAME_MAX_REGS		64

/**
 * struct sframe_rule - how to recover one value
 * @kind: enum sframe_rule_kind
 * @reg: DWARF register number, for the REG kinds
 * @offset: in bytes
 */
struct sframe_rule {
	__u8 kind;
	__u8 reg;
	__s32 offset;
};

/**
 * struct sframe_row - the row that covers a PC
 * @cfa: the canonical frame address; always of a REG kind
 * @ra: the return address
 * @fp: the caller's frame pointer
 * @outermost: there is no caller; the rules mean nothing
 * @flexible: the rules name their registers; otherwise "FP" is what the text uses
 *	as its frame pointer
 * @signal: the caller was interrupted here, it made no call
 * @ra_mangled: the return address carries an authentication code
 * @pauth_key_b: signed with AArch64's key B rather than A
 */
struct sframe_row {
	struct sframe_rule cfa;
	struct sframe_rule ra;
	struct sframe_rule fp;
	__u8 outermost;
	__u8 flexible;
	__u8 signal;
	__u8 ra_mangled;
	__u8 pauth_key_b;
};

#endif /* _SFRAME_ROW_H */
