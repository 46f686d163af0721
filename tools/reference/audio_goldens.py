"""Writes audio/testdata/golden with upstream's own code.

Run from the repository root, with the versions that the index then states:

    python tools/reference/audio_goldens.py audio/testdata/golden

Signals are made by integer rules (audio/signal_test.go has the same), so that
only a choice of frames of the result needs to be stored.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import sys

import numpy as np
import soundfile
import torch
import whisper.audio as openai
from transformers import WhisperFeatureExtractor

RATE = 16000
np.seterr(over="ignore")


def noise(i):
    z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(41)).astype(np.int64) - (1 << 22)


def chirp(i):
    period = 4 * RATE
    j = i.astype(np.int64) % period
    phase = j * j * (1 << 31) // (2 * period)
    p = (phase & 0xFFFFFFFF).astype(np.uint32).view(np.int32) >> 20
    p = p.astype(np.int64)
    return p * (2048 - np.abs(p)) * 4


def bursts(i):
    v = noise(i)
    quiet = (i.astype(np.int64) // (RATE // 2)) % 2 == 1
    return np.where(quiet, v >> 8, v)


def click(i):
    return np.where(i == 0, 1 << 22, 0)


def late(i):
    return np.where(i == 8 * RATE - 1, -(1 << 23), 0)


def silence(i):
    return np.zeros(len(i), np.int64)


def signal(name, n):
    v = globals()[name](np.arange(n, dtype=np.uint64))
    pcm = (v / (1 << 23)).astype(np.float32)
    assert np.array_equal(pcm.astype(np.float64) * (1 << 23), v)
    return pcm


def one_shot(pcm, bins, window, start):
    return openai.log_mel_spectrogram(pcm, bins).numpy()


def mel_padded(pcm, bins, window, start):
    """The windows of whisper.transcribe, which fills the last one with 0."""
    mel = openai.log_mel_spectrogram(pcm, bins, padding=openai.N_SAMPLES)
    content = mel.shape[-1] - openai.N_FRAMES
    size = max(0, min(window, content - start))
    return openai.pad_or_trim(mel[:, start : start + size], window).numpy()


def silence_padded(pcm, bins, window, start):
    """The same spectrogram with the frames of the silence openai appends left in."""
    mel = openai.log_mel_spectrogram(pcm, bins, padding=openai.N_SAMPLES)
    return mel[:, start : start + window].numpy()


def audio_padded(pcm, bins, window, start):
    """The features of a clip of one window as models are trained on them."""
    fe = WhisperFeatureExtractor(feature_size=bins, chunk_length=window // 100)
    return fe(pcm, sampling_rate=RATE, return_tensors="np").input_features[0]


SOURCES = {
    one_shot: "whisper.audio.log_mel_spectrogram(pcm, bins)",
    mel_padded: "whisper.audio.log_mel_spectrogram(pcm, bins, padding=N_SAMPLES), content frames cut and pad_or_trim as in whisper.transcribe",
    silence_padded: "whisper.audio.log_mel_spectrogram(pcm, bins, padding=N_SAMPLES)[:, start:start+window]",
    audio_padded: "transformers.WhisperFeatureExtractor(bins, chunk_length=window/100)(pcm)",
}

# how, signal, samples, bins, window, start, why
CASES = [
    (one_shot, "chirp", 80000, 80, 0, 0, "every bin"),
    (one_shot, "chirp", 80000, 128, 0, 0, "every bin"),
    (one_shot, "noise", 201, 80, 0, 0, "shortest signal that reflects"),
    (one_shot, "noise", 800, 128, 0, 0, "0.05 s"),
    (one_shot, "click", 16000, 80, 0, 0, "reflection at the left edge"),
    (one_shot, "silence", 16000, 80, 0, 0, "all on the floor"),
    (mel_padded, "chirp", 197440, 80, 3000, 0, "12.34 s, openai's padding"),
    (mel_padded, "chirp", 480000, 128, 3000, 0, "exactly one window: its end sees silence"),
    (mel_padded, "bursts", 752123, 80, 3000, 3000, "47 s, the last window; a tail of 123 samples"),
    (mel_padded, "bursts", 752123, 80, 3000, 1234, "a window in the middle, ends inside"),
    (mel_padded, "noise", 128000, 80, 800, 0, "exactly one window of 8 s"),
    (mel_padded, "noise", 100, 80, 800, 0, "shorter than a frame: no content"),
    (silence_padded, "bursts", 752123, 80, 3000, 3000, "47 s, the last window filled with silence"),
    (silence_padded, "chirp", 197440, 80, 3000, 0, "12.34 s, as openai's language detection sees it"),
    (silence_padded, "bursts", 752123, 128, 3000, 0, "47 s, the first window"),
    (audio_padded, "noise", 800, 80, 3000, 0, "0.05 s"),
    (audio_padded, "noise", 100, 80, 800, 0, "shorter than a hop"),
    (audio_padded, "chirp", 197440, 80, 3000, 0, "12.34 s"),
    (audio_padded, "chirp", 197440, 128, 3000, 0, "12.34 s"),
    (audio_padded, "chirp", 480000, 80, 3000, 0, "exactly one window: reflected at its end"),
    (audio_padded, "noise", 128000, 80, 800, 0, "exactly one window of 8 s"),
    (audio_padded, "late", 128000, 80, 800, 0, "the maximum is over the window only: a frame after it would see more"),
    (mel_padded, "late", 128000, 80, 800, 0, "the maximum is over the silence too"),
    (audio_padded, "bursts", 127991, 128, 800, 0, "nine samples short of 8 s"),
    (audio_padded, "silence", 16000, 80, 800, 0, "all on the floor"),
    (audio_padded, "click", 16000, 80, 800, 0, "reflection at the left edge"),
]


def frames_to_keep(samples, start, total):
    """The edges, the end of the sound, and some two dozen in between."""
    end = samples // 160 - start
    keep = {0, 1, 2, total - 2, total - 1} | set(range(0, total, max(1, total // 23)))
    keep |= {end + d for d in range(-2, 4)}
    return sorted(t for t in keep if 0 <= t < total)


def filters(bins):
    rows = []
    for row in openai.mel_filters("cpu", bins).numpy():
        k = np.flatnonzero(row)
        rows.append({"first": int(k[0]) if len(k) else 0, "weights": [float(w) for w in row[k[0] : k[-1] + 1]] if len(k) else []})
    return rows


def write_flacs(out):
    """FLAC files of libFLAC; the samples are the rules' own, cut to the depth."""
    i = np.arange(5000, dtype=np.uint64)
    left, right = chirp(i), bursts(i)
    for bits, subtype in ((16, "PCM_16"), (24, "PCM_24")):
        pcm = np.stack([left, right], axis=1) >> (24 - bits)
        soundfile.write(out / f"stereo{bits}.flac", (pcm << (32 - bits)).astype(np.int32), RATE, subtype=subtype)


