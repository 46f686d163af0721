"""Writes audio/vad/silero.f32, the weights of Silero VAD, and audio/vad/testdata/golden.json, what
onnxruntime and faster-whisper make of a few sounds.

    python vad_goldens.py  # needs silero-vad==6.2.0 faster-whisper==1.2.1 onnxruntime torch

The weights are those of silero_vad.jit, the 16 kHz network (MIT, Silero Team); the
probabilities come from silero_vad.onnx of the same package.
"""

import hashlib
import importlib.util
import json
import random
import wave
from pathlib import Path

import numpy as np
import onnxruntime
import torch

ROOT = Path(__file__).resolve().parents[2]
# Found, not imported: the package wants torchaudio, which nothing here needs.
DATA = Path(importlib.util.find_spec("silero_vad").origin).parent / "data"
ORDER = [f"encoder.{i}.reparam_conv.{w}" for i in range(4) for w in ("weight", "bias")]
ORDER += ["decoder.rnn.weight_ih", "decoder.rnn.weight_hh", "decoder.rnn.bias_ih", "decoder.rnn.bias_hh"]
ORDER += ["decoder.decoder.2.weight", "decoder.decoder.2.bias"]


def weights():
    state = torch.jit.load(str(DATA / "silero_vad.jit")).state_dict()
    blob = b"".join(state["_model." + k].numpy().astype("<f4").tobytes() for k in ORDER)
    (ROOT / "audio/vad/silero.f32").write_bytes(blob)
    print("silero.f32", len(blob), hashlib.sha256(blob).hexdigest())


session = onnxruntime.InferenceSession(str(DATA / "silero_vad.onnx"))


def probabilities(pcm):
    """As silero_vad.utils_vad.OnnxWrapper calls the network: 512 samples behind the last 64."""
    pcm = np.pad(pcm, (0, -len(pcm) % 512))
    state, context, out = np.zeros((2, 1, 128), "f4"), np.zeros(64, "f4"), []
    for i in range(0, len(pcm), 512):
        x = np.concatenate([context, pcm[i : i + 512]])[None]
        context = x[0, -64:]
        y, state = session.run(None, {"input": x, "state": state, "sr": np.array(16000, dtype=np.int64)})
        out.append(float(y[0, 0]))
    return out


def demo():
    w = wave.open(str(ROOT / "model/digits/digits.wav"))
    assert (w.getframerate(), w.getnchannels(), w.getsampwidth()) == (16000, 1, 2)
    return np.frombuffer(w.readframes(w.getnframes()), "<i2").astype("f4") / 32768


def noise(n, seed):
    """The rule of noise in audio/vad/vad_test.go."""
    z = (np.arange(n, dtype=np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(40)).astype("i8") - (1 << 23)).astype("f4") / np.float32(1 << 23)


def spans():
    """Random probabilities and options through faster-whisper's own function."""
    import faster_whisper.vad as fw

    rng, cases = random.Random(7), []
    for _ in range(120):
        p, out = 0.2, []
        for _ in range(rng.randrange(0, 400)):
            if rng.random() < 0.08:
                p = rng.random()
            out.append(round(min(1, max(0, p + rng.uniform(-0.15, 0.15))), 4))
        o = dict(threshold=rng.choice([0.3, 0.5, 0.7]),
                 min_speech_duration_ms=rng.choice([0, 100, 250]), min_silence_duration_ms=rng.choice([100, 500, 2000]),
                 speech_pad_ms=rng.choice([0, 30, 400]))
        length = max(0, 512 * len(out) - rng.randrange(0, 512))
        fw.get_vad_model = lambda: (lambda audio: np.array(out[: len(audio) // 512]))
        got = fw.get_speech_timestamps(np.zeros(length, "f4"), fw.VadOptions(**o))
        # The function pads a whole number of chunks by one more chunk; zip stops at ours.
        cases.append(dict(options=o, length=length, probabilities=out, spans=[[s["start"], s["end"]] for s in got]))
    return cases


def main():
    weights()
    golden = dict(
        source="silero-vad 6.2.0, onnxruntime %s; spans by faster-whisper 1.2.1" % onnxruntime.__version__,
        demo=probabilities(demo()), noise=probabilities(noise(40000, 1)), quiet=probabilities(noise(40000, 2) * np.float32(1e-3)),
        spans=spans(),
    )
    text = json.dumps(golden)
    (ROOT / "audio/vad/testdata/golden.json").write_text(text + "\n")
    print("golden.json", len(text))


main()
