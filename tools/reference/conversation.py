#!/usr/bin/env python3
"""Writes examples/conversation.opus, a conversation of two readers of LibriSpeech, and conversation.rttm, who
speaks when. It is made of recordings in model/base/librispeech: the readers alternate, and a seed decides who begins,
what each says first, and the pauses of 0.3 to 0.9 s.

    python3 tools/reference/conversation.py     # from the root; needs soundfile and ffmpeg
"""
import glob
import random
import subprocess

import numpy
import soundfile

RATE, SPEAKERS, FOLDER = 16000, ("1089", "1272"), "model/base/librispeech"


def trimmed(x):
    """x without what is 35 dB below its loudest 20 ms at both ends."""
    power = (x[: len(x) // 320 * 320].reshape(-1, 320) ** 2).sum(1)
    loud = numpy.flatnonzero(power >= power.max() * 10**-3.5)
    return x[loud[0] * 320 : (loud[-1] + 1) * 320]


r = random.Random(1)
order = r.sample(SPEAKERS, 2)
files = {s: r.sample(sorted(glob.glob(f"{FOLDER}/{s}-*.flac")), 2) for s in SPEAKERS}
sound, lines = [numpy.zeros(RATE // 4)], []
for turn in range(4):
    who = order[turn % 2]
    x = trimmed(soundfile.read(files[who][turn // 2])[0])
    start = sum(map(len, sound)) / RATE
    lines.append(f"SPEAKER conversation 1 {start:.3f} {len(x) / RATE:.3f} <NA> <NA> {who} <NA> <NA>\n")
    sound += [x, numpy.zeros(int(r.uniform(0.3, 0.9) * RATE))]
pcm = (numpy.concatenate(sound) * 32767).astype("<i2").tobytes()
subprocess.run(
    ["ffmpeg", "-v", "error", "-y", "-f", "s16le", "-ar", str(RATE), "-ac", "1", "-i", "-", "-c:a", "libopus", "-b:a",
     "24k", "-flags", "bitexact", "-fflags", "bitexact", "examples/conversation.opus"], input=pcm, check=True)
open("examples/conversation.rttm", "w").writelines(lines)
