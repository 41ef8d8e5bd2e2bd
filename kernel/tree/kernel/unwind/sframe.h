/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * SFrame V3: the format as bytes.
 *
 * Facts from "The SFrame format", version 3 (sframe-spec, binutils 2.46).
 * All values are stored in the byte order of the machine they describe.
 */
#ifndef _SFRAME_H
#define _SFRAME_H

#include <linux/types.h>

#define SFRAME_MAGIC			0xdee2
#define SFRAME_VERSION_3		3

/* sfp_flags */
#define SFRAME_F_FDE_SORTED		0x1
#define SFRAME_F_FRAME_POINTER		0x2	/* before V3; carries nothing */
#define SFRAME_F_FDE_FUNC_START_PCREL	0x4
#define SFRAME_F_ALL			0x7

/* sfh_abi_arch */
#define SFRAME_ABI_AARCH64_ENDIAN_BIG		1
#define SFRAME_ABI_AARCH64_ENDIAN_LITTLE	2
#define SFRAME_ABI_AMD64_ENDIAN_LITTLE		3

/* sfda_func_info */
#define SFRAME_FDE_FRE_TYPE(info)	((info) & 0xf)
#define SFRAME_FDE_PCTYPE_MASK		0x10
#define SFRAME_FDE_PAUTH_KEY_B		0x20
#define SFRAME_FDE_INFO_UNUSED		0x40
#define SFRAME_FDE_SIGNAL		0x80

#define SFRAME_FRE_TYPE_ADDR1		0
#define SFRAME_FRE_TYPE_ADDR2		1
#define SFRAME_FRE_TYPE_ADDR4		2

/* sfda_func_info2 */
#define SFRAME_FDE_TYPE(info2)		((info2) & 0x1f)
#define SFRAME_FDE_INFO2_UNUSED		0xe0
#define SFRAME_FDE_TYPE_DEFAULT		0
#define SFRAME_FDE_TYPE_FLEX		1

/* sfre_info */
#define SFRAME_FRE_CFA_BASE_SP		0x01	/* else FP; not in the spec: gas */
#define SFRAME_FRE_DATAWORD_COUNT(info)	(((info) >> 1) & 0xf)
#define SFRAME_FRE_DATAWORD_SIZE(info)	(((info) >> 5) & 0x3)
#define SFRAME_FRE_MANGLED_RA		0x80

#define SFRAME_FRE_DATAWORD_1B		0
#define SFRAME_FRE_DATAWORD_2B		1
#define SFRAME_FRE_DATAWORD_4B		2

#define SFRAME_FRE_MAX_DATAWORDS	15

/* The control word of a flexible FDE's rule. */
#define SFRAME_FLEX_REG			0x1	/* base is a register, else CFA */
#define SFRAME_FLEX_DEREF		0x2	/* the value is in memory there */
#define SFRAME_FLEX_UNUSED		0x4
#define SFRAME_FLEX_REGNUM(control)	((control) >> 3)

#pragma pack(push, 1)

struct sframe_header {
	__u16 sfp_magic;
	__u8 sfp_version;
	__u8 sfp_flags;
	__u8 sfh_abi_arch;
	__s8 sfh_cfa_fixed_fp_offset;
	__s8 sfh_cfa_fixed_ra_offset;
	__u8 sfh_auxhdr_len;
	__u32 sfh_num_fdes;
	__u32 sfh_num_fres;
	__u32 sfh_fre_len;
	__u32 sfh_fdeoff;
	__u32 sfh_freoff;
};

struct sframe_func_desc_idx {
	__s64 sfdi_func_start_offset;
	__u32 sfdi_func_size;
	__u32 sfdi_func_start_fre_off;
};

struct sframe_func_desc_attr {
	__u16 sfda_func_num_fres;
	__u8 sfda_func_info;
	__u8 sfda_func_info2;
	__u8 sfda_func_rep_size;
};

#pragma pack(pop)

#endif /* _SFRAME_H */
