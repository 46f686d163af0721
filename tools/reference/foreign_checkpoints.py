"""Writes one checkpoint in every form that people have it, with upstream's own code.

    foreign_checkpoints.py OUT [--from DIR] [--whisper-cpp DIR] [--quantize BINARY]

    OUT/hf            Hugging Face layout, f16 (or a copy of --from)
    OUT/model.pt      openai/whisper: torch.save of dims and model_state_dict
    OUT/ct2-float32, ct2-float16, ct2-int8, …   CTranslate2: TransformersConverter
    OUT/ggml-*.bin    whisper.cpp: models/convert-pt-to-ggml.py, then its quantize

Without --from it is a network of 34,000 random weights: model/testdata/foreign is that.
With VERITY_FOREIGN=OUT, `go test ./model -run TestForeign` compares all forms of OUT.
"""

import argparse
import base64
import pathlib
import shutil
import subprocess
import sys
import tempfile

import ctranslate2
import numpy as np
import torch
import transformers
import whisper

# Parts of names, Hugging Face's to openai's; from transformers'
# convert_openai_to_hf.py, the other way round.
WORDS = [
    ("layers", "blocks"), ("fc1", "mlp.0"), ("fc2", "mlp.2"), ("final_layer_norm", "mlp_ln"),
    ("encoder_attn_layer_norm", "cross_attn_ln"), ("self_attn_layer_norm", "attn_ln"),
    ("encoder_attn.q_proj", "cross_attn.query"), ("encoder_attn.k_proj", "cross_attn.key"),
    ("encoder_attn.v_proj", "cross_attn.value"), ("encoder_attn.out_proj", "cross_attn.out"),
    ("self_attn.q_proj", "attn.query"), ("self_attn.k_proj", "attn.key"), ("self_attn.v_proj", "attn.value"),
    ("self_attn.out_proj", "attn.out"), ("encoder.layer_norm", "encoder.ln_post"),
    ("decoder.layer_norm", "decoder.ln"), ("decoder.embed_tokens", "decoder.token_embedding"),
    ("embed_positions.weight", "positional_embedding"),
]


def to_openai(name):
    name = name.removeprefix("model.")
    for hf, openai in WORDS:
        name = name.replace(hf, openai)
    return name


def make_hf(out):
    """A network of 34,000 weights in f16, random but for norms."""
    config = transformers.WhisperConfig(
        vocab_size=40, d_model=32, num_mel_bins=8, max_source_positions=20, max_target_positions=12, encoder_layers=1,
        decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128,
        pad_token_id=36, bos_token_id=36, eos_token_id=36, decoder_start_token_id=37, suppress_tokens=[1, 2],
        begin_suppress_tokens=[3, 36])
    torch.manual_seed(1)
    model = transformers.WhisperForConditionalGeneration(config)
    for p in model.parameters():
        p.data.normal_(0, 0.5)
    model.half().save_pretrained(out)


def save_openai(hf, file):
    model = transformers.WhisperForConditionalGeneration.from_pretrained(hf, dtype="auto")
    c = model.config
    dims = whisper.model.ModelDimensions(
        n_mels=c.num_mel_bins, n_audio_ctx=c.max_source_positions, n_audio_state=c.d_model,
        n_audio_head=c.encoder_attention_heads, n_audio_layer=c.encoder_layers, n_vocab=c.vocab_size,
        n_text_ctx=c.max_target_positions, n_text_state=c.d_model, n_text_head=c.decoder_attention_heads,
        n_text_layer=c.decoder_layers)
    state = {to_openai(k): v.clone() for k, v in model.state_dict().items() if k != "proj_out.weight"}
    check = whisper.model.Whisper(dims)  # upstream must accept every name and shape
    check.load_state_dict(state, strict=True)
    torch.save({"dims": dims.__dict__, "model_state_dict": state}, file)


def save_ct2(hf, out):
    """By TransformersConverter, or without a tokenizer by the parts of it that write weights."""
    for kind in ["float32", "float16", "bfloat16", "int8", "int8_float16"]:
        to = out / f"ct2-{kind}"
        if (hf / "tokenizer.json").exists():
            converter = ctranslate2.converters.TransformersConverter(str(hf), copy_files=["tokenizer.json"])
            converter.convert(str(to), quantization=kind, force=True)
            continue
        loader = ctranslate2.converters.transformers.WhisperLoader()
        model = transformers.WhisperForConditionalGeneration.from_pretrained(hf, dtype="auto")
        spec = loader.get_model_spec(model)
        spec.register_vocabulary(words())
        loader.set_config(spec.config, model, None)
        spec.validate()
        spec.optimize(quantization=kind)
        to.mkdir(exist_ok=True)
        spec.save(str(to))


def words():
    """A vocabulary of 40 tokens: 36 of text, and those that every one has."""
    return [chr(ord("A") + i) for i in range(26)] + [f"A{chr(ord('A') + i)}" for i in range(10)] + [
        "<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|notimestamps|>"]


def assets(out):
    """A directory like openai/whisper's with a vocabulary and filters of the small size."""
    at = out / "whisper/assets"
    at.mkdir(parents=True)
    lines = [f"{base64.b64encode(w.encode()).decode()} {i}\n" for i, w in enumerate(words()[:36])]
    (at / "gpt2.tiktoken").write_text("".join(lines))
    filters = transformers.audio_utils.mel_filter_bank(201, 8, 0, 8000, 16000, norm="slaney", mel_scale="slaney")
    np.savez(at / "mel_filters.npz", mel_8=filters.T.astype(np.float32))
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--from", dest="source", type=pathlib.Path)
    p.add_argument("--whisper-cpp", type=pathlib.Path)
    p.add_argument("--quantize", type=pathlib.Path)
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    hf = a.out / "hf"
    if a.source:
        shutil.copytree(a.source, hf, dirs_exist_ok=True)
    else:
        make_hf(hf)
    save_openai(hf, a.out / "model.pt")
    save_ct2(hf, a.out)
    if a.whisper_cpp:
        home = pathlib.Path(whisper.__file__).parents[1]
        if not a.source:
            home = assets(pathlib.Path(tempfile.mkdtemp()))
        script = a.whisper_cpp / "models/convert-pt-to-ggml.py"
        for flag, name in [([], "ggml-model.bin"), (["f32"], "ggml-model-f32.bin")]:
            subprocess.run([sys.executable, script, a.out / "model.pt", home, a.out, *flag], check=True, stdout=subprocess.DEVNULL)
        if a.quantize:
            for kind in ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0"]:
                subprocess.run([a.quantize, a.out / "ggml-model.bin", a.out / f"ggml-model-{kind}.bin", kind], check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
