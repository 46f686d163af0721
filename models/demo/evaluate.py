"""Scores of the exported model on speakers it has never heard: words, times, silence, prompts, assistant.

Word error rates are pooled: (substitutions + deletions + insertions) / words; intervals are 95 %
bootstrap over strings. Choose on --split dev; --split test is for the last run.

  python evaluate.py --split test --out scores.json
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

import corpus
import decode
import export
import strings
import train
import vocab as V
from corpus import RATE


def pick(clips, rng, kind, count):
    """Indices of clips for a string: of one speaker, or of any."""
    source, mixed = kind
    mine = np.flatnonzero(clips.source == source)
    if not mixed:
        speakers, n = np.unique(clips.speaker[mine], return_counts=True)
        mine = mine[clips.speaker[mine] == rng.choice(speakers[n >= min(3, n.max())])]
    return [rng.choice(mine[clips.digit[mine] == d]) for d in rng.choice(np.unique(clips.digit[mine]), count)]


def speak(clips, rng, chosen, gap):
    """Puts clips one after the other with gaps of 0 to gap seconds; returns samples and (digit, start, end)."""
    wave, spans, at = np.zeros(0, np.float32), [], rng.uniform(0.05, 0.4)
    for i in chosen:
        piece, s0, s1 = clips.piece(i), int(clips.s0[i]), int(clips.s1[i])
        a = max(0, int(at * RATE) - s0)
        wave = np.pad(wave, (0, max(0, a + len(piece) - len(wave))))
        wave[a : a + len(piece)] += piece
        spans.append((int(clips.digit[i]), (a + s0) / RATE, (a + s1) / RATE))
        at = spans[-1][2] + rng.uniform(0, gap)
    wave = wave * 10 ** (rng.uniform(-12, 0) / 20)
    return wave + rng.normal(size=len(wave)).astype(np.float32) * 2e-4, spans


def string_set(clips, kind, count, seed):
    """count strings of 1 to 12 digits that fit the window."""
    rng = np.random.default_rng([seed, *map(ord, kind[0]), kind[1]])
    made = []
    while len(made) < count:
        wave, spans = speak(clips, rng, pick(clips, rng, kind, rng.integers(1, 13)), 0.8)
        if len(wave) <= V.WINDOW * RATE:
            made.append((wave, spans))
    return made


def single_set(clips, source):
    rng = np.random.default_rng(1)
    return [speak(clips, rng, [i], 0) for i in np.flatnonzero(clips.source == source)]


def features(waves):
    padded = [np.pad(w, (0, V.WINDOW * RATE - len(w))) for w in waves]
    return strings.log_mel(strings.power(torch.tensor(np.stack(padded), dtype=torch.float32))).transpose(1, 2)


def decode_all(net, waves, times, size=25):
    results = []
    for i in range(0, len(waves), size):
        results += decode.greedy(net, features(waves[i : i + size]), times)
    return results


def align(ref, hyp):
    """Counts (substitutions, deletions, insertions), and which words of ref were missed."""
    cost = np.zeros((len(ref) + 1, len(hyp) + 1), int)
    cost[:, 0], cost[0] = np.arange(len(ref) + 1), np.arange(len(hyp) + 1)
    for i, r in enumerate(ref):
        for j, h in enumerate(hyp):
            cost[i + 1, j + 1] = min(cost[i, j] + (r != h), cost[i, j + 1] + 1, cost[i + 1, j] + 1)
    i, j, sdi, missed = len(ref), len(hyp), [0, 0, 0], []
    while i or j:
        if i and j and cost[i, j] == cost[i - 1, j - 1] + (ref[i - 1] != hyp[j - 1]):
            i, j = i - 1, j - 1
            if ref[i] != hyp[j]:
                sdi[0] += 1
                missed.append(ref[i])
        elif i and cost[i, j] == cost[i - 1, j] + 1:
            i -= 1
            sdi[1] += 1
            missed.append(ref[i])
        else:
            j -= 1
            sdi[2] += 1
    return sdi, missed


def rate(refs, hyps):
    """Word error rate with interval and counts, and misses per digit."""
    aligned = [align(r, h) for r, h in zip(refs, hyps)]
    errors = np.array([sum(a[0]) for a in aligned])
    words = np.array([len(r) for r in refs])
    draws = np.random.default_rng(0).integers(0, len(refs), (2000, len(refs)))
    low, high = np.percentile(errors[draws].sum(1) / words[draws].sum(1), [2.5, 97.5])
    said = np.bincount([d for r in refs for d in r], minlength=10)
    missed = np.bincount([d for a in aligned for d in a[1]], minlength=10)
    s, d, i = (int(x) for x in np.sum([a[0] for a in aligned], 0))
    return {"strings": len(refs), "words": int(words.sum()), "wer": 100 * errors.sum() / words.sum(), "interval": [100 * low, 100 * high],
            "substitutions": s, "deletions": d, "insertions": i, "exact": 100 * float((errors == 0).mean()),
            "missed_per_digit": {w: [int(m), int(n)] for w, m, n in zip(V.WORDS, missed, said)}}


def timing(made, results):
    """How often the words are exact and the times well formed, and by how much the first and last are off, seconds."""
    off, good = [], 0
    for (_, spans), r in zip(made, results):
        stamps = [t for t in r.tokens if t >= V.TIME]
        if r.digits == [s[0] for s in spans] and len(stamps) % 2 == 0:
            good += 1
            off.append((abs((stamps[0] - V.TIME) * V.TICK - spans[0][1]), abs((stamps[-1] - V.TIME) * V.TICK - spans[-1][2])))
    start, end = np.median(off, 0)
    return {"well_formed_and_exact": 100 * good / len(made), "median_start_off": float(start), "median_end_off": float(end)}


def silence(net):
    """Windows without speech: how often openai's gate skips them, or no words come out anyway; with and without timestamps."""
    rng = np.random.default_rng(3)
    waves = [rng.normal(size=V.WINDOW * RATE) * 10 ** (rng.uniform(-90, -20) / 20) for _ in range(49)] + [np.zeros(V.WINDOW * RATE)]
    scores = {}
    for times in (True, False):
        results = decode_all(net, waves, times)
        key = "timestamps" if times else "no_timestamps"
        scores[key] = {"skipped": 2 * sum(decode.skipped(r) for r in results),
                       "no_words": 2 * sum(decode.skipped(r) or not r.digits for r in results),
                       "median_no_speech": float(np.median([r.no_speech for r in results]))}
    return scores


