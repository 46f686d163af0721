"""Makes digits.wav and digits.txt: ten digits by ten speakers of the test split, whole recordings one after the other.

The digits and speakers are drawn by seed, unheard by any model, so the recording is as hard as chance made it.
Only Speech Commands (CC BY 4.0) is drawn from.

  python record.py
"""

import argparse
import json
from pathlib import Path

import numpy as np
import soundfile

import corpus
import export
import train
import vocab as V


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--data", default=train.ROOT.parent / "shared/data/digits", type=Path)
    a.add_argument("--out", default=export.HERE, type=Path)
    args = a.parse_args()
    rng = np.random.default_rng(2026)
    rows = [json.loads(line) for line in open(args.data / "manifest.jsonl")]
    rows = [r for r in rows if r["split"] == "test" and corpus.source_of(r["audio_filepath"]) == "sc"]
    wave, words, names, speakers = np.zeros(0, np.float32), [], [], set()
    for digit in rng.permutation(10):
        row = rng.choice([r for r in rows if r["digit"] == digit and r["speaker"] not in speakers])
        speakers.add(row["speaker"])
        x = corpus.read(args.data / row["audio_filepath"])
        x *= 0.05 / np.sqrt((x**2).mean())
        fade = np.linspace(0, 1, 320, dtype=np.float32)
        x[:320] *= fade
        x[-320:] *= fade[::-1]
        wave = np.concatenate([wave, x])
        words.append(V.WORDS[digit])
        names.append(row["audio_filepath"])
    wave *= min(1, 0.9 / np.abs(wave).max())
    soundfile.write(args.out / "digits.wav", wave, corpus.RATE, subtype="PCM_16")
    (args.out / "digits.txt").write_text(" ".join(words) + "\n")
    print("\n".join(names))


if __name__ == "__main__":
    main()
