#!/usr/bin/env python3
"""Compares the transcripts of two builds of Verity on 24 recordings, as JSON.

    python tools/same-transcripts.py OLD NEW [DATA]

OLD and NEW are programs, DATA the shared test data (default ../shared/data; docs/dev/TESTING.md says where its sets can
be had). Everything in the JSON must be equal but the measured times and what made it. Formats that ffmpeg decodes need
equal words, and times within 0.15 s: ffmpeg's decoders and resampler differ between versions. A recording that is not
there is named and skipped. The exit status is 1 if a transcript differs or none could be compared.
"""
import json
import pathlib
import shutil
import subprocess
import sys

CASES = [  # recording, options
    ("model/base/jfk.flac", ""),
    ("model/base/jfk.flac", "--assistant none --precision f32"),
    ("model/base/jfk.flac", "--assistant ngram --word-timestamps"),
    ("model/base/jfk.flac", "--strategy upstream --beam-size 5"),
    ("examples/conversation.opus", "--speakers voice"),
    ("speech/de/de_rhasspy-0019.flac", ""),
    ("speech/de/de_rhasspy-0166.flac", "--task translate"),
    ("speech/nl/nl_rhasspy_1000.webm", ""),
    ("speech/nl/watson_dutch_duo_66s.flac", "--word-timestamps"),
    ("speech/noisy/1089-134686-0000_bike_snr5.flac", ""),
    ("speech/noisy/251-137823-0003_dishes_snr0.flac", ""),
    ("speech/nospeech/doing_the_dishes_35s.flac", ""),
    ("speech/silence/1272-128104-0000_tail25s.flac", ""),
    ("speech/silence/1272-128104-0000_gap_repeat.flac", "--temperature 0.4 --seed 7"),
    ("speech/longform/libri_8226_136s.flac", ""),
    ("speech/longform/libri_8226_136s.flac", "--chunked"),
    ("speech/longform/sonnet1.mp3", "--initial-prompt Shakespeare"),
    ("speech/longform/earnings22_1_4482311_3_62.flac", "--clip-timestamps 5,40"),
    ("speech/formats/opus48_stereo.ogg", ""),
    ("speech/formats/s16_44k1_stereo.wav", "--channel 1"),
    ("speech/formats/aac.m4a", ""),
    ("speech/formats/aiff.aiff", ""),
    ("speech/formats/vorbis.ogg", ""),
    ("speech/formats/caf.caf", ""),
]
FFMPEG = {".m4a", ".aiff", ".caf"}
VORBIS = "vorbis.ogg"


def transcribe(program, path, options):
    done = subprocess.run([program, "transcribe", "-q", "-f", "json", *options.split(), str(path)], capture_output=True, text=True)
    if done.returncode:
        return {"error": f"exit status {done.returncode}: {done.stderr.strip()[-200:]}"}
    result = json.loads(done.stdout)
    result.pop("stats", None)
    result.pop("made_by", None)
    return result


def difference(old, new, near, where=""):
    """Where two values first differ, or None. near compares numbers within 0.15 and leaves out scores and tokens."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if near and key in {"tokens", "avg_logprob", "no_speech_prob", "compression_ratio", "probability", "language_probability"}:
                continue
            found = difference(old.get(key), new.get(key), near, f"{where}.{key}")
            if found:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return next((found for i, (a, b) in enumerate(zip(old, new)) if (found := difference(a, b, near, f"{where}[{i}]"))), None)
    if near and isinstance(old, (int, float)) and isinstance(new, (int, float)) and abs(old - new) <= 0.15:
        return None
    return None if old == new else f"{where or 'the whole'}: {old!r} is now {new!r}"


def main():
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    data = pathlib.Path(sys.argv[3] if len(sys.argv) == 4 else "../shared/data")
    compared = failed = 0
    for name, options in CASES:
        path = pathlib.Path(name) if pathlib.Path(name).exists() else data / name
        near = path.suffix in FFMPEG or path.name == VORBIS
        what = f"{name} {options}".strip()
        if not path.exists() or near and not shutil.which("ffmpeg"):
            print(f"*** SKIPPED: {what}: needs {'ffmpeg' if path.exists() else path}")
            continue
        old, new = (transcribe(program, path, options) for program in sys.argv[1:3])
        found = old.get("error") or new.get("error") or difference(old, new, near)
        compared, failed = compared + 1, failed + bool(found)
        print(f"{what}: {found or ('same words' if near else 'same')}", flush=True)
    print(f"{compared} of {len(CASES)} compared, {failed} differ")
    sys.exit(1 if failed or not compared else 0)


main()
