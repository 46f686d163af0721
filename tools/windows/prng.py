"""Writes a DLL with one function, ProcessPrng, which advapi32 provides: Go needs it, and Wine 8 has none.

    python3 tools/windows/prng.py …/system32/bcryptprimitives.dll
"""

import struct
import sys

START = 0x1000  # of the only section, in memory
NAMES = [b"bcryptprimitives.dll", b"ProcessPrng", b"advapi32.SystemFunction036"]

table = 40 + 4 + 4 + 2  # the export directory, one address, one name, one ordinal
dll, name, target = (START + table + sum(len(n) + 1 for n in NAMES[:i]) for i in range(3))
section = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, dll, 1, 1, 1, START + 40, START + 44, START + 48)
section += struct.pack("<IIH", target, name, 0) + b"".join(n + b"\0" for n in NAMES)

header = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
header += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)  # amd64, one section, a DLL
header += struct.pack("<HBBIIIIIQIIHHHHHHIIIIHHQQQQII", 0x20B, 14, 0, 0, 0x200, 0, 0, START, 0x180000000, 0x1000, 0x200,
                      6, 0, 0, 0, 6, 0, 0, 0x2000, 0x200, 0, 3, 0x160, 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
header += struct.pack("<II", START, len(section)) + bytes(8 * 15)  # exports, and nothing else
header += b".rdata\0\0" + struct.pack("<IIIIIIHHI", len(section), START, 0x200, 0x200, 0, 0, 0, 0, 0x40000040)

with open(sys.argv[1], "wb") as f:
    f.write(header.ljust(0x200, b"\0") + section.ljust(0x200, b"\0"))
