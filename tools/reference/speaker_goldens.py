#!/usr/bin/env python3
"""Writes eval/report/testdata/speakers.json: random words of several speakers, and how many errors meeteval 0.4.3 counts
in them by the best pairing of speakers (cpWER).

    python3 -m pip install meeteval==0.4.3
    python3 tools/reference/speaker_goldens.py > eval/report/testdata/speakers.json
"""
import json
import random

from meeteval.wer import cp_word_error_rate

WORDS = ["a", "be", "sea", "day", "eel", "of"]  # few, so that pairings compete


def talk(r, speakers, turns):
    names = [f"s{i}" for i in range(speakers)]
    return [{"speaker": r.choice(names), "text": " ".join(r.choices(WORDS, k=r.randint(1, 6)))} for _ in range(turns)]


def change(r, turns, names):
    changed = []
    for t in turns:
        words = [r.choice(WORDS) if r.random() < 0.2 else w for w in t["text"].split() if r.random() > 0.1]
        speaker = r.choice(names) if r.random() < 0.2 else names[int(t["speaker"][1:]) % len(names)]
        changed.append({"speaker": speaker, "text": " ".join(words)})
    return changed


def by_speaker(turns):
    texts = {}
    for t in turns:
        texts[t["speaker"]] = (texts.get(t["speaker"], "") + " " + t["text"]).strip()
    return texts


r = random.Random(7)
cases = []
for _ in range(40):
    reference = talk(r, r.randint(1, 5), r.randint(1, 12))
    found = change(r, reference, [f"h{i}" for i in range(r.randint(1, 6))])
    e = cp_word_error_rate(by_speaker(reference), by_speaker(found))
    cases.append({"reference": reference, "found": found, "errors": e.errors, "length": e.length})
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
