"""Writes internal/zlibsize/testdata/lengths.txt: what zlib makes of many texts.

The texts are not stored. Both this script and internal/zlibsize/golden_test.go
make text number n by the same rule, and the file has the length that Python's
zlib.compress gives it, one line each, checked by the file's first lines.

    python3 tools/reference/zlib_goldens.py
"""

import hashlib
import pathlib
import zlib

OUT = pathlib.Path(__file__).parents[2] / "internal/zlibsize/testdata/lengths.txt"
COUNT = 4000
WORDS = (
    "the quick zero one two three four five six seven eight nine and so it was said that "
    "nobody knew why, Thank you. ♪ 日本語 はい だから ёж übergrößenträger I'm sorry... "
).split(" ")


class Rule:
    """A counter run through a hash (splitmix64): value i depends on i alone."""

    def __init__(self, seed):
        self.state = seed * 0x9E3779B97F4A7C15 & (1 << 64) - 1

    def next(self, below):
        self.state = self.state + 0x9E3779B97F4A7C15 & (1 << 64) - 1
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        z = (z ^ z >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        return (z ^ z >> 31) % below


def length(n, r):
    """Most texts are as long as those of a window; a few cross every boundary
    of the format: 16383 symbols, 32 KiB, 64 KiB."""
    if n % 100 == 99:
        return 20000 + r.next(180000)
    if n % 10 == 9:
        return r.next(20000)
    return r.next(600)


def noise(r, size, symbols):
    return bytes(r.next(symbols) * 7 + 33 & 255 for _ in range(size))


def words(r, size, few):
    out = b""
    while len(out) < size:
        out += b" " + WORDS[r.next(few)].encode()
    return out[:size]


def loop(r, size):
    phrase = words(r, 1 + r.next(400), len(WORDS))
    out = b""
    while len(out) < size:
        out += phrase
        if r.next(4) == 0:
            out += noise(r, 1 + r.next(3), 100)
    return out[:size]


def far(r, size):
    """Copies from all distances up to beyond the window, of all lengths."""
    out = noise(r, min(size, 300), 256)
    while len(out) < size:
        if r.next(3) == 0:
            out += noise(r, 1 + r.next(40), 256)
            continue
        at = len(out) - 1 - r.next(min(len(out), 40000))
        out += out[at : at + 3 + r.next(300)]
    return out[:size]


def skewed(r, size):
    """Frequencies that grow like Fibonacci numbers, so that the best code is deep."""
    out = bytearray()
    while len(out) < size:
        k = 0
        while k < 40 and r.next(13) < 5:
            k += 1
        out.append(65 + k)
    return bytes(out)


def text(n):
    r = Rule(n)
    size = length(n, r)
    kind = n % 7
    if kind == 0:
        return noise(r, size, 1 + r.next(256))
    if kind == 1:
        return words(r, size, len(WORDS))
    if kind == 2:
        return words(r, size, 1 + r.next(4))
    if kind == 3:
        return loop(r, size)
    if kind == 4:
        return far(r, size)
    if kind == 5:
        return skewed(r, size)
    return bytes([33 + r.next(90)]) * size


def main():
    texts = [text(n) for n in range(COUNT)]
    digest = hashlib.sha256(b"".join(texts)).hexdigest()
    lines = [
        "# len(zlib.compress(text n)), by tools/reference/zlib_goldens.py",
        f"# zlib {zlib.ZLIB_RUNTIME_VERSION}",
        f"# sha256 of all texts {digest}",
    ]
    lines += [str(len(zlib.compress(t))) for t in texts]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines) + "\n")


main()
