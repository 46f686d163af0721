"""Uses an installed verity_asr: check.py ROOT PROGRAM [arrays]. Run by build.py --test.

ROOT is this repository: its test model of spoken digits makes most of the checks short. With "arrays", only arrays of
numpy are tried.
"""
import array
import io
import json
import logging
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time
import types
import wave
import zipfile

import verity_asr
from verity_asr import _process
from verity_asr.utils import format_timestamp, get_writer

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
digits, speech, target = root / "model/digits/digits.wav", root / "model/base/jfk.flac", root / "model/digits/target"
children = f"/proc/self/task/{os.getpid()}/children"


def fails(kind, words, call):
    """Checks that a call raises an error of a kind, whose message has some words, and no flags of the command line."""
    try:
        call()
    except kind as e:
        assert words in str(e) and "--" not in str(e), f"{e!r}: want {words!r}, and no flags"
    else:
        raise AssertionError(f"no error, want {kind.__name__}: {words}")


model = verity_asr.Model(target, "cpu", "default", cpu_threads=1, num_workers=2)
plain = model.transcribe(digits)
with model.stream(str(digits)) as segments:
    assert (segments.info.language, segments.info.duration) == (plain.language, plain.duration), segments.info
    fails(verity_asr.VerityError, "segments left", lambda: segments.transcript)
    assert tuple(segments) == segments.transcript.segments == plain.segments, (segments.transcript, plain)
    assert len(plain.segments) > 3
assert verity_asr.transcribe(digits, model=target).text == plain.text

# Files, in the program's formats.
for ending, words in (("srt", "00:00:00,"), ("vtt", "WEBVTT"), ("txt", plain.text.split()[0])):
    plain.write(pathlib.Path("plain." + ending))
    assert words in pathlib.Path("plain." + ending).read_text(encoding="utf-8"), ending
plain.write("plain.docx")
assert zipfile.is_zipfile("plain.docx")
plain.write("plain.json")
assert json.loads(pathlib.Path("plain.json").read_text(encoding="utf-8")) == plain.raw
fails(verity_asr.OptionError, "want a name that ends in", lambda: plain.write("plain.odt"))

# As faster-whisper and openai-whisper return it.
segments, info = verity_asr.WhisperModel(target, "cpu", cpu_threads=1).transcribe(digits, "en", verbose=True)
assert (info.language, info.duration) == ("en", plain.duration) and [next(segments), *segments] == list(plain.segments), info
assert verity_asr.WhisperModel(target, cpu_threads=1).detect_language(digits)[2][0][0] == "en"
segments, info = verity_asr.BatchedInferencePipeline(verity_asr.WhisperModel(target, cpu_threads=1)).transcribe(digits, batch_size=4)
assert "".join(s.text for s in segments) and info.duration == plain.duration, info
del segments  # which holds the last reference to its model
fails(TypeError, "works with verity_asr.WhisperModel", lambda: list(plain))
get_writer("srt", ".")(plain, str(digits), {"max_line_width": None})
assert pathlib.Path("digits.srt").read_bytes() == plain.files["srt"]
fails(verity_asr.OptionError, "max_line_width: pass it to transcribe", lambda: get_writer("srt", ".")(plain, "a.wav", max_line_width=9))
assert format_timestamp(3601.5, decimal_marker=",") == "01:00:01,500" and format_timestamp(61.5) == "01:01.500"
for names in verity_asr.Options.__annotations__:
    assert names in verity_asr.Options.__doc__, f"{names}: Options does not explain it"
assert plain["text"] == plain.text and plain["segments"][0]["text"] == plain.segments[0].text
assert "text" in plain and "txet" not in plain and plain.get("txet", 3) == 3 and dict(plain) == plain.raw == json.loads(json.dumps(plain))

# Every kind of audio is the same audio. A file object is read from its position.
with wave.open(str(digits)) as f:
    rate, samples = f.getframerate(), array.array("h", f.readframes(f.getnframes()))
