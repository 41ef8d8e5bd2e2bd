/* SPDX-License-Identifier: MIT */
/* The numbers of DWARF 5, the LSB and the AArch64 DWARF ABI that CFI is made of. */
#ifndef JITSFRAME_LIB_ROWS_DWARF_HPP
#define JITSFRAME_LIB_ROWS_DWARF_HPP

#include <cstdint>

namespace jitsframe::dwarf {

/* DWARF 5, table 7.29; the upper two bits of the first three are the whole opcode. */
enum Cfa : std::uint8_t {
	cfa_advance_loc = 0x40,
	cfa_offset = 0x80,
	cfa_restore = 0xc0,
	cfa_nop = 0x00,
	cfa_set_loc = 0x01,
	cfa_advance_loc1 = 0x02,
	cfa_advance_loc2 = 0x03,
	cfa_advance_loc4 = 0x04,
	cfa_offset_extended = 0x05,
	cfa_restore_extended = 0x06,
	cfa_undefined = 0x07,
	cfa_same_value = 0x08,
	cfa_register = 0x09,
	cfa_remember_state = 0x0a,
	cfa_restore_state = 0x0b,
	cfa_def_cfa = 0x0c,
	cfa_def_cfa_register = 0x0d,
	cfa_def_cfa_offset = 0x0e,
	cfa_def_cfa_expression = 0x0f,
	cfa_expression = 0x10,
	cfa_offset_extended_sf = 0x11,
	cfa_def_cfa_sf = 0x12,
	cfa_def_cfa_offset_sf = 0x13,
	cfa_val_offset = 0x14,
	cfa_val_offset_sf = 0x15,
	cfa_val_expression = 0x16,
	cfa_mips_advance_loc8 = 0x1d,
	cfa_aarch64_negate_ra_state_with_pc = 0x2c,
	cfa_aarch64_negate_ra_state = 0x2d,
	cfa_gnu_args_size = 0x2e,
	cfa_gnu_negative_offset_extended = 0x2f,
};

/* DWARF 5, table 7.9: what CFI of compilers and linkers is made of. */
enum Op : std::uint8_t {
	op_addr = 0x03,
	op_deref = 0x06,
	op_const1u = 0x08,
	op_const1s = 0x09,
	op_const2u = 0x0a,
	op_const2s = 0x0b,
	op_const4u = 0x0c,
	op_const4s = 0x0d,
	op_const8u = 0x0e,
	op_const8s = 0x0f,
	op_constu = 0x10,
	op_consts = 0x11,
	op_dup = 0x12,
	op_drop = 0x13,
	op_over = 0x14,
	op_swap = 0x16,
	op_and = 0x1a,
	op_minus = 0x1c,
	op_plus = 0x22,
	op_plus_uconst = 0x23,
	op_shl = 0x24,
	op_ge = 0x2a,
	op_lit0 = 0x30,
	op_lit31 = 0x4f,
	op_breg0 = 0x70,
	op_breg31 = 0x8f,
	op_bregx = 0x92,
	op_nop = 0x96,
};

/* LSB 5, "DWARF Exception Header Encoding": format, then application, then indirection. */
inline constexpr std::uint8_t pe_format = 0x0f;
inline constexpr std::uint8_t pe_absptr = 0x00;
inline constexpr std::uint8_t pe_uleb128 = 0x01;
inline constexpr std::uint8_t pe_udata2 = 0x02;
inline constexpr std::uint8_t pe_udata4 = 0x03;
inline constexpr std::uint8_t pe_udata8 = 0x04;
inline constexpr std::uint8_t pe_sleb128 = 0x09;
inline constexpr std::uint8_t pe_sdata2 = 0x0a;
inline constexpr std::uint8_t pe_sdata4 = 0x0b;
inline constexpr std::uint8_t pe_sdata8 = 0x0c;
inline constexpr std::uint8_t pe_application = 0x70;
inline constexpr std::uint8_t pe_pcrel = 0x10;
inline constexpr std::uint8_t pe_textrel = 0x20;
inline constexpr std::uint8_t pe_datarel = 0x30;
inline constexpr std::uint8_t pe_funcrel = 0x40;
inline constexpr std::uint8_t pe_aligned = 0x50;
inline constexpr std::uint8_t pe_indirect = 0x80;
inline constexpr std::uint8_t pe_direct = 0x7f;
inline constexpr std::uint8_t pe_omit = 0xff;

/* AADWARF64, 4.1: bit 0 says whether the RA is signed. */
inline constexpr std::uint64_t aarch64_ra_sign_state = 34;

} // namespace jitsframe::dwarf

#endif
