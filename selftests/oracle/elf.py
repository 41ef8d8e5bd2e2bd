# SPDX-License-Identifier: MIT
"""The smallest ELF file that binutils prints an SFrame section of."""
import struct

SHT_STRTAB = 3
SHT_GNU_SFRAME = 0x6FFFFFF4
SHF_ALLOC = 2
ET_DYN = 3
MACHINE = {"amd64": 62, "aarch64": 183}
EHDR_SIZE, PHDR_SIZE, SHDR_SIZE = 64, 56, 64
IDENT = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)  # 64-bit, little endian, version 1
NAMES = b"\0.sframe\0.shstrtab\0"


def section_header(name, kind, flags, address, offset, size, alignment):
    return struct.pack("<IIQQQQIIQQ", NAMES.index(name), kind, flags, address, offset, size, 0, 0, alignment, 0)


def wrap(abi, section, address=0):
    """An ELF file with this .sframe section at this virtual address."""
    names_offset = EHDR_SIZE + len(section)
    table_offset = (names_offset + len(NAMES) + 7) & ~7
    header = struct.pack("<16sHHIQQQIHHHHHH", IDENT, ET_DYN, MACHINE[abi], 1, 0, 0, table_offset, 0,
                         EHDR_SIZE, PHDR_SIZE, 0, SHDR_SIZE, 3, 2)
    body = (header + section + NAMES).ljust(table_offset, b"\0")
    return (body + bytes(SHDR_SIZE)
            + section_header(b".sframe\0", SHT_GNU_SFRAME, SHF_ALLOC, address, EHDR_SIZE, len(section), 8)
            + section_header(b".shstrtab\0", SHT_STRTAB, 0, 0, names_offset, len(NAMES), 1))
