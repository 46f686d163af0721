"""Goldens of whole networks: encoder output, logits, and what is decoded.

Each spec of internal/testing/testmodel/specs.json becomes a checkpoint in Hugging Face
layout, which transformers loads (float32 and float64, eager attention) for the
numbers, and openai-whisper loads for the decoding. Written to
internal/testing/golden/testdata, whose Go package reads them:

    <spec>.json           what models.go describes
    <spec>.encoder.f32    [sampled positions][width]
    <spec>.logits.f32     [teacher-forced tokens][sampled ids]
    index.json            shape, SHA-256 and source of each

Tolerances are derived, not tuned: FACTOR times the largest difference between
float32 and float64 on the same input, since another order of summation drifts from
the exact value about as far as torch's own does, and the two may drift apart. For
half precision, "cache" is how far logits move when keys and values are rounded too.
"""

import argparse
import contextlib
import hashlib
import json
import pathlib
import tempfile

import numpy as np
import safetensors.torch
import torch
import transformers
import whisper
import whisper.audio
import whisper.decoding
import whisper.tokenizer
from transformers import WhisperForConditionalGeneration

import rule

FACTOR = 4  # tolerance over drift
MARGIN = 10  # a margin above MARGIN tolerances decides a token
TOP, SAMPLED, TEACHER, POSITIONS = 32, 256, 40, 64
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
OUT = rule.ROOT / "internal/testing/golden/testdata"
SOURCE = (
    f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, "
    f"openai-whisper {whisper.__version__}; python tools/reference/model_goldens.py"
)


def shapes_of(spec):
    config = transformers.WhisperConfig(**spec["config"])
    with torch.device("meta"):
        net = WhisperForConditionalGeneration(config)
    return {k: tuple(v.shape) for k, v in net.state_dict().items() if k != "proj_out.weight"}


