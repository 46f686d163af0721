"""Distils an assistant from any Hugging Face Whisper checkpoint.

In: a target's folder, and a manifest of recordings (JSON lines with audio_filepath, relative to the manifest;
no text is needed). Out: a folder with config.json, generation_config.json and model.safetensors, which
holds decoder tensors only: the assistant shares the target's encoder. --full copies the encoder in as well, for transformers.

The assistant begins as evenly spaced decoder layers of the target (Gandhi et al. 2023, arXiv:2311.00430). It is taught on
the text that the target itself writes: KL divergence to the target's distribution plus cross-entropy of its choices.
Only decoder layers, their embeddings and the last norm are learnt. State is saved every few minutes and the same command goes on exactly.

  python distill.py --target DIR --manifest FILE --layers 2 --out DIR
"""

import argparse
import copy
import json
import os
import time
from pathlib import Path

import numpy as np
import soundfile
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from scipy.signal import resample_poly
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

IGNORED = -100


def spaced(layers, of):
    """Indices of the layers to copy: first and last, and evenly between; the last alone if one is asked for."""
    if not 1 <= layers <= of:
        raise SystemExit(f"--layers {layers}: the target has {of}")
    return [of - 1] if layers == 1 else [round(i * (of - 1) / (layers - 1)) for i in range(layers)]


def assistant_of(target, layers):
    """A model with the target's own encoder (shared, not copied) and copies of some of its decoder's layers."""
    chosen = spaced(layers, target.config.decoder_layers)
    config = copy.deepcopy(target.config)
    config.decoder_layers = layers
    small = WhisperForConditionalGeneration(config)
    small.model.encoder = target.model.encoder
    weights = {}
    for name, value in target.model.decoder.state_dict().items():
        parts = name.split(".")
        if parts[0] == "layers":
            if int(parts[1]) not in chosen:
                continue
            parts[1] = str(chosen.index(int(parts[1])))
        weights[".".join(parts)] = value
    small.model.decoder.load_state_dict(weights)
    small.tie_weights()
    heads = getattr(target.generation_config, "alignment_heads", None)
    small.generation_config = copy.deepcopy(target.generation_config)
    if heads:
        kept = [[chosen.index(layer), head] for layer, head in heads if layer in chosen]
        small.generation_config.alignment_heads = kept or [[layers - 1, h] for h in range(config.decoder_attention_heads)]
    return small


def windows(manifest, seconds, rate):
    """All recordings as (path, start, frames) of at most so many seconds."""
    rows = [json.loads(line) for line in open(manifest) if line.strip()]
    found = []
    for row in rows:
        path = manifest.parent / row["audio_filepath"]
        info = soundfile.info(path)
        size = int(seconds * info.samplerate)
        found += [(str(path), at, min(size, info.frames - at)) for at in range(0, info.frames, size)]
    return found


def listen(window, rate):
    path, start, frames = window
    x, own = soundfile.read(path, start=start, frames=frames, dtype="float32", always_2d=True)
    x = x.mean(1)
    return x if own == rate else resample_poly(x, rate, own).astype(np.float32)


def prompts(config, language):
    """Decoder prompts without and with timestamps."""
    start = [config.decoder_start_token_id]
    if getattr(config, "lang_to_id", None):
        start += [config.lang_to_id[f"<|{language}|>"], config.task_to_id["transcribe"]]
    return start + [config.no_timestamps_token_id], start


@torch.no_grad()
def write(target, audio, prompt, limit):
    """The target's own greedy text (B,L) after the prompt, padded with end of text; suppressed tokens as its generation config has them."""
    g, end = target.generation_config, target.config.eos_token_id
    tokens = torch.tensor([prompt] * len(audio), device=audio.device)
    feed, past = tokens, None
    for n in range(limit):
        out = target(encoder_outputs=BaseModelOutput(audio), decoder_input_ids=feed, past_key_values=past, use_cache=True)
        logits, past = out.logits[:, -1], out.past_key_values
        logits[:, g.suppress_tokens or []] = -torch.inf
        if n == 0:
            logits[:, g.begin_suppress_tokens or []] = -torch.inf
        feed = logits.argmax(-1, keepdim=True)
        feed[(tokens[:, len(prompt) :] == end).any(1)] = end
        tokens = torch.cat([tokens, feed], 1)
        if (feed == end).all():
            break
    return tokens


def asked(tokens, prompt, end):
    """Where the loss counts: predictions of the text, up to its first end."""
    text = tokens[:, len(prompt) :] == end
    before = (text.cumsum(1) - text.int()) == 0
    return F.pad(before, (len(prompt) - 1, 0))


class Teacher:
    """Turns windows into what the assistant is to learn."""

    def __init__(self, target, extractor, found, args):
        self.target, self.extractor, self.found, self.args = target, extractor, found, args
        self.prompts = prompts(target.generation_config, args.language)
        self.limit = target.config.max_target_positions // 2 - 1

    def lesson(self, chosen, times):
        rate, device = self.extractor.sampling_rate, self.args.device
        waves = [listen(self.found[i], rate) for i in chosen]
        mel = self.extractor(waves, sampling_rate=rate, return_tensors="pt").input_features
        with torch.no_grad():
            audio = self.target.model.encoder(mel.to(device, self.target.dtype)).last_hidden_state
            prompt = self.prompts[times]
            tokens = write(self.target, audio, prompt, self.limit)
            wanted = self.target(encoder_outputs=BaseModelOutput(audio), decoder_input_ids=tokens[:, :-1]).logits.float()
        return audio, tokens, wanted, asked(tokens, prompt, self.target.config.eos_token_id)


