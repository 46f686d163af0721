"""python export.py CKPT OUT: the averaged weights as a checkpoint without encoder and tables."""
import json, shutil, sys
from pathlib import Path
import torch
from paths import MODEL, WORK
from safetensors.torch import save_file
ck, out = sys.argv[1], Path(sys.argv[2]); out.mkdir(exist_ok=True)
base = Path(MODEL)
e = torch.load(ck, weights_only=False)["ema"]
name = lambda k: "model.decoder." + k.replace("norm.", "layer_norm.", 1) if k.startswith("norm.") else ("model.decoder.embed_states.weight" if k == "fuse.weight" else "model.decoder." + k)
t = {name(k): v.half().contiguous() for k, v in e.items()}
save_file(t, out / "model.safetensors", metadata={"format": "pt"})
c = json.load(open(base / "config.json")); c.pop("quantization_config"); c["decoder_layers"] = 1
json.dump(c, open(out / "config.json", "w"), indent=1)
shutil.copy(base / "preprocessor_config.json", out)
g = json.load(open(base / "generation_config.json")); g.pop("alignment_heads", None); json.dump(g, open(out / "generation_config.json", "w"), indent=1)
shutil.copy(WORK / "short.json", out / "shortlist.json")
print(sum(v.numel() for v in t.values()))
