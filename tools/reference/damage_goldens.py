#!/usr/bin/env python3
"""Writes audio/testdata/damage: short files of every format, and what ffmpeg makes of them
when they are damaged. TestDamage damages them by the same rule: either it hears what ffmpeg
does, or it says that something is missing.

Run it from the root of the repository. It needs ffmpeg alone.
"""

import hashlib
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2] / "audio/testdata"
OUT = ROOT / "damage"
FF = ["ffmpeg", "-nostdin", "-v", "error", "-y"]

# A sweep, so that every frame differs from every other; a little noise, so that FLAC's are
# not short.
SOUND = "aevalsrc=0.4*sin(2*PI*(300*t+600*t*t))+0.02*(random(0)-0.5):s=%d:d=%s"
# name → rate, seconds, arguments
MADE = {
    "tiny.wav": (8000, 0.25, ["-c:a", "pcm_s16le"]),
    "tiny24.wav": (8000, 0.2, ["-c:a", "pcm_s24le"]),
    "frames.flac": (16000, 0.6, ["-c:a", "flac", "-sample_fmt", "s16", "-frame_size", "1152"]),
    "pipe.flac": (16000, 0.6, ["-c:a", "flac", "-sample_fmt", "s16", "-frame_size", "1152", "-f", "flac", "pipe:1"]),
    "pages.opus": (48000, 1, ["-c:a", "libopus", "-b:a", "24k", "-page_duration", "100000"]),
    "clusters.webm": (48000, 1, ["-c:a", "libopus", "-b:a", "24k", "-cluster_time_limit", "200"]),
    "notag.mp3": (16000, 1, ["-c:a", "libmp3lame", "-b:a", "32k", "-write_xing", "0", "-id3v2_version", "0"]),
    "vbr.mp3": (44100, 1, ["-c:a", "libmp3lame", "-q:a", "9"]),
}


def make():
    OUT.mkdir(exist_ok=True)
    for name, (rate, seconds, args) in MADE.items():
        target = [] if "pipe:1" in args else [str(OUT / name)]
        bare = [*FF, "-fflags", "+bitexact", "-f", "lavfi", "-i", SOUND % (rate, seconds), "-flags", "+bitexact", "-map_metadata", "-1"]
        done = subprocess.run([*bare, *args, *target], check=True, capture_output=True)
        if not target:
            (OUT / name).write_bytes(done.stdout)


def damaged(b):
    """Yields each kind of damage with its number. TestDamage has the same."""
    n = len(b)
    for k in range(1, 11):
        yield "cut", b[: n * k // 11]
    for k in range(40):
        at = min(n * k // 40 + 17, n - 1)
        yield "flip", b[:at] + bytes([b[at] ^ 1 << k % 8]) + b[at + 1 :]
    for k in range(1, 11):
        at = n * k // 11
        gone = min(512, n - at)
        yield "zero", b[:at] + bytes(gone) + b[at + gone :]
        yield "drop", b[:at] + b[at + gone :]


def heard(b, path):
    """Returns how many samples ffmpeg decodes, of all channels, and the start of their hash."""
    path.write_bytes(b)
    pcm = subprocess.run([*FF, "-i", str(path), "-map", "0:a:0", "-f", "s32le", "-c:a", "pcm_s32le", "pipe:1"], capture_output=True).stdout
    path.unlink()
    return [len(pcm) // 4, hashlib.sha256(pcm).hexdigest()[:8]]


def main():
    make()
    files = sorted(OUT.glob("*.*")) + [ROOT / "golden/stereo24.flac", ROOT / "sounds/stereo.mp3", ROOT / "sounds/celt.opus"]
    result = {"ffmpeg": subprocess.run(["ffmpeg", "-version"], capture_output=True, text=True).stdout.split()[2]}
    for f in files:
        if f.suffix == ".json":
            continue
        b = f.read_bytes()
        scratch = OUT / ("scratch" + f.suffix)
        entry = {"whole": heard(b, scratch)}
        for kind, bad in damaged(b):
            entry.setdefault(kind, []).append(heard(bad, scratch))
        result[str(f.relative_to(ROOT))] = entry
    lines = [f' {json.dumps(k)}: {json.dumps(v, separators=(",", ":"))}' for k, v in result.items()]
    (OUT / "ffmpeg.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
