"""Windows of speech with base's features and its distribution at each place of the text, made without decoding:
the text is known (synthetic speech) or was written by base itself before (real speech). python windows.py PART PARTS COUNT"""
import json, os, random, re, subprocess, sys, tempfile, time

from pathlib import Path
import numpy as np, soundfile, torch, whisper
from scipy.signal import resample_poly
from transformers.modeling_outputs import BaseModelOutput
from transformers import WhisperTokenizer
import expand
from paths import MODEL, TOKENIZER, WORK
torch.set_num_threads(1)
HERE = WORK; OUT = HERE / "w"; OUT.mkdir(exist_ok=True)
G = json.load(open(MODEL + "/generation_config.json"))
END, SOT, NOTS, EN, TR, T0 = 50257, 50258, 50363, 50259, 50359, 50364
HEADS = [(3, 1), (4, 2), (4, 3), (4, 7), (5, 1), (5, 2), (5, 4), (5, 6)]
RATE = 16000
def clean():
    t = open(HERE / "text.txt", encoding="utf8", errors="replace").read()
    out = []
    for p in re.split(r"\n\s*\n", t):
        p = re.sub(r"\s+", " ", p).strip().replace('"', "").replace("_", "")
        p = re.sub(r"\s*--\s*", ", ", p)
        p = re.sub(r"\s*[;:]\s*", ", ", p)
        for s in re.split(r"(?<=[.!?])\s+", p):
            s = re.sub(r",[ ,]*,", ",", s).strip()
            if 12 < len(s) < 260 and s[0].isupper() and s[-1] in ".?!" and re.fullmatch(r"[A-Za-z ,.'?!-]+", s) and not re.search(r"[A-Z]{3}|\.\.", s):
                out.append(s)
    return out
def speak(text, rng, v):
    with tempfile.TemporaryDirectory() as d:
        w, tx = d + "/a.wav", d + "/a.txt"
        open(tx, "w").write(text)
        if v[0] == "flite":
            subprocess.run(["flite", "-voice", v[1], "--setf", f"duration_stretch={v[2]:.2f}", "-f", tx, "-o", w], check=True)
        else:
            subprocess.run(["espeak-ng", "-v", v[1], "-s", str(int(165 / v[2])), "-f", tx, "-w", w], check=True, stderr=subprocess.DEVNULL)
        x, sr = soundfile.read(w, dtype="float32")
    return resample_poly(x, 160, int(round(sr / 100 * v[3]))).astype(np.float32)
def voice(rng):
    stretch, warp = rng.uniform(0.85, 1.2), rng.choice([1, 1, 0.93, 0.96, 1.05, 1.1])
    if rng.random() < 0.6:
        return ("flite", rng.choice(["slt", "rms", "awb", "kal16"]), stretch, warp)
    return ("espeak", rng.choice(["en-us", "en-gb", "en-us+f3", "en-gb+m3", "en-us+f2", "en-gb-scotland"]), stretch, warp)
def rough(x, rng):
    x = x / (np.abs(x).max() + 1e-6) * 10 ** (-rng.uniform(1, 16) / 20)
    n = np.random.default_rng(rng.getrandbits(32)).standard_normal(len(x)).astype(np.float32)
    if rng.random() < 0.5: n = np.convolve(n, np.ones(8, np.float32) / 8, "same")
    return x + n * np.sqrt((x * x).mean() / (n * n).mean()) * 10 ** (-rng.uniform(16, 50) / 20)
def silence(s): return np.zeros(int(s * RATE), np.float32)
def synthetic(rng, sent, tok):
    """[(wave, [(start, end, text tokens)])] of sentences that follow each other."""
    full = rng.random() < 0.8
    want, at, v, out, total = (27.5 if full else rng.uniform(3, 20)), rng.randrange(len(sent)), voice(rng), [], 0.0
    while True:
        s = sent[at % len(sent)]; at += 1
        x = speak(s, rng, v); d = len(x) / RATE
        if total + d > 29.3:
            if out: break
            continue
        gap = rng.choice([0, 0, 0.1, 0.3, 0.5])
        out.append((np.concatenate([x, silence(gap)]), [(0.0, d, tok.encode(" " + s, add_special_tokens=False))])); total += d + gap
        if total > want: break
    return out
