"""Writes internal/quant/testdata/goldens.json: what upstream makes of weights in few bits.

    git clone https://github.com/microsoft/microxcaling   # at MICROXCALING below
    python3 tools/reference/quant_goldens.py DIR_OF_MICROXCALING

- elements: every code of E2M3 as a number, and the nearest code of many numbers, halves between codes among
  them: ml_dtypes.
- blocks: 32 numbers in MXFP6 (E2M3), scale and all: microxcaling, rounding halves to even.
- groups: integers with a scale and a zero: torch's own fake quantisation.

Numbers are written as the bits of float32.
"""

import json
import pathlib
import sys

import ml_dtypes
import numpy as np
import torch

MICROXCALING = "7bc41952de394f5cc5e782baf132e7c7542eb4e4"
OUT = pathlib.Path(__file__).parents[2] / "internal/quant/testdata/goldens.json"
sys.path.insert(0, sys.argv[1])
from mx.mx_ops import quantize_mx_op  # noqa: E402
from mx.specs import MxSpecs  # noqa: E402


def bits(x):
    return np.asarray(x, np.float32).view(np.uint32).ravel().tolist()


def elements(kind, width):
    table = np.arange(1 << width, dtype=np.uint8).view(kind).astype(np.float32)
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 2.5, 300), (table[:-1] + table[1:]) / 2, table, [-9, 9, 100, 1e-9]]).astype(np.float32)
    x = x[np.abs(x) <= table.max() * 1.01]  # beyond that ml_dtypes saturates too, but that is its choice
    return {"table": bits(table), "x": bits(x), "nearest": bits(x.astype(kind).astype(np.float32))}


def blocks(kind):
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, (48, 32)) * 2.0 ** rng.integers(-12, 6, (48, 1))
    x[0] = 0
    x[1, :] = 2.0 ** np.arange(-16, 16) / 256
    x = x.astype(np.float32)
    specs = MxSpecs()
    specs.update({"scale_bits": 8, "block_size": 32, "shared_exp_method": "max", "round": "even"})
    y = quantize_mx_op(torch.from_numpy(x), specs, elem_format=kind, block_size=32, axes=[-1], round="even")
    return {"x": bits(x), "y": bits(y.numpy())}


def groups(lo, hi, zeros):
    rng = np.random.default_rng(3)
    out = []
    for zero in zeros:
        scale = float(rng.integers(64, 128)) / 4096  # seven significant bits
        x = rng.normal(0, 5 * scale, 64).astype(np.float32)
        y = torch.fake_quantize_per_tensor_affine(torch.from_numpy(x), scale, zero, lo, hi)
        out.append({"scale": scale, "zero": zero, "x": bits(x), "y": bits(y.numpy())})
    return out


goldens = {
    "versions": {"microxcaling": MICROXCALING, "ml_dtypes": ml_dtypes.__version__, "torch": torch.__version__.split("+")[0]},
    "elements": {"mxfp6": elements(ml_dtypes.float6_e2m3fn, 6)},
    "blocks": {"mxfp6": blocks("fp6_e2m3")},
    "groups": {"int4": groups(-8, 7, [0]), "int4z": groups(0, 15, [0, 3, 8, 15])},
}
OUT.parent.mkdir(parents=True, exist_ok=True)
OUT.write_text(json.dumps(goldens, separators=(",", ":")) + "\n")