@torch.no_grad()
def agreement(net, small, waves, results, times):
    """Share of the target's own tokens (end of text too) that the assistant would have chosen, teacher-forced."""
    same = total = 0
    for w, r in zip(waves, results):
        mel, start = features([w]), decode.head(times)
        tokens = torch.tensor([start + r.tokens + [V.EOT]])
        logits = small(mel, tokens[:, :-1])[0, len(start) - 1 :]
        logits[:, V.SUPPRESS] = -torch.inf
        for n, row in enumerate(logits):
            if times:
                decode.timestamp_rules(row, r.tokens[:n])
            if n == 0:
                row[[V.SPACE, V.EOT]] = -torch.inf
        same += (logits.argmax(-1) == tokens[0, len(start) :]).sum().item()
        total += len(logits)
    return {"tokens": total, "percent": 100 * same / total}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--data", default=train.ROOT.parent / "shared/data/digits", type=Path)
    a.add_argument("--work", default=train.ROOT / "models/demo/run", type=Path, help="folder for caches")
    a.add_argument("--model", default=export.HERE, type=Path, help="folder of target/ and assistant/")
    a.add_argument("--split", default="dev", choices=["dev", "test"])
    a.add_argument("--count", type=int, default=200, help="strings of each kind")
    a.add_argument("--out", type=Path, help="file for the scores, JSON")
    args = a.parse_args()
    clips = corpus.load(args.data, args.work, args.split)
    net = export.read(args.model / "target")
    small = export.read(args.model / "assistant", args.model / "target")
    sets = {f"{s} single": single_set(clips, s) for s in sorted(set(clips.source))}
    sets |= {f"{s} strings, one speaker": string_set(clips, (s, False), args.count, 5) for s in sorted(set(clips.source) - {"so762"})}
    sets["sc strings, mixed speakers"] = string_set(clips, ("sc", True), args.count, 5)
    scores = {"split": args.split, "silence": silence(net)}
    pooled = {True: ([], []), False: ([], [])}
    for times in (False, True):
        key = "timestamps" if times else "no_timestamps"
        scores[key] = {}
        for name, made in sets.items():
            waves, refs = [m[0] for m in made], [[s[0] for s in m[1]] for m in made]
            results = decode_all(net, waves, times)
            hyps = [[] if decode.skipped(r) else r.digits for r in results]
            score = rate(refs, hyps)
            score["agreement"] = agreement(net, small, waves, results, times)
            if "strings" in name:
                pooled[times][0].extend(refs)
                pooled[times][1].extend(hyps)
                if times:
                    score["timing"] = timing(made, results)
            scores[key][name] = score
            print(f"{key:14} {name:28} wer {score['wer']:5.1f} [{score['interval'][0]:.1f}, {score['interval'][1]:.1f}] "
                  f"agreement {score['agreement']['percent']:.1f} {score.get('timing', '')}", flush=True)
        scores[key]["all strings"] = rate(*pooled[times])
        print(f"{key:14} all strings: {scores[key]['all strings']}", flush=True)
    rng = np.random.default_rng(9)
    long = [speak(clips, rng, pick(clips, rng, (s, True), 30), 0.8) for s in ("fsdd", "sc") for _ in range(5)]
    scores["long recordings"] = rate([[s[0] for s in m[1]] for m in long], [decode.transcribe(net, m[0]) for m in long])
    print("silence", scores["silence"], "\nlong", scores["long recordings"])
    if args.out:
        args.out.write_text(json.dumps(scores, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
