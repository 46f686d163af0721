"""Goldens of merging overlapping windows: transformers' own _decode_asr, over made-up tokens.

Each row of transcribe/testdata/golden/merge.jsonl is a sound in windows, as the pipeline cuts
it: [length, left overlap, right overlap] in seconds and the tokens of each, and the chunks that
come of them, [start, end, tokens]. A time that upstream does not know is null. Rows with "text"
are of windows without timestamps: the tokens that _find_longest_common_sequence leaves.

What the windows say is one text with times, heard by each with errors of its own.
"""

import json
import random

import numpy as np
from transformers.models.whisper import tokenization_whisper

import rule

OUT = rule.ROOT / "transcribe/testdata/golden/merge.jsonl"
EOT, SOT, NO_TIMESTAMPS, BEGIN = 50256, 50257, 50362, 50363  # of English-only models


class Spelled:
    """A tokenizer that spells tokens as their numbers."""

    all_special_ids = list(range(EOT, BEGIN))

    def convert_tokens_to_ids(self, token):
        return {"<|notimestamps|>": NO_TIMESTAMPS, "<|startofprev|>": 50360, "<|startoftranscript|>": SOT}[token]

    def decode(self, tokens):
        return "<||>" if len(tokens) == 1 and tokens[0] >= EOT else "".join(f"{t} " for t in tokens)

    def _strip_prompt(self, tokens, prompt, start):
        return tokens


def speech(rng, seconds):
    """Phrases as (start, end, [(time, token)])."""
    at, phrases = rng.choice([0.0, rng.random() * 8]), []
    few = rng.random() < 0.3  # words that come again and again
    while at < seconds:
        n = rng.randint(1, 14)
        step = rng.uniform(0.1, 0.6)
        words = [(at + i * step, 300 + rng.randrange(6 if few else 3000)) for i in range(n)]
        end = min(seconds, at + n * step)
        phrases.append((at, end, words))
        at = end + rng.choice([0.0, 0.0, rng.random(), rng.random() * 9])
    return phrases


def stamp(t):
    return BEGIN + max(0, min(1500, round(t / 0.02)))


def heard(rng, phrases, start, length, timed, errors):
    """The tokens of one window, as a model may decode it."""
    if rng.random() < 0.05:
        return []
    tokens, last = [], BEGIN
    for a, b, words in phrases:
        inside = [w for t, w in words if start <= t < start + length]
        if not inside or (timed and rng.random() < 0.02):
            continue
        inside = [rng.randrange(300, 3300) if rng.random() < errors else w for w in inside if rng.random() > errors / 2]
        jitter = rng.choice([0.0, 0.0, 0.02, 0.1, 0.4])
        first = max(last, stamp(a - start + rng.uniform(-jitter, jitter)))
        last = max(first, stamp(min(b - start, length) + rng.uniform(-jitter, jitter)))
        if not timed:
            tokens += inside
            continue
        tokens += [first] + inside
        if b > start + length and rng.random() < 0.7:
            break  # no end: it lies behind the window
        tokens.append(last)
        if rng.random() < 0.03:
            tokens.append(rng.randrange(EOT + 1, NO_TIMESTAMPS))  # a special token
    if timed and rng.random() < 0.1 and tokens:
        tokens.append(last)
    if rng.random() < 0.05:
        tokens = tokens[:rng.randrange(len(tokens) + 1)]  # cut at the most tokens
    return tokens


def windows(rng):
    seconds = rng.choice([rng.uniform(0.5, 29), rng.uniform(31, 70), rng.uniform(60, 200)])
    length = rng.choice([30.0, 30.0, 30.0, 25.0, 15.0])
    side = rng.choice([length / 6, length / 6, 2.0, 1.0, 0.0])
    timed, errors = rng.random() < 0.75, rng.choice([0.0, 0.03, 0.15, 0.6])
    phrases, start, out = speech(rng, seconds), 0.0, []
    while True:
        last = start + length >= seconds
        this = min(length, seconds - start)
        stride = [round(this, 2), side if start > 0 else 0.0, 0.0 if last else side]
        out.append([stride, heard(rng, phrases, start, this, timed, errors)])
        if last:
            return timed, out
        start += length - 2 * side


def main():
    rng, rows = random.Random(1), []
    while len(rows) < 160:
        timed, found = windows(rng)
        outputs = [{"stride": tuple(s), "tokens": np.array([t], dtype=np.int64)} for s, t in found]
        row = {"windows": found}
        if timed:
            _, extra = tokenization_whisper._decode_asr(
                Spelled(), outputs, return_timestamps=True, return_language=False, time_precision=0.02)
            row["chunks"] = [[*c["timestamp"], [int(t) for t in c["text"].split()]] for c in extra["chunks"]]
        else:
            said = [t for _, t in found if t]
            row["text"] = [int(t) for t in tokenization_whisper._find_longest_common_sequence(said)] if said else []
        rows.append(row)
    head = {"source": "transformers 5.23.0, tokenization_whisper.py; tools/reference/merge_goldens.py"}
    OUT.write_text("".join(json.dumps(x, separators=(",", ":")) + "\n" for x in [head, *rows]))
    print(len(rows), "rows,", sum(len(r.get("chunks", [])) for r in rows), "chunks")


if __name__ == "__main__":
    main()
