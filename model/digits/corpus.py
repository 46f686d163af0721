"""The spoken digits, cut, varied and kept ready in one memory-mapped file.

In: the manifest of recordings, and espeak-ng for synthetic voices. Out: an array of clips,
16 kHz int16, each a digit with its speech bounds; training clips also in several variants of pitch and tempo,
since stretching on the fly would cost more than the training itself.
"""

import io
import json
import subprocess
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample, resample_poly

RATE = 16000
MARGIN = RATE * 6 // 100  # kept around the speech of a clip, if the recording has it
QUIET = -55.0  # dBFS: recordings below hold no speech
VARIANTS = 6  # of each training clip, besides itself
# Ranges of tempo changes by source: FSDD's digits are short, Speech Commands' long.
TEMPO = {"fsdd": (0.9, 1.7), "sc": (0.6, 1.1), "other": (0.75, 1.5)}
ACCENTS = ["en-gb", "en-us", "en-gb-scotland", "en-gb-x-gbclan", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029", "en-us-nyc"]
TIMBRES = [*(f"m{i}" for i in range(1, 9)), *(f"f{i}" for i in range(1, 6)), "klatt", "klatt2", "linda", "steph",
           "Andy", "Annie", "Gene", "Lee", "Mike", "Alicia", "grandma", "grandpa", "david", "john"]


@dataclass
class Clips:
    """Clip i is wave[start[i]:start[i]+length[i]]; its speech is [s0[i], s1[i]) in that piece."""

    wave: np.ndarray
    start: np.ndarray
    length: np.ndarray
    s0: np.ndarray
    s1: np.ndarray
    digit: np.ndarray
    source: np.ndarray
    speaker: np.ndarray
    origin: np.ndarray  # path of the recording
    color: np.ndarray  # (N,201) power spectra of noise heard in the margins of recordings

    def piece(self, i):
        return self.wave[self.start[i] : self.start[i] + self.length[i]].astype(np.float32) / 32768


def source_of(path):
    """fsdd, sc (Speech Commands), an4, so762, feiyu or asterisk_en."""
    parts = Path(path).parts
    name = parts[1] if parts[0] == "more" else parts[0]
    return "sc" if name == "speech_commands" else name


def levels(x):
    """Levels of 10 ms frames, dB."""
    n = len(x) // 160
    return 10 * np.log10((x[: n * 160].reshape(n, 160) ** 2).mean(1) + 1e-10)


def speech_bounds(x):
    """First and last sample of the loud part: 8 dB over the floor, or within 28 dB of the peak."""
    db = levels(x)
    db = np.convolve(np.pad(db, 1, mode="edge"), np.ones(3) / 3, mode="valid")
    peak, floor = db.max(), np.percentile(db, 10)
    loud = np.flatnonzero(db > min(max(peak - 28, floor + 8), peak - 10))
    return loud[0] * 160, min(len(x), (loud[-1] + 1) * 160)


def stretch(x, factor):
    """Makes x longer by factor at the same pitch: WSOLA with 30 ms windows."""
    size, hop, slack = 480, 240, 120
    out = np.zeros(int(len(x) * factor) + size, np.float32)
    window = np.hanning(size + 1)[:-1].astype(np.float32)
    x = np.pad(x, (slack, size * 2 + slack))
    at = slack
    for o in range(0, len(out) - size, hop):
        want = slack + int(o / factor)
        if o > 0 and want + size + slack < len(x):
            seen = x[at + hop : at + hop + size]  # what would follow naturally
            near = x[want - slack : want + size + slack]
            at = want - slack + int(np.correlate(near, seen, "valid").argmax())
        out[o : o + size] += window * x[at : at + size]
    return out[: int((len(x) - 2 * slack - size * 2) * factor)]


def vary(x, source, rng):
    """Changes pitch (by resampling) and tempo."""
    pitch = np.exp(rng.uniform(np.log(0.82), np.log(1.42)))
    low, high = TEMPO.get(source, TEMPO["other"])
    y = resample(x, max(1600, int(len(x) / pitch))).astype(np.float32)
    return stretch(y, len(x) * np.exp(rng.uniform(np.log(low), np.log(high))) / len(y))


def cut(x):
    """Returns the speech of x with its margins, its bounds there, and the noise spectrum around, if any."""
    s0, s1 = speech_bounds(x)
    noise = max(x[: max(0, s0 - 800)], x[s1 + 800 :], key=len)
    color = None
    if len(noise) >= 1600:
        frames = np.lib.stride_tricks.sliding_window_view(noise, 400)[::160] * np.hanning(401)[:-1]
        color = (np.abs(np.fft.rfft(frames)) ** 2).mean(0).astype(np.float32)
    a, b = max(0, s0 - MARGIN), min(len(x), s1 + MARGIN)
    return x[a:b], s0 - a, s1 - a, color


def read(path):
    x, rate = soundfile.read(path, dtype="float32")
    return x if rate == RATE else resample_poly(x, RATE, rate).astype(np.float32)


def cut_all(job):
    """Pool task: a recording to its pieces, levelled to -20 dBFS of speech."""
    path, source, variants, seed = job
    x = read(path) if isinstance(path, str) else path
    if 20 * np.log10(np.sqrt((x**2).mean()) + 1e-9) < QUIET:
        return []
    rng = np.random.default_rng(seed)
    pieces = []
    for v in range(variants + 1):
        piece, s0, s1, color = cut(x if v == 0 else vary(x, source, rng))
        if s1 - s0 < RATE // 10:
            continue
        level = np.sqrt((piece[s0:s1] ** 2).mean()) + 1e-9
        gain = min(0.1 / level, 1 / (np.abs(piece).max() + 1e-9))
        color = None if color is None or v else color * gain**2
        pieces.append(((piece * gain * 32767).astype(np.int16), s0, s1, color))
    return pieces


def espeak(voice):
    """Pool task: the ten digits spoken by one synthetic voice, as (digit, samples)."""
    accent, timbre, pitch, speed = voice
    from vocab import WORDS

    spoken = []
    for digit, word in enumerate(WORDS):
        wav = subprocess.run(["espeak-ng", "-v", f"{accent}+{timbre}", "-p", str(pitch), "-s", str(speed), "--stdout", word],
                             capture_output=True, check=True).stdout
        x, rate = soundfile.read(io.BytesIO(wav), dtype="float32")
        spoken.append((digit, resample(x, int(len(x) * RATE / rate)).astype(np.float32)))
    return spoken


def build(data, split, voices, seed, pool):
    """Reads one split of the manifest and as many synthetic voices; returns the fields of Clips."""
    rows = [json.loads(line) for line in open(data / "manifest.jsonl")]
    rows = [r for r in rows if r["split"] == split]
    varied = VARIANTS if split == "train" else 0
    jobs = [(str(data / r["audio_filepath"]), source_of(r["audio_filepath"]), varied, [seed, i]) for i, r in enumerate(rows)]
    names = [(r["digit"], j[1], r["speaker"], r["audio_filepath"]) for r, j in zip(rows, jobs)]
    rng = np.random.default_rng([seed, 7])
    spec = [(str(rng.choice(ACCENTS)), str(rng.choice(TIMBRES)), int(rng.integers(20, 80)), int(rng.integers(120, 200)))
            for _ in range(voices)]
    for v, spoken in zip(spec, pool.imap(espeak, spec)):
        for digit, x in spoken:
            jobs.append((x, "espeak", 2, [seed, len(jobs)]))
            names.append((digit, "espeak", "espeak-" + "-".join(map(str, v)), ""))
    fields = {k: [] for k in ("start", "length", "s0", "s1", "digit", "source", "speaker", "origin", "color")}
    waves, at = [], 0
    for (digit, source, speaker, origin), pieces in zip(names, pool.imap(cut_all, jobs, chunksize=16)):
        for piece, s0, s1, color in pieces:
            values = (at, len(piece), s0, s1, digit, source, speaker, origin)
            for k, value in zip(fields, values):
                fields[k].append(value)
            if color is not None:
                fields["color"].append(color)
            waves.append(piece)
            at += len(piece)
    return np.concatenate(waves), {k: np.array(v) for k, v in fields.items()}


def load(data, work, split, voices=0, seed=1):
    """Returns the Clips of a split, from the files under work or made now."""
    base = Path(work) / f"clips-{split}-{voices}-{seed}"
    wave, rest = base.with_suffix(".npy"), base.with_suffix(".npz")
    if not rest.exists():
        Path(work).mkdir(parents=True, exist_ok=True)
        with Pool() as pool:
            samples, fields = build(Path(data), split, voices, seed, pool)
        np.save(wave, samples)
        np.savez(rest, **fields)
    return Clips(np.load(wave, mmap_mode="r"), **np.load(rest))
