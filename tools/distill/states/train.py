"""Trains the assistant's decoder layer on windows that windows.py wrote. A NAME with fuse in it reads the target's states.

  THREADS=2 python train.py NAME LAYERS MINUTES [RATE]
"""
import json, math, os, random, sys, time
from pathlib import Path
import numpy as np, torch, torch.nn.functional as F
import expand
from paths import MODEL, WORK
HERE = WORK
W, H, END = 512, 8, 50257
class Layer(torch.nn.Module):
    def __init__(s):
        super().__init__()
        L = torch.nn.Linear
        s.self_attn = torch.nn.ModuleDict({"q_proj": L(W, W), "k_proj": L(W, W, bias=False), "v_proj": L(W, W), "out_proj": L(W, W)})
        s.encoder_attn = torch.nn.ModuleDict({"q_proj": L(W, W), "k_proj": L(W, W, bias=False), "v_proj": L(W, W), "out_proj": L(W, W)})
        s.self_attn_layer_norm, s.encoder_attn_layer_norm, s.final_layer_norm = (torch.nn.LayerNorm(W) for _ in range(3))
        s.fc1, s.fc2 = L(W, 4 * W), L(4 * W, W)
    def forward(s, x, audio, guided=False):
        B, T, _ = x.shape
        cut = lambda y: y.view(y.shape[0], -1, H, 64).transpose(1, 2)
        a, y = s.self_attn, s.self_attn_layer_norm(x)
        o = F.scaled_dot_product_attention(cut(a["q_proj"](y)), cut(a["k_proj"](y)), cut(a["v_proj"](y)), is_causal=True)
        x = x + F.dropout(a["out_proj"](o.transpose(1, 2).reshape(B, T, W)), 0.1, s.training)
        a, y = s.encoder_attn, s.encoder_attn_layer_norm(x)
        q, k, v = cut(a["q_proj"](y)), cut(a["k_proj"](audio)), cut(a["v_proj"](audio))
        p = torch.softmax(q[:, [1, 2, 4, 6]] * 0.125 @ k[:, [1, 2, 4, 6]].transpose(2, 3), -1).mean(1) if guided else None
        o = F.scaled_dot_product_attention(q, k, v)
        x = x + F.dropout(a["out_proj"](o.transpose(1, 2).reshape(B, T, W)), 0.1, s.training)
        y = s.final_layer_norm(x)
        return x + F.dropout(s.fc2(F.dropout(F.gelu(s.fc1(y)), 0.1, s.training)), 0.1, s.training), p
class Small(torch.nn.Module):
    def __init__(s, base, layers, short, fuse):
        super().__init__()
        s.fuse = torch.nn.Linear(W, W, bias=False) if fuse else None
        if fuse: torch.nn.init.normal_(s.fuse.weight, std=0.01)
        d = base.model.decoder
        s.register_buffer("embed", d.embed_tokens.weight.detach().clone(), persistent=False)
        s.register_buffer("pos", d.embed_positions.weight.detach().clone(), persistent=False)
        s.register_buffer("short", short, persistent=False)
        s.register_buffer("head", s.embed[short].bfloat16(), persistent=False)
        back = torch.full((s.embed.shape[0],), -1, dtype=torch.long); back[short] = torch.arange(len(short))
        s.register_buffer("back", back, persistent=False)
        s.layers = torch.nn.ModuleList(Layer() for _ in range(layers))
        for i, l in enumerate(s.layers):
            take = lambda j, pre: {k: v for k, v in d.layers[j].state_dict().items() if k.startswith(pre)}
            state = {}
            if layers == 1: plan = [(0, "self_attn"), (5, "encoder_attn"), (5, "fc"), (5, "final")]
            else: plan = [([0, 5][i], p) for p in ("self_attn", "encoder_attn", "fc", "final")]
            for j, pre in plan: state.update(take(j, pre))
            l.load_state_dict(state)
        s.norm = torch.nn.LayerNorm(W); s.norm.load_state_dict(d.layer_norm.state_dict())
    def forward(s, tokens, audio, hid=None, guided=False):
        x = s.embed[tokens] + s.pos[: tokens.shape[1]]
        if s.fuse is not None: x = F.dropout(x + s.fuse(F.dropout(F.pad(hid[:, :-1], (0, 0, 1, 0)), 0.1, s.training)), 0.05, s.training)
        for l in s.layers: x, p = l(x, audio, guided)
        return s.norm(x), p
def batch(files):
    ds = [torch.load(f, weights_only=True) for f in files]
    T = max(len(d["tokens"]) for d in ds) - 1
    B = len(ds)
    tokens = torch.full((B, T), END); audio = torch.stack([d["audio"] for d in ds]).bfloat16()
    ti = torch.zeros(B, T, 20, dtype=torch.long); tv = torch.full((B, T, 20), -1e4); al = torch.zeros(B, T, 300); on = torch.zeros(B, T, dtype=torch.bool)
    said = torch.zeros(B, T, dtype=torch.long); hid = torch.zeros(B, T, W)
    for b, d in enumerate(ds):
        n, g = len(d["tokens"]) - 1, d["begin"]
        hid[b, g - 1:n] = d["hid"][g - 1:].float(); tokens[b, :n] = d["tokens"][:-1]; said[b, :n] = d["tokens"][1:]
        ti[b, g - 1:n] = d["top_i"].long(); tv[b, g - 1:n] = d["top_v"].float(); al[b, g - 1:n] = d["align"].float(); on[b, g - 1:n] = True
    return tokens, audio, ti, tv, al, on, said, hid
