#!/usr/bin/env python3
"""Predicts the speed of the arm64 kernels with llvm-mca; a Markdown table.

    tools/mca-arm64.py [--mca llvm-mca-22] [--out TABLE.md]

It runs the innermost loop of each kernel, from internal/kernel/*_arm64.s, through the model of each core, without
caches. Shares are relative to loops of only multiplications or only loads in the same model. Needs LLVM 19 or later: older ones have no model of Neoverse or Oryon.
Apple's chips since A14 have no model: apple-m1 is scheduled as the Cyclone of 2013, with three multipliers instead of
four. A prediction is not a measurement.
"""
import argparse
import re
import subprocess
from pathlib import Path

CORES = ["neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2", "ampere1b", "oryon-1", "apple-m1", "cortex-a53"]
HAVE_I8MM = {"neoverse-n2", "neoverse-v1", "neoverse-v2", "ampere1b", "oryon-1"}

FMLA, SDOT, SMMLA = "fmla {}.4s, v24.4s, v25.s[0]", "sdot {}.4s, v24.16b, v25.4b[0]", "smmla {}.4s, v24.16b, v25.16b"

# kernel, file, instruction that multiplies, its multiplications, and the one to compare with
TILES = [
    ("tileF32NEON, 8 rows", "matmul", "fmla", 4, FMLA),
    ("tileF16NEON, 8 rows", "matmul", "fmla", 4, FMLA),
    ("tileF32NEON, 4 rows", "matmul", "fmla", 4, FMLA),
    ("attendF32NEON, 4 rows", "attend", "fmla", 4, FMLA),
    ("tileInt8Dot, 8 rows", "matmul", "sdot", 16, SDOT),
    ("scoreInt8Dot, 8 rows", "attend", "sdot", 16, SDOT),
    ("tileGroupsDot, 4 rows", "fewbits", "sdot", 16, SDOT),
    ("directNibblesDot, 4 rows", "fewbits", "sdot", 16, SDOT),
    ("tileInt8x12I8MM", "matmul", "smmla", 32, SMMLA),
    ("tileInt8NEON, 4 rows", "matmul", "smull", 8, None),
]
# one row: bytes of weights that the loop reads, and the register that points to them
ROWS = [("tileF32NEON, 1 row", "matmul", 7), ("tileF16NEON, 1 row", "matmul", 7), ("tileInt8Dot, 1 row", "matmul", 7), ("directNibblesDot, 1 row", "fewbits", 6)]


def body(name, file):
    """The innermost loop of a kernel for some rows, in the syntax of LLVM."""
    name, _, rows = name.partition(", ")
    text = (Path("internal/kernel") / f"{file}_arm64.s").read_text()
    lines = text[text.index(f"TEXT ·{name}(SB)"):].split("\n")[1:]
    lines = lines[: next((i for i, l in enumerate(lines) if l.startswith("TEXT")), len(lines))]
    if rows:
        n = rows.split()[0]
        lines = lines[lines.index(f"rows{n}:") + 1 : lines.index(f"below{n}:")]
    best, start = None, {}
    for i, line in enumerate(lines):
        if line.endswith(":"):
            start[line[:-1]] = i
        m = re.match(r"\tB(NE|GE|LT) (\w+)$", line)
        if m and m[2] in start:
            part = lines[start[m[2]] + 1 : i]
            if not any(l.endswith(":") for l in part) and (best is None or len(part) > len(best)):
                best = part
    return [translate(l) for l in best]


def translate(line):
    line = line.strip()
    if line.startswith("WORD"):
        return line.split("// ")[1]
    m = re.match(r"(ADD|SUBS?|LSL) \$(\d+), R(\d+), R(\d+)$", line)
    if m:
        return f"{m[1].lower()} x{m[4]}, x{m[3]}, #{m[2]}"
    m = re.match(r"(ADD|SUBS?) R(\d+), R(\d+), R(\d+)$", line)
    if m:
        return f"{m[1].lower()} x{m[4]}, x{m[3]}, x{m[2]}"
    raise SystemExit(f"not understood: {line}")


def cycles(mca, core, code, times=200):
    out = subprocess.run([mca, "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+dotprod,+i8mm", f"-iterations={times}"], input="\n".join(code), text=True, capture_output=True)
    m = re.search(r"Total Cycles:\s+(\d+)", out.stdout)
    return int(m[1]) / times if m else None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mca", default="llvm-mca-22")
    a = ap.parse_args()
    print("| kernel | " + " | ".join(CORES) + " |")
    print("|---|" + "---|" * len(CORES))
    for name, file, multiply, each, peak in TILES:
        cells = []
        code = body(name, file)
        n = sum(l.startswith((multiply + " ", multiply + "2 ")) for l in code)
        for core in CORES:
            if multiply == "smmla" and core not in HAVE_I8MM or multiply == "sdot" and core == "cortex-a53":
                cells.append("–")
                continue
            c = cycles(a.mca, core, code)
            if c is None:
                cells.append("no model")
                continue
            rate = n * each / c
            if peak is None:
                cells.append(f"{rate:.0f}")
                continue
            top = [peak.format(f"v{i}") for i in range(24)]
            best = len(top) * each / cycles(a.mca, core, top)
            cells.append(f"{rate:.0f} ({100 * rate / best:.0f} %)")
        print(f"| {name}: multiply-adds a cycle | " + " | ".join(cells) + " |")
    read = [f"ldur q{i % 8}, [x0, #{16 * i - 256}]" for i in range(32)]
    for name, file, pointer in ROWS:
        cells = []
        code = body(name, file)
        size = 16 * sum(len(re.findall(r"q\d+", l)) for l in code if re.match(rf"ld.*\[x{pointer}\b", l))
        for core in CORES:
            if "Dot" in name and core == "cortex-a53":
                cells.append("–")
                continue
            c = cycles(a.mca, core, code)
            if c is None:
                cells.append("no model")
                continue
            rate = size / c
            best = 16 * len(read) / cycles(a.mca, core, read)
            cells.append(f"{rate:.0f} of {best:.0f}")
        print(f"| {name}: bytes a cycle | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
