"""base as it lies in the program: int4 weights expanded to float32, as a transformers model."""
import json, struct
import numpy as np, torch
from transformers import WhisperConfig, WhisperForConditionalGeneration
def tensors(path):
    raw = np.fromfile(path, dtype=np.uint8)
    n = int(raw[:8].view("<u8")[0]); head = json.loads(raw[8:8 + n].tobytes()); head.pop("__metadata__", None)
    kinds = {"F16": np.float16, "U8": np.uint8, "F32": np.float32}
    return {k: raw[8 + n + v["data_offsets"][0]: 8 + n + v["data_offsets"][1]].view(kinds[v["dtype"]]).reshape(v["shape"]) for k, v in head.items()}
def expand(t, name):
    codes, scale = t[name + ".weight_packed"], t[name + ".weight_scale"].astype(np.float32)
    q = np.stack([codes & 15, codes >> 4], -1).reshape(codes.shape[0], -1, 32).astype(np.float32)
    z = t.get(name + ".weight_zero")
    zero = 8.0 if z is None else np.stack([z & 15, z >> 4], -1).reshape(z.shape[0], -1)[:, :q.shape[1], None].astype(np.float32)
    return ((q - zero) * scale[:, :, None]).reshape(codes.shape[0], -1)
def load(folder):
    t, out = tensors(folder + "/model.safetensors"), {}
    for k, v in t.items():
        if k.endswith(".weight_packed"):
            out[k[:-7]] = torch.from_numpy(expand(t, k[:-14]))
        elif not k.endswith((".weight_scale", ".weight_zero")):
            out[k] = torch.from_numpy(v.astype(np.float32))
    c = json.load(open(folder + "/config.json")); c.pop("quantization_config", None); c.pop("torch_dtype", None)
    m = WhisperForConditionalGeneration(WhisperConfig(**c))
    out["proj_out.weight"] = out["model.decoder.embed_tokens.weight"]
    missing, extra = m.load_state_dict(out, strict=False)
    assert not missing and not extra, (missing, extra)
    return m.float().eval()
