"""Turns the CTranslate2 form of Whisper, as Python packages carry it, into Hugging Face layout.

    python3 convert.py FIRST.bin SECOND.bin OUT

Both files are read whole, and every weight of one must have the bits of the other's: two people converted what
openai published, each by himself. OUT gets model.safetensors in float16, as it lay in FIRST. numpy is all this needs.

The file: a version, the name of its kind, a revision; a count, then of each tensor name, rank, sizes, type, bytes;
aliases. Strings have their length before them. Little endian.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


def read(path):
    b, at, found = Path(path).read_bytes(), 0, {}

    def number(kind):
        nonlocal at
        (v,) = struct.unpack_from("<" + kind, b, at)
        at += struct.calcsize("<" + kind)
        return v

    def text():
        nonlocal at
        n = number("H")
        at += n
        return b[at - n : at].rstrip(b"\0").decode()

    version, kind, _ = number("I"), text(), number("I")
    if (version, kind) != (6, "WhisperSpec"):
        raise SystemExit(f"{path}: {kind} of version {version}, want WhisperSpec of version 6")
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        dtype, size = np.dtype(TYPES[number("B")]), number("I")
        found[name] = np.frombuffer(b, dtype, size // dtype.itemsize, at).reshape(shape)
        at += size
    return found


def hugging_face(t):
    """The same weights under Hugging Face's names; products that CTranslate2 stacks are taken apart."""
    out = {}

    def put(name, source, part=None):
        for kind, own in (("weight", "weight"), ("bias", "bias")):
            if f"{source}/{own}" in t:
                v = t[f"{source}/{own}"]
                if part is not None:
                    v = np.split(v, part[1])[part[0]]
                if kind == "bias" and name.endswith("k_proj"):
                    if v.any():
                        raise SystemExit(f"{source}: keys have a bias")
                    continue
                out[f"{name}.{kind}"] = v

    def norm(name, source):
        out[f"{name}.weight"], out[f"{name}.bias"] = t[f"{source}/gamma"], t[f"{source}/beta"]

    for half in ("encoder", "decoder"):
        out[f"{half}.embed_positions.weight"] = t[f"{half}/position_encodings/encodings"]
        norm(f"{half}.layer_norm", f"{half}/layer_norm")
        n = 0
        while f"{half}/layer_{n}/ffn/linear_0/weight" in t:
            at, src = f"{half}.layers.{n}", f"{half}/layer_{n}"
            for i, p in enumerate(("q_proj", "k_proj", "v_proj")):
                put(f"{at}.self_attn.{p}", f"{src}/self_attention/linear_0", (i, 3))
            put(f"{at}.self_attn.out_proj", f"{src}/self_attention/linear_1")
            norm(f"{at}.self_attn_layer_norm", f"{src}/self_attention/layer_norm")
            if half == "decoder":
                put(f"{at}.encoder_attn.q_proj", f"{src}/attention/linear_0")
                for i, p in enumerate(("k_proj", "v_proj")):
                    put(f"{at}.encoder_attn.{p}", f"{src}/attention/linear_1", (i, 2))
                put(f"{at}.encoder_attn.out_proj", f"{src}/attention/linear_2")
                norm(f"{at}.encoder_attn_layer_norm", f"{src}/attention/layer_norm")
            put(f"{at}.fc1", f"{src}/ffn/linear_0")
            put(f"{at}.fc2", f"{src}/ffn/linear_1")
            norm(f"{at}.final_layer_norm", f"{src}/ffn/layer_norm")
            n += 1
    for conv in ("conv1", "conv2"):
        put(f"encoder.{conv}", f"encoder/{conv}")
    put("decoder.embed_tokens", "decoder/embeddings")
    return out


def write(path, tensors):
    head, at = {"__metadata__": {"format": "pt"}}, 0
    for name in sorted(tensors):
        v = tensors[name]
        if v.dtype != np.float16:
            raise SystemExit(f"{name}: {v.dtype}, want float16")
        head["model." + name] = {"dtype": "F16", "shape": list(v.shape), "data_offsets": [at, at + v.nbytes]}
        at += v.nbytes
    b = json.dumps(head, separators=(",", ":")).encode()
    b += b" " * (-len(b) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(b)) + b)
        for name in sorted(tensors):
            f.write(np.ascontiguousarray(tensors[name]).tobytes())


def main(first, second, out):
    a, b = read(first), read(second)
    one, two = hugging_face(a), hugging_face(b)
    if one.keys() != two.keys():
        raise SystemExit(f"names differ: {sorted(one.keys() ^ two.keys())}")
    for name in one:
        if one[name].tobytes() != two[name].tobytes() or one[name].shape != two[name].shape:
            raise SystemExit(f"{name} differs between {first} and {second}")
    write(Path(out) / "model.safetensors", one)
    print(f"{len(one)} tensors, {sum(v.size for v in one.values())} weights, the same in both sources")


if __name__ == "__main__":
    main(*sys.argv[1:])
