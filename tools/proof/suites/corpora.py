"""Test sounds of others: each is read as ffmpeg reads it, or refused clearly."""
import array
import math
import pathlib
import shutil
import subprocess

TITLE = "test sounds of others, read as ffmpeg reads them or refused"
VERSION = "mutagen 1.47.0's, and those of clones"
NEEDS = []
LIMIT = 900

# Endings of sound files. Tests have names that lie, so what Verity and ffmpeg make of a file decides.
ENDINGS = """3gp 3gpp aa3 aac ac3 adts aif aifc aiff amr ape asf au avi caf dff dsf eac3 flac flv m2ts m4a m4b m4v mka mkv mov mp1 mp2 mp3
mp4 mpc mpp oga ofr ofs ogg ogv oma opus oggflac oggtheora rf64 snd spx tak thd ts tta vqf w64 wav webm wma wmv wv""".split()

# Public repositories with test sounds: a clone in $VERITY_PROOF_SOURCES, and the folder in it.
CLONES = {"tinytag": "tinytag/tests/samples", "music-metadata": "test/samples", "Symphonia": ".", "FFmpeg": "fate-suite"}

NEAR = 0.05  # seconds: encoder padding, which readers trim differently
MOST = 64 << 20  # bytes of a file


def run(env):
    if not shutil.which("ffmpeg"):
        env.skip("needs ffmpeg, which is not installed")
    places, cases = {"mutagen 1.47.0": env.sdist("mutagen==1.47.0") / "tests" / "data"}, []
    for name, folder in CLONES.items():
        if clone := env.source(name):
            places[name] = clone / folder
        else:
            cases.append({"case": name, "ok": None, "of": name, "reason": f"needs a clone of it in $VERITY_PROOF_SOURCES/{name}"})
    for of, place in places.items():
        files = sorted(p for p in pathlib.Path(place).rglob("*") if p.suffix[1:].lower() in ENDINGS and p.is_file() and 0 < p.stat().st_size < MOST)
        for file in files:
            kind, ok, reason = compare(env, file)
            cases.append({"case": str(file.relative_to(place)), "of": f"{of}: {kind}", "ok": ok, "reason": reason})
    return cases


def compare(env, file):
    """Reads a file with both programs. Returns how it was read, whether that is right, and what differs."""
    raw, theirs = env.work / "ours", b""
    try:
        done = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", file, "-map", "0:a:0", "-ac", "1", "-ar", "16000", "-f", "f32le", "-"],
                              capture_output=True, timeout=60)
        theirs = done.stdout
    except subprocess.TimeoutExpired:
        return "not read", None, "ffmpeg does not end"
    want = floats(theirs)
    try:
        found = env.bridge()("sound", path=str(file), file=str(raw))
    except RuntimeError as e:
        if not want:
            return "refused by both", True, ""
        return "refused", False, f"refused, but ffmpeg reads {len(want) / 16000:.2f} s: {e}"
    got, warnings = floats(raw.read_bytes()), found["warnings"] or []
    late = round(found["start"] * 16000)
    length, expected = (len(got) - late) / 16000, len(want) / 16000
    if done.returncode != 0 and not want and got:
        return "read by Verity alone", None, f"ffmpeg refuses what Verity reads, {len(got) / 16000:.2f} s: headers that sound does not need are damaged"
    difference = unlike(got[late:], want)
    if abs(length - expected) > NEAR:
        difference = f"{length:.2f} s, ffmpeg reads {expected:.2f} s"
    if warnings and difference:
        return "damaged, with a warning", True, ""
    return "read alike", not difference, difference


def floats(raw):
    a = array.array("f")
    a.frombytes(raw[:len(raw) // 4 * 4])
    return a


def unlike(a, b):
    """Compares the loudness of two sounds, in steps of 0.25 s: an offset within NEAR does not matter."""
    step, rms = 4000, lambda x: math.sqrt(sum(v * v for v in x if v == v) / max(1, len(x)))
    for at in range(0, min(len(a), len(b), 60 * 16000) - step, step):
        x, y = rms(a[at:at + step]), rms(b[at:at + step])
        if abs(x - y) > 0.02 + 0.3 * max(x, y):
            return f"at {at / 16000:.2f} s the loudness is {x:.4f}, ffmpeg's {y:.4f}"
    return ""
