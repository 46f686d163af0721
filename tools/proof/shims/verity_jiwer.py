"""A plugin for pytest under which jiwer counts with Verity: jiwer's own tests then test package wer.

Verity's aligner replaces RapidFuzz, and Verity's counts and rates replace those that jiwer computes from it.
"""
import dataclasses
import functools
import itertools
import os
import sys
import types

import jiwer
import jiwer.cli
import jiwer.measures
import jiwer.process

from proof import Bridge

bridge = Bridge(os.environ["VERITY_PROOF_BRIDGE"])
TAGS = {"hit": "equal", "sub": "replace", "del": "delete", "ins": "insert"}


def sentences(ref, hyp):
    """Writes two lists of numbers as sentences, each number as a word of its rank. (A word may be a space.)"""
    ranks = {}
    both = [" ".join("w%x" % ranks.setdefault(n, len(ranks)) for n in side) for side in (ref, hyp)]
    return both[0], both[1]


@functools.lru_cache(maxsize=1000)
def alignment(ref, hyp):
    [pairs] = bridge("align", ref=[ref], hyp=[hyp])["alignments"]
    return pairs or []


def opcodes(ref, hyp):
    """Returns Verity's alignment as RapidFuzz writes it."""
    i = j = 0
    codes = []
    for op, run in itertools.groupby(alignment(*sentences(ref, hyp)), key=lambda p: p[0]):
        n = len(list(run))
        di, dj = n * (op != "ins"), n * (op != "del")
        codes.append((TAGS[op], i, i + di, j, j + dj))
        i, j = i + di, j + dj
    return codes


original = jiwer.process.process_words


@functools.wraps(original)
def process_words(*args, **kwargs):
    out = original(*args, **kwargs)
    pairs = [sentences(r, h) for r, h in zip(*jiwer.process._word2int(out.references, out.hypotheses))]
    got = bridge("score", ref=[r for r, _ in pairs], hyp=[h for _, h in pairs])["words"]
    measures = {"wer": "rate", "mer": "mer", "wil": "wil", "wip": "wip"} | {k: k for k in ("hits", "substitutions", "deletions", "insertions")}
    return dataclasses.replace(out, **{name: type(getattr(out, name))(got[key]) for name, key in measures.items()})


distance = types.SimpleNamespace(Levenshtein=types.SimpleNamespace(opcodes=opcodes))
jiwer.process.rapidfuzz = types.SimpleNamespace(distance=distance)
for name, module in list(sys.modules.items()):
    if name.startswith("jiwer") and getattr(module, "process_words", None) is original:
        module.process_words = process_words
