"""Write the goldens of wer with jiwer.

    python tools/reference/wer_goldens.py

Pinned: jiwer 4.0.0 (Apache-2.0) with RapidFuzz 3.14.6 (MIT). Writes wer/testdata/jiwer.jsonl.gz:
a header, then one case a line. Kinds of case:

    words, chars   ref and hyp as text; counts [hits, substitutions, deletions, insertions],
                   rates [wer, mer, wil], chunks [type, ref start, ref end, hyp start, hyp end]
    corpus         the same over lists of texts, without chunks
    long           texts too long to store, made by make_long from (seed, words, vocabulary, error rate);
                   counts and the hash of the chunks
"""

import gzip
import hashlib
import importlib.metadata
import json
import pathlib
import random

import jiwer

OUT = pathlib.Path(__file__).resolve().parents[2] / "wer" / "testdata" / "jiwer.jsonl.gz"
rng = random.Random(40)

HAND = [("", ""), ("", "a"), ("", "a b c"), ("a", ""), ("a b c", ""), ("a", "a"), ("a b", "b c"), ("a b", "b a"), ("a a a", "a"), ("a", "a a a"),
        ("a b a b a b", "b a b a b a"), ("the cat sat", "the cat sat"), ("the cat sat", "a dog ran off"), ("  two  spaces ", "two spaces"),
        ("short one here", "shoe order one"), ("quite a bit of longer sentence", "quite bit of an even longest sentence here"),
        ("thank you", "thank you thank you thank you thank you"), ("größe straße", "grosse strasse"), ("人工 智能", "人 工 智能"), ("\U0001f600 \U00020000", "\U00020000 \U0001f600"),
        (" ".join("abcdefgh" * 9), " ".join("bcdefgha" * 9)), (" ".join("ab" * 64), " ".join("ba" * 64)), (" ".join("a" * 65), " ".join("a" * 64))]


def chunks(alignment):
    return [[c.type[0], c.ref_start_idx, c.ref_end_idx, c.hyp_start_idx, c.hyp_end_idx] for c in alignment]


def case(kind, ref, hyp, keep=True):
    if kind == "chars":
        out = jiwer.process_characters(ref, hyp)
        rates = [out.cer]
    else:
        out = jiwer.process_words(ref, hyp)
        rates = [out.wer, out.mer, out.wil]
    got = {"kind": kind, "ref": ref, "hyp": hyp, "counts": [out.hits, out.substitutions, out.deletions, out.insertions], "rates": rates}
    return got | ({"chunks": chunks(out.alignments[0])} if keep else {})


def edited(ref, vocabulary, rate):
    hyp = []
    for w in ref:
        x = rng.random() / rate if rate else 1
        hyp += [rng.choice(vocabulary)] if x < 0.4 else [] if x < 0.7 else [w, rng.choice(vocabulary)] if x < 1 else [w]
    return hyp


def random_pair():
    vocabulary = [chr(97 + i) for i in range(rng.choice([2, 3, 5, 26]))]
    ref = [rng.choice(vocabulary) for _ in range(rng.choice([rng.randrange(6), rng.randrange(30), rng.randrange(60, 200)]))]
    if rng.random() < 0.5:
        hyp = [rng.choice(vocabulary) for _ in range(rng.randrange(max(1, 2 * len(ref))))]
    else:
        hyp = edited(ref, vocabulary, rng.choice([0.05, 0.2, 0.6]))
    return " ".join(ref), " ".join(hyp)


class LCG:
    """Numerical Recipes' 32-bit generator: the same numbers in Go without a shared library."""

    def __init__(self, seed):
        self.x = seed

    def below(self, n):
        self.x = (self.x * 1664525 + 1013904223) % 2**32
        return (self.x >> 8) * n >> 24


def make_long(seed, words, vocabulary, errors):
    """errors is out of 1000 words; each is a substitution, deletion or insertion in turn of chance."""
    g, ref, hyp = LCG(seed), [], []
    for _ in range(words):
        w = g.below(vocabulary)
        ref.append(w)
        kind = g.below(3) if g.below(1000) < errors else 3
        if kind != 1:
            hyp.append(g.below(vocabulary) if kind == 0 else w)
        if kind == 2:
            hyp.append(g.below(vocabulary))
    return ref, hyp


def long_case(seed, words, vocabulary, errors):
    ref, hyp = make_long(seed, words, vocabulary, errors)
    got = case("words", " ".join(map(str, ref)), " ".join(map(str, hyp)))
    text = "".join("{} {} {} {} {}\n".format(*c) for c in got["chunks"])
    return {"kind": "long", "make": [seed, words, vocabulary, errors], "counts": got["counts"], "rates": got["rates"], "hash": hashlib.sha256(text.encode()).hexdigest()}


def cases():
    for ref, hyp in HAND + [random_pair() for _ in range(900)]:
        yield case("words", ref, hyp)
    for ref, hyp in HAND + [random_pair() for _ in range(150)]:
        yield case("chars", ref.replace(" ", "") if rng.random() < 0.5 else ref, hyp.replace(" ", "") if rng.random() < 0.5 else hyp)
    for n in (1, 2, 7, 40):
        pairs = [rng.choice([random_pair, lambda: rng.choice(HAND)])() for _ in range(n)]
        yield case("corpus", [r for r, _ in pairs], [h for _, h in pairs], keep=False)
    yield case("corpus", ["", ""], ["a", ""], keep=False)
    yield case("corpus", ["", ""], ["", ""], keep=False)
    for make in [(1, 1000, 50, 100), (2, 2500, 300, 150), (3, 5000, 2, 500), (4, 9000, 1500, 80), (5, 9000, 1500, 900), (6, 30000, 40, 30), (7, 3000, 5, 1000), (8, 12000, 3, 300), (9, 60000, 30, 2)]:
        yield long_case(*make)


def main():
    header = {"source": "jiwer " + importlib.metadata.version("jiwer"), "rapidfuzz": importlib.metadata.version("RapidFuzz"), "command": "tools/reference/wer_goldens.py"}
    with open(OUT, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        for line in [header, *cases()]:
            z.write((json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode())


if __name__ == "__main__":
    main()
