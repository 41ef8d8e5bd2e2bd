# SPDX-License-Identifier: MIT
"""What binutils prints of an SFrame section, as the text that sframe-dump writes (see README.md)."""
import re

FLAGS = {"SFRAME_F_FDE_SORTED": 1, "SFRAME_F_FRAME_POINTER": 2, "SFRAME_F_FDE_FUNC_START_PCREL": 4, "NONE": 0}
PLACE = r"\(?(?:sp|fp|c|r\d+)[+-]+\d+\)?"
# Columns touch when a value is wide: the grammar separates them, not the spaces.
ROW = re.compile(rf"^\s+([0-9a-f]{{16}})\s+(?:(RA undefined)|({PLACE})\s*(u|{PLACE})\s*(u|f|U|{PLACE})(\[s\])?)\s*$")
FUNCTION = re.compile(r"^\s+func idx \[(\d+)\]: pc = 0x([0-9a-f]+), size = (\d+) bytes(.*)$")
COLUMNS = re.compile(r"^\s+STARTPC(\[m\])?\s+CFA\s+FP\s+RA\s*$")
PC_BITS = (1 << 64) - 1


class Unreadable(Exception):
    pass


def place(text):
    """'fp+-8' -> 'fp-8'; '(fp-8)' -> '*(fp-8)'; what is CFA-based is always loaded: 'c-16' -> '*(c-16)'."""
    text = text.replace("+-", "-")
    if text.startswith("("):
        return "*" + text
    return f"*({text})" if text.startswith("c") else text


def return_address(abi, text, signed):
    # U: no rule of the row's own, with another rule behind it. So the ABI's place: fixed, or the link register.
    default = {"amd64": "f", "aarch64": "u"}[abi]
    rule = default if text in "fuU" else place(text)
    return rule + (signed or "")


def number(pattern, text, default=None):
    found = re.search(pattern, text)
    if not found and default is None:
        raise Unreadable(f"no {pattern} in what objdump printed:\n{text[:2000]}")
    return int(found[1]) if found else default


def header(abi, text):
    found = re.search(r"Flags: ((?:\w+)(?:,\s+\w+)*)", text)
    flags = sum(FLAGS[name] for name in re.split(r",\s+", found[1]))
    if "Version: SFRAME_VERSION_3" not in text:
        raise Unreadable("objdump does not say that this is version 3")
    return (f"section abi={abi} flags=0x{flags:x} fixed_fp={number(r'CFA fixed FP offset: (-?[0-9]+)', text, 0)}"
            f" fixed_ra={number(r'CFA fixed RA offset: (-?[0-9]+)', text, 0)}"
            f" fdes={number(r'Num FDEs: ([0-9]+)', text)} fres={number(r'Num FREs: ([0-9]+)', text)}")


def row(abi, start, masked, found):
    pc, undefined, cfa, fp, ra, signed = found.groups()
    offset = int(pc, 16) if masked else (int(pc, 16) - start) & PC_BITS
    if undefined:
        return f"row off=0x{offset:x} undefined"
    return (f"row off=0x{offset:x} cfa={place(cfa)} fp={'u' if fp == 'u' else place(fp)}"
            f" ra={return_address(abi, ra, signed)}")


def function(start, size, rest, masked):
    attributes = re.search(r'attr = "(\w*)"', rest)
    attributes = attributes[1] if attributes else ""
    return (f"func start=0x{start:x} size=0x{size:x} type={'pcmask' if masked else 'pcinc'}"
            f" kind={'flex' if 'F' in attributes else 'default'} signal={int('S' in attributes)}"
            f" key={'b' if 'pauth = B key' in rest else 'a'}")


def canonical(abi, text):
    """The lines of sframe-dump, but for rep=, which binutils does not print."""
    head, _, body = text.partition("Function Index :")
    lines = [header(abi, head)]
    pending, start, masked = None, 0, False
    for line in body.splitlines():
        if not line.strip():
            continue
        if found := FUNCTION.match(line):
            pending = found
            start = int(found[2], 16)
        elif pending and (found := COLUMNS.match(line)):
            masked = bool(found[1])
            lines.append(function(start, int(pending[3]), pending[4], masked))
            pending = None
        elif found := ROW.match(line):
            lines.append(row(abi, start, masked, found))
        else:
            raise Unreadable(f"objdump printed what this cannot read: {line!r}")
    return lines


def without_repetition(lines):
    return [re.sub(r" rep=\d+", "", line) for line in lines]