def main(folder):
    torch.set_num_threads(1)
    blob, cases = b"", []
    for how, name, samples, bins, window, start, why in CASES:
        mel = how(signal(name, samples), bins, window, start)
        assert mel.shape[0] == bins and np.isfinite(mel).all()
        frames = frames_to_keep(samples, start, mel.shape[1])
        cells = np.ascontiguousarray(mel.T[frames], dtype="<f4")
        cases.append(dict(
            how=how.__name__, signal=name, samples=samples, bins=bins, window=window, start=start, why=why,
            total=mel.shape[1], frames=frames, offset=len(blob) // 4, source=SOURCES[how],
        ))
        blob += cells.tobytes()
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    (out / "mel.f32").write_bytes(blob)
    write_flacs(out)
    index = dict(
        command="python tools/reference/audio_goldens.py audio/testdata/golden",
        versions={p: importlib.metadata.version(p) for p in ("openai-whisper", "transformers", "torch", "numpy", "soundfile")},
        sha256=hashlib.sha256(blob).hexdigest(),
        layout="mel.f32: little-endian float32, for each case [len(frames)][bins] from offset on",
        cases=cases,
    )
    (out / "mel.json").write_text(json.dumps(index, indent=1) + "\n")
    (out / "filters.json").write_text(json.dumps({"source": "whisper/assets/mel_filters.npz", "80": filters(80), "128": filters(128)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
