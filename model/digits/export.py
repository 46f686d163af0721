"""Writes the trained target and its assistant in Hugging Face layout, float16.

The assistant's folder holds decoder tensors only: it shares the target's encoder. transformers cannot load
that; --full writes it once more, with the encoder copied in.

  python export.py --work /tmp/demo [--full /tmp/assistant]
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import train
import vocab as V
from net import Whisper

HERE = Path(__file__).resolve().parent


def restore(module, state):
    """Puts the averaged weights of a saved training into module."""
    with torch.no_grad():
        for p, m in zip(train.learnt(module), torch.load(state, map_location="cpu")["mean"], strict=True):
            p.copy_(m)
    return module


def averaged(work):
    """The trained target."""
    return restore(train.Pupil(), work / "state.pt").net


def assistant_of(net):
    """An untrained assistant: the target's encoder, embeddings and last decoder layer."""
    small = Whisper(net.config | {"decoder_layers": 1})
    last = f"decoder.layers.{net.config['decoder_layers'] - 1}."
    weights = {k.replace(last, "decoder.layers.0."): v for k, v in net.state_dict().items()
               if last in k or "decoder.layers" not in k}
    small.load_state_dict(weights)
    return small


def write(net, folder, heads, only=""):
    """Writes config.json, generation_config.json and the tensors whose names begin with only."""
    folder.mkdir(parents=True, exist_ok=True)
    V.write_json(folder / "config.json", net.config)
    V.write_json(folder / "generation_config.json", V.generation_config(heads))
    tensors = {"model." + k: v.detach().half().contiguous() for k, v in net.state_dict().items() if k.startswith(only)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def write_target(net, folder):
    write(net, folder, V.ALIGNMENT_HEADS)
    write_frontend(folder)


def write_frontend(folder):
    V.write_json(folder / "preprocessor_config.json", V.PREPROCESSOR)
    V.write_tokenizer(folder)


def read(folder, encoder=None):
    """Loads what write wrote; encoder is the folder that the encoder comes from, if another."""
    net = Whisper(json.loads((folder / "config.json").read_text()))
    tensors = load_file(folder / "model.safetensors")
    if encoder:
        tensors |= {k: v for k, v in load_file(encoder / "model.safetensors").items() if "encoder." in k[:14]}
    net.load_state_dict({k.removeprefix("model."): v.float() for k, v in tensors.items()})
    return net.eval()


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--work", default=train.ROOT / "model/digits/run", type=Path, help="folder of train.py and distill.py")
    a.add_argument("--out", default=HERE, type=Path, help="gets target/ and assistant/")
    a.add_argument("--full", type=Path, help="folder for the assistant with the encoder copied in")
    args = a.parse_args()
    net = averaged(args.work)
    write_target(net, args.out / "target")
    small = assistant_of(net)
    if (args.work / "assistant.pt").exists():
        restore(small.decoder, args.work / "assistant.pt")
    write(small, args.out / "assistant", [[0, 0]], "decoder.")
    if args.full:
        write(small, args.full, [[0, 0]])
        write_frontend(args.full)
    size = sum(f.stat().st_size for d in ("target", "assistant") for f in (args.out / d).iterdir())
    print(f"target and assistant: {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
