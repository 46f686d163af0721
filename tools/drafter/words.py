"""Writes the lists of words that assistant/ctc reads.

    pip install wordfreq==3.1.1
    pip download --no-deps symspellpy==6.10.1 && unzip symspellpy-*.whl -d BIGRAMS
    python tools/drafter/words.py DIR BIGRAMS/symspellpy

Words and their order of frequency are wordfreq's (Robyn Speer; its data are under CC BY-SA 4.0). The pairs of
English words are symspellpy's frequency_bigramdictionary_en_243_342.txt (MIT; counts of Google Books n-grams, CC BY 3.0).
"""

import gzip
import math
import os
import struct
import sys

from wordfreq import top_n_list

WORDS = {"en": 60000, "de": 50000, "nl": 40000}
PAIRS = 150000
SCALE = 45  # by which the counts of pairs exceed those of single words
SHARE = 0.8  # of the pairs in the probability of a word; the rest is that of the word alone


def probability(rank, total):
    return 1 / ((rank + 2.7) * total)


def variable(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def write(path, data):
    with open(path, "wb") as f:
        f.write(gzip.compress(data, 9, mtime=0))


def rows(path, columns):
    with open(path, encoding="utf-8-sig") as f:
        for line in f:
            row = line.split()
            if len(row) == columns:
                yield *row[:-1], int(row[-1])


def tree(words):
    """Returns the tree of a list of words; assistant/ctc/words.go has the layout."""
    root = [{}, 0]
    for rank, word in enumerate(words):
        node = root
        for letter in word:
            node = node[0].setdefault(letter, [{}, 0])
        node[1] = node[1] or rank + 1
    alphabet = sorted({letter for word in words for letter in word})
    queue, letters, counts, ranks = [root], b"", b"", b""
    for children, rank in queue:
        counts += bytes([2 * len(children) + (rank > 0)])
        if rank:
            ranks += struct.pack("<H", rank - 1)
        for letter in sorted(children):
            letters += bytes([alphabet.index(letter)])
            queue.append(children[letter])
    header = "".join(alphabet).encode() + b"\n" + struct.pack("<II", len(queue), len(words))
    return header + letters + counts + ranks


def pairs(words, directory):
    """Returns the table of pairs; assistant/ctc/words.go has the layout."""
    ranks = {w: i for i, w in enumerate(words)}
    total = sum(1 / (r + 2.7) for r in range(len(words)))
    single = dict(rows(os.path.join(directory, "frequency_dictionary_en_82_765.txt"), 2))
    after, listed = {}, {}
    for first, second, count in rows(os.path.join(directory, "frequency_bigramdictionary_en_243_342.txt"), 3):
        if first in ranks and second in ranks and first in single:
            after.setdefault(first, []).append((second, count))
            listed[first] = listed.get(first, 0) + count
    chosen = []
    for first, seconds in after.items():
        count_first = max(SCALE * single[first], listed[first] * 1.1)
        for second, count in seconds:
            p = probability(ranks[second], total)
            ratio = math.log((SHARE * count / count_first + (1 - SHARE) * p) / p)
            if ratio > 0.7:
                chosen.append((count * ratio**2, first, second, ratio))
    chosen.sort(reverse=True)
    table = {}
    for _, first, second, ratio in chosen[:PAIRS]:
        table.setdefault(ranks[first], []).append((ranks[second], ratio))
    places, values, last = b"", b"", 0
    for first in sorted(table):
        word = words[first]
        rest = -math.log(1 - SHARE * min(0.95, listed[word] / max(SCALE * single[word], listed[word] * 1.1)))
        places += variable(first - last) + variable(len(table[first]))
        values += bytes([min(255, round(rest * 20))])
        last, before = first, 0
        for second, ratio in sorted(table[first]):
            places += variable(second - before)
            values += bytes([min(255, round(ratio * 20))])
            before = second
    return struct.pack("<II", len(table), len(places)) + places + values


def main():
    directory, bigrams = sys.argv[1:]
    for language, n in WORDS.items():
        words = [w for w in top_n_list(language, n) if all(c.isalpha() or c == "'" for c in w)]
        write(os.path.join(directory, f"words-{language}.gz"), tree(words))
        if language == "en":
            write(os.path.join(directory, "pairs-en.gz"), pairs(words, bigrams))


if __name__ == "__main__":
    main()
