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


@torch.no_grad()
def encode(net, waves):
    return net.encoder(features(waves), torch.float32)


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
    low, high = 100 * np.percentile(errors[draws].sum(1) / words[draws].sum(1), [2.5, 97.5])
    said = np.bincount([d for r in refs for d in r], minlength=10)
    missed = np.bincount([d for a in aligned for d in a[1]], minlength=10)
    s, d, i = (int(x) for x in np.sum([a[0] for a in aligned], 0))
    return {"strings": len(refs), "words": int(words.sum()), "wer": float(100 * errors.sum() / words.sum()), "interval": [float(low), float(high)],
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
    waves = [rng.normal(size=V.WINDOW * RATE) * 10 ** (rng.uniform(-90, -20) / 20) for _ in range(24)] + [np.zeros(V.WINDOW * RATE)]
    scores, audio = {}, encode(net, waves)
    for times in (True, False):
        results = decode.greedy(net, audio, times)
        scores["timestamps" if times else "no_timestamps"] = {
            "windows": len(waves), "skipped": sum(decode.skipped(r) for r in results),
            "without_words": sum(decode.skipped(r) or not r.digits for r in results),
            "median_no_speech": float(np.median([r.no_speech for r in results]))}
    return scores


@torch.no_grad()
def agreement(small, audio, results, times):
    """How many of the target's own tokens (end of text too) the assistant would have chosen, teacher-forced; and of how many."""
    start, same, total = decode.head(times), 0, 0
    longest = max(len(r.tokens) for r in results)
    tokens = torch.tensor([start + r.tokens + [V.EOT] * (longest - len(r.tokens)) for r in results])
    logits = small.decoder(tokens, small.decoder.cross(audio))[0][:, len(start) - 1 :]
    logits[:, :, V.SUPPRESS] = -torch.inf
    logits[:, 0, [V.SPACE, V.EOT]] = -torch.inf
    for rows, r in zip(logits, results):
        if len(r.tokens) == strings.MOST:  # ran into the limit: its end was not its choice
            continue
        for n, said in enumerate(r.tokens + [V.EOT]):
            if times:
                decode.timestamp_rules(rows[n], r.tokens[:n])
            same += int(rows[n].argmax()) == said
            total += 1
    return same, total


def score(job):
    """Pool task: decodes one set of strings; returns the score, what was said and what was heard."""
    net, small, name, made, times = job
    torch.set_num_threads(1)
    results, same, total = [], 0, 0
    for i in range(0, len(made), 25):
        audio = encode(net, [m[0] for m in made[i : i + 25]])
        part = decode.greedy(net, audio, times)
        results += part
        s, t = agreement(small, audio, part, times)
        same, total = same + s, total + t
    refs = [[s[0] for s in m[1]] for m in made]
    hyps = [[] if decode.skipped(r) else r.digits for r in results]
    found = rate(refs, hyps) | {"agreement": {"tokens": total, "percent": 100 * same / total},
                                "below_logprob_gate": sum(not r.logprob >= -1 for r in results)}
    if times and "strings" in name:
        found["timing"] = timing(made, results)
    return found, refs, hyps


def pooled_agreement(scores):
    parts = [s["agreement"] for name, s in scores.items() if "strings," in name]
    total = sum(p["tokens"] for p in parts)
    scores["all strings"]["agreement"] = {"tokens": total, "percent": sum(p["percent"] * p["tokens"] for p in parts) / total}


def tables(scores):
    """The scores as Markdown, for the model card."""
    lines = ["| what | strings | words | WER, % (95 %) | S/D/I | WER with timestamps | assistant agrees, % (with timestamps) |", "|---|---|---|---|---|---|---|"]
    for name, s in scores["no_timestamps"].items():
        t = scores["timestamps"][name]
        both = f"{s['agreement']['percent']:.1f} ({t['agreement']['percent']:.1f})" if "agreement" in s else ""
        lines.append(f"| {name} | {s['strings']} | {s['words']} | {interval(s)} | {s['substitutions']}/{s['deletions']}/{s['insertions']} "
                     f"| {interval(t)} | {both} |")
    pooled = scores["no_timestamps"]["all strings"]["missed_per_digit"]
    lines += ["", "| digit, in all strings | " + " | ".join(pooled) + " |", "|---" * 11 + "|",
              "| missed, % | " + " | ".join(f"{100 * m / n:.1f}" for m, n in pooled.values()) + " |",
              "| spoken | " + " | ".join(str(n) for _, n in pooled.values()) + " |"]
    return "\n".join(lines)


def interval(s):
    return f"{s['wer']:.1f} [{s['interval'][0]:.1f}, {s['interval'][1]:.1f}]"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--data", default=train.ROOT.parent / "shared/data/digits", type=Path)
    a.add_argument("--work", default=train.ROOT / "model/digits/run", type=Path, help="folder for caches")
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
    jobs = [(net, small, name, made, times) for times in (False, True) for name, made in sets.items()]
    pooled = {True: ([], []), False: ([], [])}
    with torch.multiprocessing.get_context("fork").Pool() as pool:
        for (_, _, name, _, times), (found, refs, hyps) in zip(jobs, pool.imap(score, jobs)):
            scores.setdefault("timestamps" if times else "no_timestamps", {})[name] = found
            if "strings" in name:
                pooled[times][0].extend(refs)
                pooled[times][1].extend(hyps)
            print(f"{name}, {times=}: wer {interval(found)} agreement {found['agreement']['percent']:.1f} {found.get('timing', '')}", flush=True)
    for times, key in ((False, "no_timestamps"), (True, "timestamps")):
        scores[key]["all strings"] = rate(*pooled[times])
        pooled_agreement(scores[key])
    rng = np.random.default_rng(9)
    long = [speak(clips, rng, pick(clips, rng, (s, True), 30), 0.8) for s in ("fsdd", "sc") for _ in range(5)]
    scores["long recordings"] = rate([[s[0] for s in m[1]] for m in long], [decode.transcribe(net, m[0]) for m in long])
    print("silence", scores["silence"], "\nlong", scores["long recordings"])
    print(tables(scores))
    if args.out:
        args.out.write_text(json.dumps(scores, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