floats = array.array("f", [s / 32768 for s in samples])
prefixed = io.BytesIO(b"skipped" + digits.read_bytes())
prefixed.seek(7)
kinds = [os.path.relpath(digits), digits.read_bytes(), bytearray(digits.read_bytes()), prefixed, memoryview(digits.read_bytes()), samples, floats, list(floats)]
if sys.argv[3:] == ["arrays"]:
    import numpy

    kinds = [numpy.array(samples, dtype=kind) / scale for kind, scale in (("float32", 32768), ("float64", 32768))]
    kinds += [numpy.array(samples, dtype="int16"), numpy.repeat(numpy.array(samples, dtype="int16"), 2)[::2]]
    kinds += [kinds[0][None], kinds[0][:, None]]
    decoded = verity_asr.decode_audio(digits)
    assert decoded.dtype == "float32" and abs(len(decoded) / 16000 - plain.duration) < 0.01 and 0.01 < abs(decoded).max() <= 1, decoded
    assert model.transcribe(decoded).text == plain.text
    assert (verity_asr.decode_audio(digits.read_bytes(), split_stereo=False) == decoded).all()
    fails(verity_asr.AudioError, "the bytes", lambda: verity_asr.decode_audio(b"no sound" * 9))
    half, both = verity_asr.decode_audio(digits, 8000), verity_asr.decode_audio(digits, split_stereo=True)
    assert half.dtype == "float32" and abs(len(half) - len(decoded) / 2) <= 1 and model.transcribe(half, sampling_rate=8000).text, half
    assert (both[0] == both[1]).all() and abs(both[0] - decoded * 0.5**0.5).max() < 1e-6
    fails(verity_asr.OptionError, "want a whole number", lambda: verity_asr.decode_audio(digits, 0))
    for bad in (numpy.array([0, float("nan")]), [0.0, float("inf")]):
        fails(verity_asr.OptionError, "got a sample of", lambda bad=bad: model.transcribe(bad))
    fails(FileNotFoundError, "nowhere.wav", lambda: verity_asr.decode_audio("nowhere.wav"))
    fails(verity_asr.OptionError, "got 2 channels, want one: pass audio.mean(axis=0)", lambda: model.transcribe(numpy.zeros((2, 16000), "float32")))
    fails(verity_asr.OptionError, "divide samples of 16 bits by 32768", lambda: model.transcribe(numpy.array(samples, dtype="float32")))
    fails(verity_asr.OptionError, "want int16, or float from -1 to 1: pass audio / 2**31", lambda: model.transcribe(numpy.zeros(9, "int32")))
for audio in kinds:
    assert model.transcribe(audio, sampling_rate=rate).text == plain.text, type(audio)
if sys.argv[3:] == ["arrays"]:
    model.close()
    sys.exit()
with open(digits, "rb") as f:
    assert model.transcribe(f).text == plain.text
assert abs(model.transcribe(samples, sampling_rate=8000).duration - 2 * plain.duration) < 0.01