def losses(small, y, p, ti, tv, al, on, guide):
    lg = (y[on].bfloat16() @ small.head.T).float()
    lp = torch.log_softmax(lg, -1)
    ti, tv = small.back[ti[on]], tv[on]
    q = tv.exp() * (ti >= 0); mass = q.sum(-1); q = q / mass.clamp_min(1e-6)[:, None]
    w = (mass > 0.3).float()
    kl = -(q * lp.gather(1, ti.clamp_min(0))).sum(-1) + (q * q.clamp_min(1e-9).log()).sum(-1)
    kl = (kl * w).sum() / w.sum()
    ga = torch.zeros(())
    if guide > 0:
        m = p.float().view(p.shape[0], p.shape[1], 300, 5).sum(-1)[on]
        t = al[on]; t = t / t.sum(-1, keepdim=True).clamp_min(1e-6)
        ga = -(t * (m + 1e-6).log()).sum(-1).mean()
    return kl, ga, small.short[lg.argmax(-1)]
def lesson(small, data, guide, second=True):
    """Losses and hits of drafts; with fuse, hits at the first and at the second place of a draft."""
    tokens, audio, ti, tv, al, on, said, hid = data
    best = ti[on][:, 0]
    with torch.autocast("cpu", torch.bfloat16):
        y, p = small(tokens, audio, hid, guide > 0)
        kl, ga, guess = losses(small, y, p, ti, tv, al, on, guide)
        hits = [guess == best]
        if small.fuse is not None and second:
            y, p = small(tokens, audio, y.float() * on[..., None])
            kl2, _, guess = losses(small, y, p, ti, tv, al, on, 0)
            kl = 0.6 * kl + 0.4 * kl2
            hits.append(guess == best)
    return kl, ga, hits[0], hits[-1]
@torch.no_grad()
def score(small, files):
    small.eval(); ok, ok2 = [], []
    for f in files:
        d = batch([f]); _, _, same, later = lesson(small, d, 0); ok.append(same); ok2.append(later)
    same, text = torch.cat(ok), None
    # expected tokens kept of a draft of 2, 3, 5, from runs of agreement
    runs = {}
    for L in (1, 2, 3, 5):
        n = 0; c = 0
        for s, zs in zip(ok, ok2):
            s = s.tolist(); z = zs.tolist()
            for i in range(len(s)):
                k = 0
                while k < L and i + k < len(s) and (z[i + k] if k else s[i]): k += 1
                n += k; c += 1
        runs[L] = round(n / c, 3)
    small.train()
    return round(same.float().mean().item(), 4), round(torch.cat(ok2).float().mean().item(), 4), runs
def held():
    return sorted((HERE / "eval").glob("*.pt"))
def main():
    name, layers, minutes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    peak = float(sys.argv[4]) if len(sys.argv) > 4 else 1e-3
    torch.set_num_threads(int(os.environ.get("THREADS", "1"))); torch.manual_seed(1); rng = random.Random(1)
    short = torch.tensor(json.load(open(HERE / "short.json")))
    small = Small(expand.load(MODEL), layers, short, 'fuse' in name)
    ck = HERE / f"{name}.ckpt"
    opt = torch.optim.AdamW(small.parameters(), lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
    done = step = 0
    if ck.exists():
        s = torch.load(ck, weights_only=False); small.load_state_dict(s["small"]); opt.load_state_dict(s["opt"]); done, step = s["done"], s["step"]
    ema = {k: v.clone() for k, v in small.state_dict().items()}
    if ck.exists(): ema = s["ema"]
    begin, saved, log = time.time() - done, time.time(), []
    order = []
    while True:
        used = time.time() - begin; f = used / (60 * minutes)
        if f >= 1: break
        lr = peak * min(1, (step + 1) / 30) * (1 if f < 0.25 else 0.5 * (1 + math.cos(math.pi * (f - 0.25) / 0.75)) * 0.98 + 0.02)
        for g in opt.param_groups: g["lr"] = lr
        if len(order) < 8:
            order = sorted((HERE / 'w').glob('*.pt')); rng.shuffle(order)
        files, order = order[:8], order[8:]
        guide = max(0, 0.3 * (1 - 2 * f))
        kl, ga, same, later = lesson(small, batch(files), guide, f > 0.25)
        opt.zero_grad(set_to_none=True); (kl + guide * ga).backward()
        torch.nn.utils.clip_grad_norm_(small.parameters(), 1.0); opt.step(); step += 1
        k = min(0.995, step / (step + 10))
        with torch.no_grad():
            for n, v in small.state_dict().items(): ema[n].lerp_(v, 1 - k)
        log.append((kl.item(), ga.item(), same.float().mean().item(), later.float().mean().item()))
        if step % 20 == 0:
            m = np.mean(log, 0); log = []
            print(f"{used/60:.1f}m step {step} kl {m[0]:.3f} guide {m[1]:.3f} agree {100*m[2]:.1f} {100*m[3]:.1f} lr {lr:.1e} windows {len(list((HERE/'w').glob('*.pt')))}", flush=True)
        if time.time() - saved > 240 or step == 60:
            saved = time.time()
            torch.save({"small": small.state_dict(), "ema": ema, "opt": opt.state_dict(), "done": time.time() - begin, "step": step}, f"{ck}.new"); os.replace(f"{ck}.new", ck)
            h = held()[::4]
            if h:
                now = {k: v.clone() for k, v in small.state_dict().items()}; small.load_state_dict(ema)
                print("  held out (ema):", score(small, h), flush=True); small.load_state_dict(now)
    torch.save({"small": small.state_dict(), "ema": ema, "opt": opt.state_dict(), "done": time.time() - begin, "step": step}, f"{ck}.new"); os.replace(f"{ck}.new", ck)
    small.load_state_dict(ema); print("end", score(small, held()), flush=True)
if __name__ == "__main__": main()
