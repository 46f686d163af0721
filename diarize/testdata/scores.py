#!/usr/bin/env python3
"""Writes scores.json: random turns and what pyannote.metrics 4.2.0 counts in them.

    python3 -m pip install pyannote.metrics==4.2.0
    python3 scores.py > scores.json
"""
import json
import random

from pyannote.core import Annotation, Segment, Timeline
from pyannote.metrics.diarization import DiarizationErrorRate


def turns(r, speakers, n):
    at, all = 0.0, []
    for _ in range(n):
        start = round(max(0, at + r.uniform(-0.8, 1.5)), 2)
        end = round(start + r.uniform(0.2, 4), 2)
        all.append([start, end, r.randint(1, speakers)])
        at = end
    return sorted(all)


def moved(r, ref, speakers):
    """The reference with boundaries moved, turns lost, added and of other speakers."""
    all = []
    for start, end, who in ref:
        if r.random() < 0.1:
            continue
        start, end = round(max(0, start + r.gauss(0, 0.3)), 2), round(end + r.gauss(0, 0.3), 2)
        if r.random() < 0.2:
            who = r.randint(1, speakers)
        if end > start:
            all.append([start, end, who % speakers + 1])
    return sorted(all + turns(r, speakers, 2))


def annotation(turns):
    a = Annotation()
    for speaker in {t[2] for t in turns}:  # one track for a speaker, without overlap of its own
        for s in Timeline(Segment(*t[:2]) for t in turns if t[2] == speaker).support():
            a[s, speaker] = speaker
    return a


cases = []
r = random.Random(1)
for i in range(12):
    ref = turns(r, 1 + i % 4, 3 + i)
    # Turns of one speaker do not overlap or touch: a boundary within his speech has no collar.
    ref = sorted([round(s.start, 2), round(s.end, 2), who] for s, _, who in annotation(ref).itertracks(yield_label=True))
    hyp = moved(r, ref, 1 + (i + 1) % 5)
    for collar, skip in (0, False), (0.25, False), (0.25, True), (0, True):
        d = DiarizationErrorRate(collar=2 * collar, skip_overlap=skip)(
            annotation(ref), annotation(hyp), uem=Timeline([Segment(0, 1000)]), detailed=True)
        cases.append({"reference": ref, "found": hyp, "collar": collar, "skip_overlap": skip,
                      **{k: round(d[v], 6) for k, v in (("total", "total"), ("missed", "missed detection"),
                                                       ("false_alarm", "false alarm"), ("confusion", "confusion"))}})
print("[" + ",\n".join(json.dumps(c) for c in cases) + "]")
