"""Writes a head that train.py trained as assistant/ctc reads it: head.safetensors and symbols.txt.

    python tools/drafter/export.py HEAD.pt FEATURES DIR

FEATURES has what `go run ./tools/drafter` wrote: the gain of the encoder's last norm is
stored too, by which the model is recognized.
Matrices become 8-bit integers with a scale for each row, which is how the head computes. A convolution
[out][in][taps] becomes a matrix [out][taps · in].
"""

import os
import sys

import numpy as np
import torch
from safetensors.numpy import save_file

from train import SYMBOLS


def main():
    source, features, directory = sys.argv[1:]
    tensors = {"encoder_norm": np.fromfile(os.path.join(features, "encoder_norm"), dtype="<f4")}
    for name, value in torch.load(source).items():
        value = value.float().numpy()
        if value.ndim == 3:
            value = value.transpose(0, 2, 1).reshape(value.shape[0], -1)
        if value.ndim == 2:
            scale = np.maximum(np.abs(value).max(1), 1e-12) / 127
            tensors[name] = np.round(value / scale[:, None]).astype(np.int8)
            tensors[name + ".scale"] = scale.astype(np.float32)
        else:
            tensors[name] = np.ascontiguousarray(value)
    save_file(tensors, os.path.join(directory, "head.safetensors"))
    with open(os.path.join(directory, "symbols.txt"), "w", encoding="utf-8") as f:
        f.write(SYMBOLS)


if __name__ == "__main__":
    main()