# Names of openai-whisper and faster-whisper, with the defaults of both.
draft = pathlib.Path("draft.txt")
draft.write_text(plain.text, encoding="utf-8")
usual = dict(
    language="en", task="transcribe", log_progress=False, beam_size=1, best_of=1, patience=1, length_penalty=None,
    repetition_penalty=1, no_repeat_ngram_size=0, temperature=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0], compression_ratio_threshold=2.4,
    log_prob_threshold=-1.0, no_speech_threshold=0.6, condition_on_previous_text=True, prompt_reset_on_temperature=0.5,
    initial_prompt=None, prefix=None, suppress_blank=True, suppress_tokens=[-1], without_timestamps=False,
    max_initial_timestamp=1.0, word_timestamps=False, multilingual=False, vad_filter=None, max_new_tokens=None, chunk_length=None,
    clip_timestamps="0", hallucination_silence_threshold=None, hotwords=None, language_detection_threshold=0.5,
    language_detection_segments=1, verbose=None, fp16=False, carry_initial_prompt=False, prepend_punctuations="\"'“¿([{-",
    append_punctuations="\"'.。,，!！?？:：”)]}、",
)
assert model.transcribe(digits, **usual).text == plain.text
for options in (
    {"temperature": 0}, {"temperature": (0.0, 1.0)}, {"compression_ratio_threshold": None, "logprob_threshold": None, "no_speech_threshold": None},
    {"draft_from": draft}, {"vad_filter": True, "vad_parameters": {"threshold": 0.4, "min_silence_duration_ms": 3000, "speech_pad_ms": 400}},
    {"vad_filter": False}, {"chunked": True}, {"beam_size": 2}, {"language": ["en"]},
):
    text = model.transcribe(digits, **options).text
    assert text and (text == plain.text or "vad_filter" in options), (options, text)
draft.write_text("Hello! " + plain.text.strip().upper(), encoding="utf-8")
given = model.transcribe(digits, align=draft)
assert given.text.strip() == draft.read_text(encoding="utf-8") and given.segments[0].words[1].end > 0, given
assert given.raw["differences"][0]["text"] == "Hello!", given.raw["differences"]
part = model.transcribe(digits, clip_timestamps=[0, plain.segments[0].end + 0.2])
assert 0 < len(part.text) < len(plain.text) / 2, part
assert part.text == model.transcribe(digits, clip_timestamps=[{"start": 0, "end": plain.segments[0].end + 0.2}]).text
assert {s.temperature for s in model.transcribe(digits, temperature=(0.0, 0.9), logprob_threshold=0, strategy="upstream").segments} == {0.9}

# Errors in the terms of Python.
for kind, words, audio, options in (
    (FileNotFoundError, "nowhere.wav", "nowhere.wav", {}), (FileNotFoundError, "talk.mp3", pathlib.PureWindowsPath(r"C:\talks\talk.mp3"), {}),
    (IsADirectoryError, "directory", root, {}), (verity_asr.AudioError, "the bytes", b"no sound" * 9, {}),
    (verity_asr.AudioError, __file__, __file__, {}), (TypeError, "want a path", 3, {}), (ValueError, "floats from -1 to 1", ["x"], {}), (ValueError, "divide samples", [300.0], {}),
    (TypeError, "binary mode", io.StringIO("x"), {}),
    (ValueError, "beam_size: got 2.5, want a whole number", digits, {"beam_size": 2.5}),
    (ValueError, "temperature: got [], want at least one number", digits, {"temperature": []}),
    (ValueError, "windows of 30 s", digits, {"vad_filter": True, "vad_parameters": {"max_speech_duration_s": 20}}),
    (ValueError, "beam_size 1000: must be from 0 to 64", digits, {"beam_size": 1000}),
    (ValueError, "did you mean language?", digits, {"languge": "en"}), (ValueError, "as in openai-whisper", digits, {"max_initial_timestamp": 3}),
    (ValueError, "temperature", digits, {"temperature": 5}), (ValueError, "want True or False", digits, {"word_timestamps": 1}),
    (ValueError, "clip_timestamps", digits, {"clip_timestamps": [{"from": 1}]}), (ValueError, "there is no min_silence", digits,
     {"vad_filter": True, "vad_parameters": {"min_silence": 3}}), (ValueError, "needs vad_filter", digits, {"vad_parameters": {"threshold": 0.3}}),
    (ValueError, "language", digits, {"language": "klingon"}), (ValueError, "draft_from", digits, {"draft_from": "nowhere.txt"}), (ValueError, "align", digits, {"align": "nowhere.txt"}),
    (ValueError, "speakers", digits, {"speakers": "auto"}), (ValueError, "sampling_rate", samples, {"sampling_rate": "16k"}),
    (ValueError, "token ids are not accepted", digits, {"initial_prompt": [1, 2]}), (ValueError, "chunked=True", digits, {"batch_size": 8}),
    (ValueError, "clip_timestamps 100 begins after the end", digits, {"clip_timestamps": [100, 200]}),
    (ValueError, "another name", digits, {"logprob_threshold": -1, "log_prob_threshold": -2}),
):
    for call in (model.transcribe, lambda a, **o: list(model.stream(a, **o))):
        fails(kind, words, lambda: call(audio, **options))