def recordings():
    out = []
    for p in sorted((HERE / "real").rglob("*.flac")):
        j = HERE / "json" / (p.stem + ".json")
        if not j.exists(): continue
        segs = [(s["start"], s["end"], [t for t in s["tokens"] if t < END]) for s in json.load(open(j))["segments"]]
        if segs: out.append((p, segs))
    return out
def real(rng, recs):
    single, out, total, at = rng.random() < 0.3, [], 0.0, rng.randrange(len(recs))
    while True:
        p, segs = recs[at % len(recs)]
        at = at + 1 if rng.random() < 0.6 else rng.randrange(len(recs))
        x, sr = soundfile.read(p, dtype="float32"); assert sr == RATE
        f = rng.choice([1, 1, 0.94, 0.97, 1.04, 1.08])
        if f != 1: x = resample_poly(x, 100, int(100 * f)).astype(np.float32)
        d = len(x) / RATE
        if total + d > 29.5: break
        out.append((x, [(a / f, b / f, t) for a, b, t in segs])); total += d
        if single or total > 24: break
    return out
def window(i, sent, tok, recs):
    rng = random.Random(i * 7919 + 13)
    parts = []
    while not parts:
        parts = real(rng, recs) if i % 2 == 0 and recs else synthetic(rng, sent, tok)
    wave = np.concatenate([p[0] for p in parts])
    if i % 2 or rng.random() < 0.7: wave = rough(wave, rng)
    segs, at = [], 0.0
    for x, ss in parts:
        segs += [(at + a, at + b, t) for a, b, t in ss]; at += len(x) / RATE
    times = rng.random() < 0.75
    tokens = [SOT, EN, TR] + ([] if times else [NOTS])
    begin = len(tokens)
    for k, (a, b, t) in enumerate(segs):
        if times:
            b = min(b, 30.0)
            # base joins segments: the next begins where the last ended
            start = round(a * 50) if k == 0 or rng.random() < 0.3 else round(segs[k - 1][1] * 50)
            tokens += [T0 + min(start, 1500)] + t + [T0 + min(round(b * 50), 1500)]
        else: tokens += t
    return wave, tokens[:447] + [END], begin
@torch.no_grad()
def teach(model, mel, tokens, begin, sup):
    with torch.autocast("cpu", torch.bfloat16):
        audio = model.model.encoder(mel[None]).last_hidden_state
        o = model.model.decoder(input_ids=torch.tensor([tokens[:-1]]), encoder_hidden_states=audio, output_attentions=True)
        logits = model.proj_out(o.last_hidden_state)[0, begin - 1:].float()
    logits[:, sup] = -torch.inf
    v, k = torch.log_softmax(logits, -1).topk(20)
    a = torch.stack([o.cross_attentions[l][0, h, begin - 1:].float() for l, h in HEADS]).mean(0)
    a = a.view(a.shape[0], 300, 5).sum(-1)
    return {"audio": audio[0].half(), "tokens": torch.tensor(tokens, dtype=torch.int32), "begin": begin, "hid": o.last_hidden_state[0].half(), "top_i": k.int(), "top_v": v.half(), "align": a.half()}
def main():
    part, parts, count = map(int, sys.argv[1:4]); recs = recordings()
    tok = WhisperTokenizer.from_pretrained(TOKENIZER)
    model = expand.load(MODEL); model.model.encoder.config._attn_implementation = "sdpa"
    model.model.decoder.config._attn_implementation = "eager"
    sent = clean()
    print(len(sent), "sentences", flush=True)
    for i in (2 * (k * parts + part) + j for k in range(count // 2 // parts) for j in (0, 1)):
        out = OUT / f"{i:05d}.pt"
        if out.exists(): continue
        t = time.time(); recs = recordings() if i < 400 or i % 60 == 0 else recs
        wave, tokens, begin = window(i, sent, tok, recs)
        t1 = time.time()
        mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(torch.from_numpy(wave)))
        d = teach(model, mel, tokens, begin, G["suppress_tokens"])
        d["seconds"] = len(wave) / RATE
        tmp = f"{out}.new{part}"; torch.save(d, tmp); os.replace(tmp, out)
        if i < 20 * parts or i % 50 < 2 * parts:
            said = d["tokens"][begin:]
            print(i, f"{t1-t:.1f} {time.time()-t1:.1f}s", len(tokens), f"{d['seconds']:.1f}", f"agree {(d['top_i'][:,0]==said).float().mean():.3f}", f"kl {-(d['top_v'][:,0]).float().mean():.3f}", flush=True)
if __name__ == "__main__": main()
