"""Test sounds of others: each is read as ffmpeg reads it, or refused clearly."""
import pathlib
import re
import shutil
import subprocess

TITLE = "test sounds of others, read as ffmpeg reads them or refused"
BY = "them"
VERSION = "mutagen 1.47.0's, and those of clones"
NEEDS = ["numpy==2.4.6"]
LIMIT = 1100

# Endings of sound files. Tests have names that lie, so what Verity and ffmpeg make of a file decides.
ENDINGS = """3gp 3gpp aa3 aac ac3 adts aif aifc aiff amr ape asf au avi bit caf dff dsf eac3 flac flv m2ts m4a m4b m4v mka mkv mov mp1 mp2 mp3
mp4 mpc mpp oga ofr ofs ogg ogv oma opus oggflac oggtheora rf64 snd spx tak thd ts tta vqf w64 wav webm wma wmv wv""".split()

# Public repositories with test sounds: their owner, and the folder. fate-suite is a copy of the samples that FFmpeg's own
# tests fetch from its server, by codec, all named .wav.
CLONES = {"tinytag": ("tinytag", "tinytag/tests/samples"), "music-metadata": ("Borewit", "test/samples"), "flac-test-files": ("ietf-wg-cellar", "."),
          "minimp3": ("lieff", "vectors"), "fate-suite": ("luke-cha", "audio")}

DIFFER = {  # parts of names: why they differ
    "he_mode": "changes between one channel and two every few frames: Verity begins anew at each change, and is then up to 2 ms off",
    "he_44_48khz": "changes its sample rate at 10.5 s: from there on Verity is 2 ms off",
}

RATE = 16000
NEAR = 0.05   # seconds: encoder padding, which readers trim differently
CLOSE = 0.01  # seconds: what is further off has a row of its own
GAIN = 0.01   # of the level
MOST_COMPARED = 300  # seconds: of a longer sound the first minute is compared
MOST = 64 << 20  # bytes of a file
ALIKE = 20    # dB of signal over difference, below BAND
BAND = 7 / 16 # of the lower sample rate: above it resamplers roll off differently
EDGE = 160    # samples at both ends, of which resamplers see one side


def run(env):
    if not shutil.which("ffmpeg"):
        env.skip("needs ffmpeg, which is not installed")
    places, cases, decibels = {"mutagen 1.47.0": env.sdist("mutagen==1.47.0") / "tests" / "data"}, [], []
    for name, (owner, folder) in CLONES.items():
        if (clone := env.source(name)) and (clone / folder).is_dir():
            places[env.commit(name)] = clone / folder
        else:
            cases.append(env.missing(name, f"needs $VERITY_PROOF_SOURCES/{name}/{folder} of {owner}/{name}"))
    for of, place in places.items():
        files = sorted(p for p in pathlib.Path(place).rglob("*") if p.suffix[1:].lower() in ENDINGS and p.is_file() and 0 < p.stat().st_size < MOST)
        for file in files:
            kind, ok, reason = compare(env, file, decibels)
            if ok is False and (why := next((why for part, why in DIFFER.items() if part in file.name), None)):
                ok, reason = None, why
            cases.append({"case": str(file.relative_to(place)), "of": f"{of}: {kind}", "ok": ok, "reason": reason})
    env.note(f"Alike means: as long as what ffmpeg reads, to {1000 * CLOSE:.0f} ms (to {1000 * NEAR:.0f} ms in rows that say so: encoders' padding is trimmed "
             f"differently), the level within {100 * GAIN:.0f} % (where nothing exceeds full scale, which readers may cut off), and the difference at least {ALIKE} dB below the sound, under {BAND:.2f} of the lower sample rate, at "
             f"the offset within {1000 * NEAR:.0f} ms that suits best. The whole sound is compared, of those over {MOST_COMPARED / 60:.0f} minutes the first minute. "
             f"Of {len(decibels)} files that Verity's own readers read alike, {sum(d >= 40 for d in decibels)} differ by 40 dB or less than that, "
             f"{sum(30 <= d < 40 for d in decibels)} by 30 to 40 dB, {sum(d < 30 for d in decibels)} by {ALIKE} to 30 dB. Rows \"by ffmpeg\" compare ffmpeg with "
             "the ffmpeg that Verity starts, for formats that it does not read by itself. A file is refused clearly if the program ends with status 1 and a "
             "message that names the file, what is wrong and what to do.")
    env.note("Symphonia's repository has no sounds. FFmpeg's are those of luke-cha/fate-suite, a copy of the samples on its server.")
    return cases