fails(FileNotFoundError, "nowhere.wav", lambda: model.transcribe(speech, speaker_names={"Ann": "nowhere.wav 0:01-0:05"}))
fails(verity_asr.VerityError, f"speaker_names: {__file__}: ", lambda: model.transcribe(speech, speaker_names={"Ann": __file__}))
fails(AttributeError, "pass the file to Model.transcribe", lambda: verity_asr.pad_or_trim)
assert not hasattr(verity_asr, "pad_or_trim")
fails(AttributeError, "has no Modell", lambda: verity_asr.Modell)
fails(verity_asr.ModelError, "did you mean base?", lambda: verity_asr.Model("basse", local_files_only=True))
fails(ValueError, "compute_type: got 'q5_0', want one of default, auto, float32", lambda: verity_asr.Model(compute_type="q5_0"))
fails(ValueError, 'want "cpu"', lambda: verity_asr.Model(device="cuda"))
fails(ValueError, "did you mean cpu_threads?", lambda: verity_asr.Model(cpu_thread=2))

# Threads share a model; a loop that is left ends its work; closing ends everything, also for those who wait.
texts = []
threads = [threading.Thread(target=lambda: texts.append(model.transcribe(digits).text)) for _ in range(3)]
for t in threads:
    t.start()
for segment in model.stream(digits):
    break
for t in threads:
    t.join()
assert texts == 3 * [plain.text], texts
waiting = model.stream(digits)
threading.Timer(0.02, model.close).start()
fails(verity_asr.ProcessError, "closed", lambda: (list(waiting), model.transcribe(digits)))
fails(verity_asr.ProcessError, "the model is closed: open a new Model", lambda: model.transcribe(digits))
model.close()

# A program that dies is an error, and leaves no zombie.
killed = verity_asr.Model(target, cpu_threads=1)
killed._process._child.kill()
fails(verity_asr.ProcessError, "open the model again", lambda: killed.transcribe(digits))
killed.close()
# So is one that dies in the middle of a line. Logs are passed on as they are, and answers are read while a write waits.
heard: list[str] = []
handler = logging.Handler()
handler.emit = lambda record: heard.append(record.getMessage())
logging.getLogger("verity_asr").addHandler(handler)
locked: list[bool] = []
fake = object.__new__(_process.Process)
fake._lock, fake._write_lock, fake._ended, fake._said = threading.Lock(), threading.Lock(), False, []
fake._waiting = {1: queue.SimpleQueue()}
fake._child = types.SimpleNamespace(
    stdin=types.SimpleNamespace(write=lambda _: locked.append(fake._lock.locked()), flush=lambda: None),
    stdout=io.BytesIO(b'{"id": 1, "segm'), stderr=io.BytesIO(b'{"level": "WARN", "msg": "50% done"}\n'),
)
answers = fake._waiting[1]
fake._read_answers()
assert fake._ended and answers.get_nowait() is None
fake._read_log()
assert heard == ["50% done"], heard
fake._write({"cancel": 1})
assert locked == [False]
# A stream needs no other reference to its model.
assert tuple(verity_asr.Model(target, cpu_threads=1).stream(digits)) == plain.segments
# Names of files are no flags.
assert _process.python_words("my--talk.mp3, /a/--talk.mp3: --beam-size 5") == "my--talk.mp3, /a/--talk.mp3: beam_size 5"
missing = {"error": {"kind": "missing", "message": "/a/x: --beam-size"}}
assert str(_process.error_of(missing, "/a/x", "--talk.mp3")) == "--talk.mp3: beam_size"
if os.path.exists(children):
    assert not pathlib.Path(children).read_text().split(), "programs are left"
    # Nor does one outlive a Python that is killed.
    code = f"import verity_asr, os; m = verity_asr.Model({str(target)!r}); print(m._process._child.pid, flush=True); os.kill(os.getpid(), 9)"
    pid = int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout)
    for _ in range(500):
        if not os.path.exists(f"/proc/{pid}"):
            break
        time.sleep(0.02)
    else:
        raise AssertionError("the program outlives Python")
    # Nor does a recording that was given as bytes.
    code = (
        f"import verity_asr, os, pathlib, sys; m = verity_asr.Model({str(target)!r}); s = m.stream(pathlib.Path({str(digits)!r}).read_bytes());"
        "print(s._file.path, os.path.exists(s._file.path), flush=True); os._exit(1)"
    )
    path, existed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout.split()
    for _ in range(500):
        if not os.path.exists(path):
            break
        time.sleep(0.02)
    else:
        raise AssertionError("a temporary file outlives Python")
    assert existed == "True", existed

