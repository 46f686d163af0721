"""The counter rule: weights and inputs as functions of a name and an index.

internal/testing/testmodel/rule.go is the same rule in Go, and says why each scale is what
it is. All arithmetic is on integers or exact in float64, then rounded once, so the
bits are the same. digests() is what its test compares.
"""

import hashlib
import json
import pathlib

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPECS = {s["name"]: s for s in json.loads((ROOT / "internal/testing/testmodel/specs.json").read_text())}


class Stream:
    """Draws addressed by index: splitmix64's output function of a counter."""

    def __init__(self, seed, name):
        h = 0xCBF29CE484222325  # FNV-1a, 64 bits
        for b in f"{seed}/{name}".encode():
            h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        self.base = h

    def bits(self, i):
        with np.errstate(over="ignore"):
            z = np.uint64(self.base) + (np.asarray(i, np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
            return z ^ z >> np.uint64(31)

    def uniform(self, i):
        k = (self.bits(i) >> np.uint64(40)).astype(np.int64)
        return (k - (1 << 23)) / float(1 << 23)


def scaled(name, shape):
    """Offset and scale of a weight; rule.go explains them."""
    if name == "decoder.layer_norm.weight":
        return 0, 2
    if name.endswith("layer_norm.weight"):
        return 1, 0.25
    if name.endswith(".bias"):
        return 0, 0.125
    if name == "encoder.embed_positions.weight":
        return 0, 0.5
    if name == "decoder.embed_positions.weight":
        return 0, 1
    if name == "decoder.embed_tokens.weight":
        return 0, 1.5
    fan, scale, n = int(np.prod(shape[1:])), 2.0, 1
    while n < fan:
        n, scale = n * 4, scale / 2
    return 0, scale * (2 if name.endswith("q_proj.weight") else 1)


def weight(spec, name, shape):
    offset, scale = scaled(name, shape)
    w = offset + scale * Stream(spec["seed"], name).uniform(np.arange(int(np.prod(shape)))).reshape(shape)
    if name == "decoder.embed_tokens.weight":
        w[spec["end_of_text"]] *= 2.5
        w[spec["first_timestamp"] - 2] *= 3
        w[spec["first_timestamp"] :] *= 1.125
    return w.astype(np.float32)


def state_dict(spec, shapes):
    """Weights of a WhisperForConditionalGeneration, rounded to the spec's type and widened again."""
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[spec["dtype"]]
    out = {}
    for name, shape in shapes.items():
        w = torch.from_numpy(weight(spec, name.removeprefix("model."), tuple(shape)))
        out[name] = w.to(dtype).to(torch.float32)
    return out


def mel(spec):
    """One window of features, [bins][frames]."""
    bins, frames = spec["config"]["num_mel_bins"], 2 * spec["config"]["max_source_positions"]
    coarse, fine = Stream(spec["seed"], "mel/coarse"), Stream(spec["seed"], "mel/fine")
    i = np.arange(bins * frames)
    b, f = i // frames, i % frames
    x = 0.25 + 0.75 * coarse.uniform(b // 8 * ((frames + 15) // 16) + f // 16) + 0.5 * fine.uniform(i)
    return x.astype(np.float32).reshape(bins, frames)


def waveform(spec):
    """One window of sound at 16 kHz, made of 16-bit integers."""
    i = np.arange(spec["config"]["max_source_positions"] * 320)
    h = Stream(spec["seed"], "wave/kinds").bits(i // 4000)
    field = lambda shift, mask: (h >> np.uint64(shift) & np.uint64(mask)).astype(np.int64)
    at, amp = i % 4000, 2000 + field(8, 0x1FFF)
    step, slope = field(24, 0xFFFFF) * 512, (field(44, 0xFF) - 128) * 512
    phase = (step * at + slope * (at * (at - 1) // 2) & 0xFFFFFFFF) >> 16
    chirp = np.abs(phase - 32768) * 2 - 32768
    noise = (Stream(spec["seed"], "wave/noise").bits(i) >> np.uint64(48)).astype(np.uint16).view(np.int16).astype(np.int64)
    v = np.select([(field(0, 3) == 1) | (field(0, 3) == 2), field(0, 3) == 3], [chirp, noise], 0)
    return (v * amp >> 15).astype(np.float32) / np.float32(32768)


def digests(spec, weights):
    """SHA-256 of the bytes of all weights in order of their names, and of both inputs."""
    h = hashlib.sha256()
    for name in sorted(weights):
        h.update(weights[name].numpy().tobytes())
    sha = lambda x: hashlib.sha256(x.tobytes()).hexdigest()
    return {"weights": h.hexdigest(), "mel": sha(mel(spec)), "waveform": sha(waveform(spec))}
