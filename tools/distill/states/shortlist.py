"""Counts tokens of text: the shortlist. python shortlist.py SIZE"""
import json, sys, glob, collections
from transformers import WhisperTokenizer
import windows
tok = WhisperTokenizer.from_pretrained(windows.TOKENIZER)
c = collections.Counter()
s = windows.clean()
for x in s: c.update(tok.encode(" " + x, add_special_tokens=False))
for j in glob.glob(str(windows.WORK / "json/*.json")):
    for g in json.load(open(j))["segments"]: c.update({t: 5 for t in g["tokens"] if t < 50257})
n = sum(c.values()); size = int(sys.argv[1])
ids = set(range(300)) 
for t, _ in c.most_common():
    if len(ids) >= size: break
    ids.add(t)
print(len(c), "kinds;", "covered", sum(c[t] for t in ids) / n, "of", n)
for k in (2000, 4000, 6000, 8000): print(k, sum(v for _, v in c.most_common(k)) / n)
short = sorted(ids) + [50257] + list(range(50364, 51865))
json.dump(short, open(windows.WORK / "short.json", "w")); print(len(short))