def compare(env, file, decibels):
    """Reads a file with both programs. Returns how it was read, whether that is right, and what differs."""
    import numpy
    raw = env.work / "ours"
    try:
        theirs, rate, refused = by_ffmpeg(file)
    except subprocess.TimeoutExpired:
        return "not read", None, "ffmpeg does not end"
    try:
        found = env.bridge()("sound", path=str(file), file=str(raw))
    except RuntimeError as e:
        if not len(theirs):
            unclear = refusal(env, file)
            return "refused by both, clearly", not unclear, unclear
        return "refused", False, f"refused, but ffmpeg reads {len(theirs) / RATE:.2f} s: {str(e).replace(str(file), 'it')}"
    ours = numpy.fromfile(raw, dtype="<f4")[round(found["start"] * RATE):]
    warned = bool(found["warnings"])
    if refused and not len(theirs) and len(ours):
        return "read by Verity alone", True, ""
    length, expected = len(ours) / RATE, len(theirs) / RATE
    difference, off, alike = unlike(ours, theirs, rate)
    if abs(length - expected) > NEAR:
        if length > expected and not difference:
            return "read further than ffmpeg does", True, ""
        difference = f"{length:.2f} s, ffmpeg reads {expected:.2f} s"
    if difference and warned:
        return "damaged, with a warning", True, ""
    if found["own"] and not difference:
        decibels.append(alike)
    reader = "own reader" if found["own"] else "by ffmpeg"
    close = max(abs(off), abs(length - expected)) <= CLOSE
    return f"{reader}, alike" + ("" if close else f", {1000 * CLOSE:.0f} to {1000 * NEAR:.0f} ms off"), not difference, difference


def refusal(env, file):
    """Returns what is wrong with how the program refuses a file."""
    done = subprocess.run([env.verity, "transcribe", "--model", env.root / "model/digits/target", file], capture_output=True, text=True, errors="replace")
    said = done.stderr.strip()
    if done.returncode != 1 or done.stdout:
        return f"ends with status {done.returncode}: {said[-160:]}"
    if file.name not in said or "panic" in said or not re.search(r"; (convert|copy|install)|, want |is empty|not a sound file|has no sound: ", said):
        return f"does not say what is wrong and what to do: {said[-200:]}"
    return ""


def by_ffmpeg(file):
    """Returns the samples that ffmpeg reads, their rate in the file, and whether ffmpeg failed.

    Its defaults would hide what is compared: it weights the channels of surround sound, of which Verity takes the mean; its
    short resampling filter lets through a hundredth of what is above 8 kHz; its own decoder of Opus is not libopus.
    """
    import numpy
    shown = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=codec_name,channels,sample_rate",
                            "-of", "default=noprint_wrappers=1", file], capture_output=True, text=True, timeout=60).stdout
    track = dict(line.partition("=")[::2] for line in shown.splitlines())
    channels, rate = int(track.get("channels", 0)) or 1, int(track.get("sample_rate", 0)) or RATE
    decoder = ["-c:a", "libopus"] if track.get("codec_name") == "opus" else []
    mix = "aformat=fltp,pan=mono|c0=" + "+".join(f"{1 / channels}*c{i}" for i in range(channels))
    done = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *decoder, "-i", file, "-map", "0:a:0", "-af",
                           f"{mix},aresample={RATE}:filter_size=128", "-f", "f32le", "-"], capture_output=True, timeout=60)
    return numpy.frombuffer(done.stdout[:len(done.stdout) // 4 * 4], dtype="<f4"), rate, done.returncode != 0


def unlike(ours, theirs, rate):
    """Compares two sounds below BAND of the rate of the file, at the offset of at most NEAR seconds that suits them best.

    Returns what differs, the offset in seconds, and how many dB the difference is below the sound.
    """
    import numpy
    n = min(len(ours), len(theirs))
    n = n if n < MOST_COMPARED * RATE else 60 * RATE
    edge = EDGE if n > 10 * EDGE else 0
    if n == 0:
        return "", 0, 99
    shift = min(round(NEAR * RATE), n - 1)
    size = 1 << (n + 2 * shift).bit_length()
    a, b = (numpy.fft.rfft(x[edge:n - edge].clip(-1, 1), size) for x in (ours, theirs))
    top = round(BAND * min(rate, RATE) / RATE * size)
    a[top:] = b[top:] = 0
    cross, turn = a * b.conj(), 2j * numpy.pi * numpy.arange(len(a)) / size  # of the phase, by a shift of one sample
    lag = numpy.argmax(numpy.roll(numpy.fft.irfft(cross, size), shift)[:2 * shift + 1]) - shift
    cross *= numpy.exp(turn * lag)
    curve = (cross.real * turn.imag ** 2).sum()
    lag = lag - (cross.imag * turn.imag).sum() / curve if curve > 0 else 0  # to a part of a sample, by Newton's step; silence has none
    x, y = (numpy.fft.irfft(s, size)[2 * edge:n - 4 * edge] for s in (a * numpy.exp(turn * lag), b))
    wrong, power, least = float(((x - y) ** 2).sum()), float((y ** 2).sum()), n * 1e-8  # less than a step of 16 bits and their rounding
    alike = 10 * numpy.log10(power / wrong) if power and wrong > least else 99
    if wrong > power / 10 ** (ALIKE / 10) + least:
        return f"at best {alike if power else 0:.0f} dB alike, of {n / RATE:.1f} s", lag / RATE, alike
    judged = power > 100 * least and abs(theirs[:n]).max() <= 1  # decoders of lossy sound cut off what is beyond full scale, or do not
    gain = float((x * y).sum()) / power if judged else 1
    return f"its level is {gain:.3f} of that in ffmpeg" if abs(gain - 1) > GAIN else "", lag / RATE, alike