# Damaged audio warns; the proof of assisted decoding; the command.
with verity_asr.Model(target, cpu_threads=1, assistant=root / "model/digits/assistant") as model:
    cut = model.transcribe(digits.read_bytes()[:-40000])
    assert cut.raw["truncated"] and cut.warnings and heard[-1].startswith("the bytes: "), (cut, heard)
proof = verity_asr.compare(digits, model=target, assistant=root / "model/digits/assistant", cpu_threads=1)
assert proof.identical and proof.raw["pairs"][0]["acceptance"]["drafted"] > 0 and proof.decoding > 0 < proof.total, proof
assert verity_asr.compare(digits, model=target, assistant="ngram", cpu_threads=1).identical in (True, None)
fails(verity_asr.OptionError, "assistant", lambda: verity_asr.compare(digits, assistant="none"))
# The built-in model: words, and segments as they come.
with verity_asr.Model(cpu_threads=2) as model:
    result = model.transcribe(speech, language="en", word_timestamps=True)
    assert "ask what you can do for your country" in result.text and result.language == "en", result
    assert abs(result.duration - 11) < 0.1 and result.segments[-1].end <= result.duration + 0.1, result
    assert len(result.words) > 15 and all(w.start <= w.end for w in result.words), result.words
    assert "".join(w.word for w in result.words) == result.text, result.words
    assert result.raw["stats"]["drafts"]["drafted"] > 0, result.raw["stats"]
    assert model.is_multilingual and "nl" in model.supported_languages
    assert model.detect_language(speech)[0] == "en"
    with model.stream(speech) as segments:
        languages = segments.info.all_language_probs
        assert languages and languages[0] == ("en", segments.info.language_probability) and abs(sum(p for _, p in languages) - 1) < 1e-3, languages
    with model.stream(speech, language="en") as segments:
        assert segments.info.all_language_probs is None
    spoken = model.transcribe(speech, speakers="voice", verbose=True)
    assert "".join(t.text for t in spoken.turns) == spoken.text, spoken.turns
    named = model.transcribe(speech, speaker_names={"Jack": f"{speech} 0:00-0:08"}, terms=["Kennedy"])
    assert {s.speaker for s in named.segments} >= {"Jack"}, named.segments
    assert spoken.turns and {s.speaker for s in spoken.segments} == {spoken.turns[0].speaker} and spoken.words[0].speaker, spoken

said = subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout
assert said.startswith("verity "), said
assert verity_asr.__version__ and verity_asr.load_model is verity_asr.Model
assert json.loads(json.dumps(plain.raw))["text"] == plain.text
print("verity_asr: models, streams, audio, options, errors, processes, compare and the command verity work")
