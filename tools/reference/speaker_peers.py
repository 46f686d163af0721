#!/usr/bin/env python3
"""Compares who speaks, as Verity and others find it, with recordings and their RTTM, by pyannote.metrics.

    git worktree add sets faa583ae; cd sets; mkdir set   # the revision that composes the conversations
    VERITY_SPEAKERS_OUT=$PWD/set VERITY_SPEAKERS="composed ami" go test -run TestQuality ./diarize
    python3 -m pip install pyannote.metrics==4.2.0 senko==0.2.2 diarize==0.1.2
    python3 tools/reference/speaker_peers.py set composed bin/verity --model base --precision int8
    python3 tools/reference/speaker_peers.py set composed senko
    python3 tools/reference/speaker_peers.py set composed diarize

It prints error rates, in how many recordings the number of speakers is right, and the seconds for a minute of sound
without loading. Of Verity also the share of words with the wrong speaker and the time in percent of that of the
transcription.
"""
import glob
import json
import re
import subprocess
import sys
import tempfile
import time
import wave

from pyannote.core import Annotation, Segment
from pyannote.metrics.diarization import DiarizationErrorRate


def reference(path):
    a = Annotation()
    for i, line in enumerate(open(path)):
        f = line.split()
        a[Segment(float(f[3]), float(f[3]) + float(f[4])), i] = f[7]
    return a


def turns(list_):
    a = Annotation()
    for i, (start, end, who) in enumerate(list_):
        a[Segment(start, end), i] = who
    return a


def senko_engine():
    import senko
    d = senko.Diarizer(device="cpu", warmup=True, quiet=True)
    return lambda f: [(s["start"], s["end"], s["speaker"]) for s in
                      (d.diarize(f, generate_colors=False) or {"merged_segments": []})["merged_segments"]]


def diarize_engine():
    import diarize
    return lambda f: [(s.start, s.end, s.speaker) for s in diarize.diarize(f).segments]


def verity_engine(command):
    with tempfile.TemporaryDirectory() as out:
        log = subprocess.run([*command, "--speakers", "voice", "--log-level", "info", "-f", "json", "-o", out, *files],
                             check=True, capture_output=True, text=True).stderr
        docs = [json.load(open(f"{out}/{f.split('/')[-1][:-4]}.json")) for f in files]
    took = [float(s) for s in re.findall(r"speakers found.*?seconds[=:]([0-9.]+)", log)]
    assert len(took) == len(files), log
    return docs, took


def words_wrong(doc, ref, mapping):
    """The number of words, and of those with the wrong speaker."""
    n, wrong = 0, 0
    for w in (w for s in doc["segments"] for w in s["words"]):
        middle = (w["start"] + w["end"]) / 2
        distance = lambda s: max(s.start - middle, middle - s.end, 0)
        near = min(distance(s) for s in ref.itersegments())
        n += 1
        wrong += mapping.get(w["speaker"]) not in {ref[t] for t in ref.itertracks() if distance(t[0]) <= near}
    return n, wrong


folder, which, engine, *rest = sys.argv[1:]
files = sorted(glob.glob(f"{folder}/{which}*.wav"))
metrics = [DiarizationErrorRate(), DiarizationErrorRate(collar=0.5), DiarizationErrorRate(collar=0.5, skip_overlap=True)]
docs = None
if engine in ("senko", "diarize"):
    find = {"senko": senko_engine, "diarize": diarize_engine}[engine]()
    find(files[0])  # loads
else:
    docs, seconds = verity_engine([engine, *rest])
right, total, took, words = 0, 0.0, 0.0, [0, 0]
for i, f in enumerate(files):
    ref = reference(f[:-3] + "rttm")
    length = wave.open(f).getnframes() / 16000
    if docs:
        found, seconds_of = turns([(t["start"], t["end"], t["speaker"]) for t in docs[i]["turns"]]), seconds[i]
    else:
        began = time.perf_counter()
        found = turns(find(f))
        seconds_of = time.perf_counter() - began
    rates = [m(ref, found, uem=None) for m in metrics]
    if docs:
        mapping = metrics[0].optimal_mapping(ref, found)
        words = [a + b for a, b in zip(words, words_wrong(docs[i], ref, mapping))]
    n, want = len(found.labels()), len(ref.labels())
    right, total, took = right + (n == want), total + length, took + seconds_of
    print(f, f"speakers {n} of {want}, DER", *(f"{100 * r:.1f}" for r in rates), f"{seconds_of:.2f} s")
print(f"{engine} {which}: DER, collar, without overlap:", *(f"{100 * abs(m):.1f}" for m in metrics),
      f"number right {right} of {len(files)}; {60 * took / total:.2f} s a minute")
if docs:
    rest = sum(d["stats"]["seconds"]["total"] for d in docs) - took
    print(f"transcription {60 * rest / total:.2f} s a minute; speakers take {100 * took / rest:.1f} % of that")
    print(f"words {words[0]}, wrong speaker {100 * words[1] / words[0]:.2f} %")