def losses(small, lesson):
    """KL(target || assistant), cross-entropy of the target's choices, and the share of them the assistant makes too."""
    audio, tokens, wanted, where = lesson
    logits = small(encoder_outputs=BaseModelOutput(audio), decoder_input_ids=tokens[:, :-1]).logits.float()[where]
    said = tokens[:, 1:][where]
    logp = F.log_softmax(logits, -1)
    divergence = F.kl_div(logp, F.log_softmax(wanted[where], -1), log_target=True, reduction="batchmean")
    return divergence, F.nll_loss(logp, said), (logits.argmax(-1) == said).float().mean()


def export(small, out, dtype, prefix):
    out.mkdir(parents=True, exist_ok=True)
    small.config.save_pretrained(out)
    small.generation_config.save_pretrained(out)
    tensors = {k: v.detach().to("cpu", dtype).contiguous().clone() for k, v in small.state_dict().items() if k.startswith(prefix)}
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})


def run(args):
    torch.manual_seed(args.seed)
    target = WhisperForConditionalGeneration.from_pretrained(args.target, dtype=torch.float32).to(args.device).eval()
    target.requires_grad_(False)
    config = json.loads((args.target / "config.json").read_text())
    stored = getattr(torch, config.get("dtype") or config.get("torch_dtype") or "float16")
    extractor = WhisperFeatureExtractor.from_pretrained(args.target)
    small = assistant_of(target, args.layers).to(args.device)
    learnt = [p for n, p in small.named_parameters() if n.startswith("model.decoder")]
    for p in learnt:
        p.requires_grad_(True)
    opt = torch.optim.AdamW(learnt, lr=args.rate, betas=(0.9, 0.98), weight_decay=0.0)
    found = windows(args.manifest, extractor.chunk_length, extractor.sampling_rate)
    held = max(1, len(found) // 20)  # the last twentieth is for the score alone
    teacher = Teacher(target, extractor, found, args)
    args.out.mkdir(parents=True, exist_ok=True)
    state, step = args.out / "state.pt", 0
    if state.exists():
        s = torch.load(state, map_location=args.device)
        small.model.decoder.load_state_dict(s["decoder"])
        opt.load_state_dict(s["opt"])
        step = s["step"]

    def save():
        torch.save({"decoder": small.model.decoder.state_dict(), "opt": opt.state_dict(), "step": step}, f"{state}.new")
        os.replace(f"{state}.new", state)

    saved = time.time()
    while step < args.steps:
        rng = np.random.default_rng([args.seed, step])  # of the step alone: going on is exact
        lesson = teacher.lesson(rng.integers(0, max(1, len(found) - held), args.batch), int(rng.random() < args.timestamps))
        divergence, choice, same = losses(small, lesson)
        opt.zero_grad()
        (divergence + 0.5 * choice).backward()
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        for group in opt.param_groups:
            group["lr"] = args.rate * min((step + 1) / args.warmup, 1) * (1 - step / args.steps)
        opt.step()
        step += 1
        if step % args.log == 0:
            print(f"step {step} divergence {divergence.item():.4f} choice {choice.item():.4f} agreement {100 * same.item():.1f}", flush=True)
        if time.time() - saved > 60 * args.save:
            save()
            saved = time.time()
    save()
    with torch.no_grad():
        scores = [losses(small, teacher.lesson([i], t))[2].item() for i in range(len(found) - held, len(found)) for t in (0, 1)]
    print(f"agreement on {held} held-out windows: {100 * np.mean(scores):.1f} %", flush=True)
    export(small, args.out, stored, "model.decoder.")
    if args.full:
        export(small, args.full, stored, "model.")


def main(argv=None):
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--target", type=Path, required=True, help="folder of the target")
    a.add_argument("--manifest", type=Path, required=True, help="recordings, JSON lines with audio_filepath")
    a.add_argument("--out", type=Path, required=True, help="folder for the assistant and the state of training")
    a.add_argument("--full", type=Path, help="folder for the assistant with the encoder copied in")
    a.add_argument("--layers", type=int, default=2, help="decoder layers of the assistant")
    a.add_argument("--language", default="en")
    a.add_argument("--timestamps", type=float, default=0.5, help="share of batches with timestamps")
    a.add_argument("--steps", type=int, default=2000)
    a.add_argument("--batch", type=int, default=8, help="windows per step")
    a.add_argument("--rate", type=float, default=1e-4, help="peak learning rate")
    a.add_argument("--warmup", type=int, default=50, help="steps")
    a.add_argument("--save", type=float, default=5, help="minutes between saves")
    a.add_argument("--log", type=int, default=20, help="steps between lines of the log")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    run(a.parse_args(argv))


if __name__ == "__main__":
    main()