def write_checkpoint(spec, weights, out):
    """The directory that internal/testing/testmodel.Write makes, up to the order in the files."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for name in ("config", "generation_config", "preprocessor_config"):
        if name in spec:
            (out / f"{name}.json").write_text(json.dumps(spec[name]))
    stored, n = {k: v.to(DTYPES[spec["dtype"]]) for k, v in weights.items()}, spec["shards"]
    save = lambda part, file: safetensors.torch.save_file(part, out / file, {"format": "pt"})
    if n == 1:
        return save(stored, "model.safetensors")
    file = lambda i: f"model-{i + 1:05}-of-{n:05}.safetensors"
    names = list(stored)
    for i in range(n):
        save({k: stored[k] for k in names[i::n]}, file(i))
    index = {"metadata": {}, "weight_map": {k: file(i % n) for i, k in enumerate(names)}}
    (out / "model.safetensors.index.json").write_text(json.dumps(index))


def hf_model(spec, weights):
    """Loads the checkpoint as anybody would, so that the goldens vouch for the layout too."""
    with tempfile.TemporaryDirectory() as d:
        write_checkpoint(spec, weights, d)
        net = WhisperForConditionalGeneration.from_pretrained(d, dtype=torch.float32, attn_implementation="eager").eval()
    got = net.state_dict()
    for k, v in weights.items():
        assert torch.equal(got[k], v), k
    return net


OPENAI = [
    ("model.", ""), (".layers.", ".blocks."), (".self_attn.", ".attn."), (".encoder_attn.", ".cross_attn."),
    ("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "out"),
    ("self_attn_layer_norm", "attn_ln"), ("encoder_attn_layer_norm", "cross_attn_ln"),
    ("final_layer_norm", "mlp_ln"), (".fc1.", ".mlp.0."), (".fc2.", ".mlp.2."),
    ("encoder.layer_norm", "encoder.ln_post"), ("decoder.layer_norm", "decoder.ln"),
    ("embed_tokens", "token_embedding"), ("embed_positions.weight", "positional_embedding"),
]


def openai_model(spec, weights):
    c = spec["config"]
    net = whisper.model.Whisper(whisper.model.ModelDimensions(
        n_mels=c["num_mel_bins"], n_audio_ctx=c["max_source_positions"], n_audio_state=c["d_model"],
        n_audio_head=c["encoder_attention_heads"], n_audio_layer=c["encoder_layers"], n_vocab=c["vocab_size"],
        n_text_ctx=c["max_target_positions"], n_text_state=c["d_model"],
        n_text_head=c["decoder_attention_heads"], n_text_layer=c["decoder_layers"]))
    for part, ffn in ((net.encoder, c["encoder_ffn_dim"]), (net.decoder, c["decoder_ffn_dim"])):
        for block in part.blocks:  # upstream knows only 4·width
            block.mlp[0] = whisper.model.Linear(c["d_model"], ffn)
            block.mlp[2] = whisper.model.Linear(ffn, c["d_model"])
    renamed = {}
    for name, w in weights.items():
        for old, new in OPENAI:
            name = name.replace(old, new)
        renamed[name] = w
    net.load_state_dict(renamed)
    return net.eval()


@contextlib.contextmanager
def rounded_caches(hf):
    """Rounds the decoder's keys and values, self and cross, to float16, as Verity does whose
    caches are no wider than half-precision weights. (bfloat16 would be as narrow, but moves
    a logit by 0.1.)"""
    attentions = [a for l in hf.model.decoder.layers for a in (l.self_attn, l.encoder_attn)]
    hooks = [p.register_forward_hook(lambda _, args, out: out.half().to(out.dtype))
             for a in attentions for p in (a.k_proj, a.v_proj)]
    try:
        yield
    finally:
        for h in hooks:
            h.remove()


@torch.no_grad()
def numbers(hf, mel, tokens):
    """Encoder output and logits of one dtype, as float64 arrays."""
    dtype = next(hf.parameters()).dtype
    features = hf.model.encoder(torch.as_tensor(mel)[None].to(dtype)).last_hidden_state
    out = hf(encoder_outputs=(features,), decoder_input_ids=torch.tensor([tokens]), use_cache=False)
    return features[0].double().numpy(), out.logits[0].double().numpy()


def log_mel(pcm, bins, dtype):
    """whisper.audio.log_mel_spectrogram at a chosen precision; at float32 it is that function."""
    x = torch.from_numpy(pcm).to(dtype)
    stft = torch.stft(x, 400, 160, window=torch.hann_window(400, dtype=dtype), return_complex=True)
    power = whisper.audio.mel_filters("cpu", bins).to(dtype) @ stft[..., :-1].abs() ** 2
    m = power.clamp(min=1e-10).log10()
    return ((m.maximum(m.max() - 8.0) + 4.0) / 4.0).float().numpy()


@contextlib.contextmanager
def recorded(steps):
    """Records what every greedy choice was made from, after the logit filters."""
    update = whisper.decoding.GreedyDecoder.update

    def recording(self, tokens, logits, sum_logprobs):
        best = logits[0].topk(2)
        choice = logits[0].argmax().item()  # ties go to the lowest id
        logprob = torch.log_softmax(logits[0].double(), -1)[choice].item()
        steps.append((choice, (best.values[0] - best.values[1]).item(), logprob))
        return update(self, tokens, logits, sum_logprobs)

    whisper.decoding.GreedyDecoder.update = recording
    try:
        yield
    finally:
        whisper.decoding.GreedyDecoder.update = update


def decode(net, mel, **options):
    """whisper.decode of one window, with what each token was chosen from."""
    options = whisper.DecodingOptions(fp16=False, temperature=0.0, **options)
    steps = []
    with recorded(steps):
        r = whisper.decode(net, torch.from_numpy(mel), options)
    task = whisper.decoding.DecodingTask(net, options)
    initial = list(task.initial_tokens)
    if options.language is None and net.is_multilingual:
        initial[task.sot_index + 1] = task.tokenizer.to_language_token(r.language)
    assert [s[0] for s in steps][: len(r.tokens)] == r.tokens
    return {
        "initial": initial, "tokens": [s[0] for s in steps], "margins": [f32(s[1]) for s in steps],
        "logprobs": [f32(s[2]) for s in steps], "avg_logprob": f32(r.avg_logprob),
        "no_speech_prob": f32(r.no_speech_prob), "language": r.language,
    }


def f32(x):
    """The shortest decimal that is the same float32."""
    return float(str(np.float32(x)))


def runs(net, inputs):
    """The decodings: plain, without timestamps, a detected language, the other task, a prompt."""
    ml = net.is_multilingual
    lang = "de" if ml else "en"
    prompt = [1000 + 7 * i for i in range(12)]
    for source, mel in inputs.items():
        cases = [
            ("timestamps", dict(language=lang)),
            ("text", dict(language=lang, without_timestamps=True)),
            ("prompt", dict(language=lang, prompt=prompt)),
        ]
        if ml:
            cases += [("detect", {}), ("translate", dict(language="fr", task="translate"))]
        for name, options in cases:
            yield {"name": name, "input": source, "without_timestamps": options.get("without_timestamps", False),
                   "task": options.get("task", "transcribe"), **decode(net, mel, **options)}


def beams(net, mel):
    """Beam search of five. It has no margins, so it counts only if it stays the same
    when the input moves by the drift of the mel."""
    options = dict(language="de" if net.is_multilingual else "en", beam_size=5, fp16=False)
    r = whisper.decode(net, torch.from_numpy(mel), whisper.DecodingOptions(**options))
    rng = np.random.default_rng(1)
    stable = True
    for _ in range(2):
        moved = mel + rng.uniform(-1e-5, 1e-5, mel.shape).astype(np.float32)
        again = whisper.decode(net, torch.from_numpy(moved), whisper.DecodingOptions(**options))
        stable = stable and again.tokens == r.tokens
    return {"size": 5, "tokens": r.tokens, "avg_logprob": f32(r.avg_logprob), "stable": stable}


def special(net, tokenizer):
    t = tokenizer
    suppress = whisper.decoding.DecodingTask(net, whisper.DecodingOptions(fp16=False))._get_suppress_tokens()
    return {"eot": t.eot, "sot": t.sot, "translate": t.translate, "transcribe": t.transcribe, "sot_lm": t.sot_lm,
            "sot_prev": t.sot_prev, "no_speech": t.no_speech, "no_timestamps": t.no_timestamps,
            "timestamp_begin": t.timestamp_begin, "suppress": list(suppress), "begin_suppress": t.encode(" ") + [t.eot]}


def teacher_tokens(spec, tokenizer):
    body = rule.Stream(spec["seed"], "teacher").bits(np.arange(TEACHER)) % np.uint64(tokenizer.eot)
    return list(tokenizer.sot_sequence) + [tokenizer.timestamp_begin] + [int(t) for t in body]


def make(spec):
    weights = rule.state_dict(spec, shapes_of(spec))
    hf, net = hf_model(spec, weights), openai_model(spec, weights)
    # A timestamp is 0.02 s in any window; upstream would divide 30 s by the positions.
    whisper.decoding.CHUNK_LENGTH = net.dims.n_audio_ctx * 0.02
    ml = net.is_multilingual
    tokenizer = whisper.tokenizer.get_tokenizer(ml, num_languages=net.num_languages, language="de" if ml else None,
                                                task="transcribe" if ml else None)
    pcm, bins = rule.waveform(spec), spec["config"]["num_mel_bins"]
    wave = whisper.log_mel_spectrogram(pcm, bins).numpy()
    assert np.abs(log_mel(pcm, bins, torch.float32) - wave).max() < 1e-6, "log_mel is not upstream's"
    inputs, tokens = {"mel": rule.mel(spec), "wave": wave}, teacher_tokens(spec, tokenizer)

    features, logits = numbers(hf, inputs["mel"], tokens)
    _, logits_wave = numbers(hf, wave, tokens)
    with torch.no_grad():
        upstream = net.logits(torch.tensor([tokens]), net.encoder(torch.from_numpy(inputs["mel"])[None]))[0].double().numpy()
    with rounded_caches(hf):
        _, logits_cached = numbers(hf, inputs["mel"], tokens)
    hf = hf.double()
    features64, logits64 = numbers(hf, inputs["mel"], tokens)
    _, logits_wave64 = numbers(hf, log_mel(pcm, bins, torch.float64), tokens)
    drift = {"encoder": np.abs(features - features64).max(), "logits": np.abs(logits - logits64).max(),
             "wave": np.abs(logits_wave - logits_wave64).max()}
    if spec["dtype"] != "f32":
        drift["cache"] = np.abs(logits - logits_cached).max()
    tol = {k: float(f"{FACTOR * v:.2g}") for k, v in drift.items()}
    assert np.abs(upstream - logits).max() <= tol["logits"], "the two upstreams disagree"

    ids = rule.Stream(spec["seed"], "sampled").bits(np.arange(2 * SAMPLED)) % np.uint64(logits.shape[1])
    ids = np.sort(list(dict.fromkeys(ids.tolist()))[:SAMPLED])
    at = np.unique(np.linspace(0, features.shape[0] - 1, POSITIONS).astype(int))
    order = np.argsort(-logits, axis=1, kind="stable")[:, :TOP]
    golden = {
        "spec": spec["name"], "source": SOURCE,
        "digests": rule.digests(spec, weights),
        "drift": {k: float(f"{v:.3g}") for k, v in drift.items()}, "tol": tol,
        "special": special(net, tokenizer),
        "positions": at.tolist(), "sampled": ids.tolist(), "teacher": tokens,
        "top": [{"ids": order[i].tolist(), "logits": [f32(x) for x in logits[i, order[i]]],
                 "margin": f32(logits[i, order[i, 0]] - logits[i, order[i, 1]])} for i in range(len(tokens))],
        "runs": list(runs(net, inputs)),
        "beams": beams(net, inputs["mel"]),
        "languages": {},
    }
    if ml:
        for source, m in inputs.items():
            _, probs = net.detect_language(torch.from_numpy(m))
            golden["languages"][source] = {k: f32(p) for k, p in sorted(probs.items())}  # upstream's order is a set's
    return golden, {"encoder": features[at], "logits": logits[:, ids]}


def shares(golden):
    """How many positions have a margin that decides, and how many there are."""
    tol = golden["tol"]
    enough = [r["margin"] > MARGIN * tol["logits"] for r in golden["top"]]
    for run in golden["runs"]:
        t = tol["logits"] if run["input"] == "mel" else max(tol["logits"], tol["wave"])
        enough += [m > MARGIN * t for m in run["margins"]]
    return sum(enough), len(enough)


def write(golden, arrays):
    path = OUT / "index.json"
    index = json.loads(path.read_text()) if path.exists() else {}
    text = "{\n" + ",\n".join(f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in golden.items()) + "\n}\n"
    files = {golden["spec"] + ".json": (text.encode(), None)}
    for name, a in arrays.items():
        files[f"{golden['spec']}.{name}.f32"] = (a.astype("<f4").tobytes(), list(a.shape))
    for file, (data, shape) in files.items():
        (OUT / file).write_bytes(data)
        index[file] = {"shape": shape, "sha256": hashlib.sha256(data).hexdigest(), "source": SOURCE}
    path.write_text(json.dumps(dict(sorted(index.items())), indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("specs", nargs="*", help="names of specs; all if none are given")
    parser.add_argument("--checkpoints", metavar="DIR", help="only write the checkpoints, each below DIR")
    parser.add_argument("--dry-run", action="store_true", help="compute and check, write nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)  # one order of summation
    OUT.mkdir(parents=True, exist_ok=True)
    for name in args.specs or rule.SPECS:
        spec = rule.SPECS[name]
        if args.checkpoints:
            write_checkpoint(spec, rule.state_dict(spec, shapes_of(spec)), pathlib.Path(args.checkpoints) / name)
            continue
        golden, arrays = make(spec)
        n, of = shares(golden)
        print(f"{name}: drift {golden['drift']}, {n} of {of} positions decide")
        for run in golden["runs"]:
            print(f"  {run['input']:4} {run['name']:10} {len(run['tokens']):3} tokens, {len(set(run['tokens'])):3} different, "
                  f"{sum(t >= golden['special']['timestamp_begin'] for t in run['tokens'])} timestamps, "
                  f"least margin {min(run['margins']):.3g}, avg_logprob {run['avg_logprob']:.3f}, no_speech {run['no_speech_prob']:.2g}, {run['language']}")
        assert n >= 0.95 * of, "too few positions decide: take another seed"
        if not args.dry_run:
            write(golden, arrays)


if __name__ == "__main__":
    main()
