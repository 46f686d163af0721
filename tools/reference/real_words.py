"""Word times and beams of published weights, by openai-whisper, beside Verity's.

    real_words.py upstream MODEL-DIR OUT.jsonl FILE...   write upstream's, in float32 and float64
    real_words.py beams MODEL-DIR OUT.jsonl FILE...      write upstream's beam search of 5, in float32
    real_words.py compare OUT.jsonl VERITY-DIR           compare with NAME.json of verity transcribe

MODEL-DIR is a Hugging Face directory. Verity's side, for words, and with --beam-size 5 and
without --word-timestamps for beams:

    verity transcribe --model MODEL-DIR --precision f32 --assistant none --pad mel --language en \
        --temperature-increment-on-fallback none --word-timestamps -f json -o VERITY-DIR FILE...

A word counts where upstream's own float32 and float64 have the same text and the same times.
Attention scores are rounded to float32 in upstream's code either way.
"""

import json
import pathlib
import sys

import safetensors.torch
import torch
import whisper
import whisper.decoding
import whisper.model

import model_goldens


def load(directory):
    """An openai-whisper model of a Hugging Face directory."""
    directory = pathlib.Path(directory)
    config = json.loads((directory / "config.json").read_text())
    weights = {k: v.float() for k, v in safetensors.torch.load_file(directory / "model.safetensors").items() if k != "proj_out.weight"}
    net = model_goldens.openai_model({"config": config}, weights)
    generation = json.loads((directory / "generation_config.json").read_text())
    mask = torch.zeros(config["decoder_layers"], config["decoder_attention_heads"], dtype=torch.bool)
    for layer, head in generation["alignment_heads"]:
        mask[layer, head] = True
    net.register_buffer("alignment_heads", mask.to_sparse(), persistent=False)
    return net


def double(net):
    """The same model in float64: upstream's layers follow the type of what they are given."""
    net.double()
    for module in (net.encoder.conv1, net.encoder.conv2):
        module.register_forward_pre_hook(lambda _, args: (args[0].double(),))
    return net


# In float32 these are upstream's own; in float64 upstream would round, or refuse.
whisper.model.LayerNorm.forward = lambda self, x: torch.nn.LayerNorm.forward(self, x.to(self.weight.dtype)).type(x.dtype)
whisper.decoding.DecodingTask._get_audio_features = lambda self, mel: self.model.encoder(mel)


def heard(net, file, **options):
    r = whisper.transcribe(net, str(file), temperature=0.0, fp16=False, language="en", **options)
    return [{"tokens": s["tokens"], "start": s["start"], "end": s["end"],
             "words": [[w["word"], w["start"], w["end"]] for w in s.get("words", [])]} for s in r["segments"]]


@torch.no_grad()
def upstream(directory, out, files, **options):
    nets = {"f32": load(directory)}
    if not options.get("beam_size"):
        nets["f64"] = double(load(directory))
    with open(out, "w") as to:
        for f in files:
            print(json.dumps({"file": f} | {name: heard(net, f, **options) for name, net in nets.items()}), file=to, flush=True)


def words(segments):
    return [w for s in segments for w in s["words"]]


def tokens(segments):
    return [t for s in segments for t in s["tokens"]]


def compare(out, directory):
    count = {"files": 0, "same tokens": 0, "words": 0, "upstream agrees with itself": 0, "equal": 0, "within 0.02 s": 0}
    worst = 0.0
    for line in pathlib.Path(out).read_text().splitlines():
        row = json.loads(line)
        theirs = row["f32"]
        ours = json.loads((pathlib.Path(directory) / (pathlib.Path(row["file"]).stem + ".json")).read_text())["segments"]
        count["files"] += 1
        same = tokens(ours) == tokens(theirs)
        count["same tokens"] += same
        if not same:
            print("tokens differ:", row["file"])
            continue
        for i, (word, start, end) in enumerate(words(theirs)):
            count["words"] += 1
            exact = words(row["f64"]) if "f64" in row else []
            if len(exact) != len(words(theirs)) or exact[i] != [word, start, end]:
                continue
            count["upstream agrees with itself"] += 1
            w = words(ours)[i]
            off = max(abs(w["start"] - start), abs(w["end"] - end)) if w["word"] == word else float("inf")
            worst = max(worst, off)
            count["equal"] += off < 1e-9
            count["within 0.02 s"] += off < 0.02 + 1e-9
            if off > 0.02 + 1e-9:
                print("time differs:", row["file"], word, start, end, w)
    print(count, f"worst {worst:.3f} s")


if __name__ == "__main__":
    torch.set_num_threads(1)
    what, *rest = sys.argv[1:]
    if what == "upstream":
        upstream(rest[0], rest[1], rest[2:], word_timestamps=True)
    elif what == "beams":
        upstream(rest[0], rest[1], rest[2:], beam_size=5)
    else:
        compare(*rest)
