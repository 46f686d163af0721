"""A model that stays loaded, and functions for one call."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import difflib
import errno
import json
import os
import re
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Optional, TypedDict, Union

from . import _options, _results
from ._audio import Audio, as_file, temporary
from ._errors import OptionError, ProcessError, VerityError
from ._process import Process, error_of, log, program, python_words
from ._results import Info, Segment, Transcript
from .utils import format_timestamp

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options

# compute_type of faster-whisper and of Verity: precision of the program.
_COMPUTE = {
    "default": "auto", "auto": "auto", "float32": "f32", "float16": "f16", "int8": "int8", "int8_float32": "int8", "int8_float16": "int8",
    "f32": "f32", "f16": "f16", "mxfp6": "mxfp6", "int4": "int4",
}


def _precision(name: str, compute_type: str) -> str:
    if compute_type not in _COMPUTE:
        raise OptionError(f"{name}: got {compute_type!r}, want one of " + ", ".join(_COMPUTE))
    return _COMPUTE[compute_type]


class _Harmless(TypedDict, total=False):
    """Arguments of other packages' model classes that change nothing."""

    device_index: int
    in_memory: bool
    use_auth_token: None
    revision: Optional[str]
    files: None


class Stream(Iterator[Segment]):
    """Segments as they are decoded. After the last, transcript is the whole.

    After a loop that is left early, close ends the work; so do `with` and the deletion of the stream.
    """

    def __init__(self, model: Model, audio: Audio, options: dict[str, Any], formats: Sequence[str] = _results.FORMATS) -> None:
        self._model = model  # which ends its program when nothing refers to it
        self._process = process = model._process
        self._info: Optional[Info] = None
        self._segments: collections.deque[Segment] = collections.deque()  # read, and not yet returned
        self._transcript: Optional[Transcript] = None
        self._error: Optional[BaseException] = None
        self._files = contextlib.ExitStack()
        self._number = 0
        self._list = ""  # a temporary file of speaker_names or terms
        rate = options.pop("sampling_rate", 16000)
        with contextlib.ExitStack() as files:
            if isinstance(names := options.get("speaker_names"), Mapping):
                if not names or any(": " in name or "\n" in name for name in names):
                    raise _options._error("speaker_names", names, "names, without a colon and a space in one, with a file for each")
                voices = {name: os.path.abspath(os.fsdecode(path)) for name, path in names.items()}
                for path in voices.values():
                    if not os.path.exists(re.sub(r"\s+[\d:.]+-[\d:.]+$", "", path)):
                        raise FileNotFoundError(errno.ENOENT, f"speaker_names: {os.strerror(errno.ENOENT)}", path)
                self._list = temporary("".join(f"{name}: {path}\n" for name, path in voices.items()).encode(), files)
                options["speaker_names"] = self._list
            if isinstance(terms := options.get("terms"), Iterable) and not isinstance(terms, (str, bytes)):
                options["terms"] = temporary("".join(f"{term}\n" for term in terms).encode(), files)
                self._list = self._list or options["terms"]
            line = _options.request(options)
            line["flags"] += ["--output-format=" + ",".join(formats)] * bool(formats)
            self._file = as_file(audio, rate, files)
            self._number, self._answers = process.send(line | {"file": self._file.path, "temporary": self._file.temporary})
            self._files = files.pop_all()

    @property
    def info(self) -> Info:
        """The language and the length of the recording. This waits until they are known, not for the first segment."""
        while self._info is None:
            self._read()
        return self._info

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Segment:
        while not self._segments:
            if self._transcript is not None:
                raise StopIteration
            self._read()
        return self._segments.popleft()

    def _read(self) -> None:
        """Waits for the next answer of the program."""
        if self._error is not None:
            raise self._error
        try:
            answer = self._process.next(self._answers)
        except ProcessError as e:
            self._fail(e)
        if "info" in answer:
            self._info = _results.info(answer["info"])
        elif "segment" in answer:
            self._segments.append(_results.segment(answer["segment"], self._info.language if self._info else ""))
        elif "error" in answer:
            if answer["error"]["kind"] == "canceled":  # with the program
                self._fail(self._process.ended())
            if self._list:  # the file is not the caller's
                answer["error"]["message"] = re.sub(rf" {re.escape(self._list)}: line \d+", "", answer["error"]["message"])
            self._fail(error_of(answer, self._file.path, self._file.name))
        else:
            warnings = answer.get("warnings") or []
            for w in warnings:
                log.warning("%s: %s", self._file.name, w)
            self._transcript = _results.transcript(answer["transcript"] | {"audio": self._file.name}, warnings, answer.get("formats") or {})
            self._info = self._info or _results.info(answer["transcript"])
            self._files.close()

    def _fail(self, error: BaseException) -> NoReturn:
        self._files.close()
        self._error = error
        raise error

    @property
    def transcript(self) -> Transcript:
        """The whole transcript, after the last segment."""
        if self._transcript is None:
            raise self._error or VerityError("the stream has segments left: the transcript comes after the last")
        return self._transcript

    def close(self) -> None:
        """Ends the work, unless it is done."""
        if self._transcript is None and self._error is None and self._number:
            self._error = VerityError("the stream is closed")
            self._process.cancel(self._number)
        self._files.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_files"):
            self.close()


class Model:
    """A Whisper model, loaded once, in a program that runs until close. It may be used from several threads.

    model_size_or_path is "base", which is built in; the name of a published model, such as "small" or
    "openai/whisper-small", which is downloaded into the cache of Hugging Face; or the path of a checkpoint: a directory
    of Hugging Face or CTranslate2, a .pt file of openai-whisper, a ggml file of whisper.cpp.

    compute_type is the format of the weights: auto, float32, float16, int8, or Verity's f32, f16, int8, mxfp6, int4.
    cpu_threads 0 means one for each fast core. num_workers recordings are transcribed at the same time; they share every
    pass over the weights. local_files_only forbids downloads.

    assistant is what drafts tokens (speculative decoding; the text is the same): auto, none, encoder, self, ngram, or the
    name or path of a smaller model. draft_tokens is how many, or auto.
    """

    def __init__(
        self,
        model_size_or_path: Union[str, "os.PathLike[str]"] = "base",
        device: Optional[str] = "cpu",
        compute_type: str = "auto",
        cpu_threads: int = 0,
        num_workers: int = 4,
        download_root: Union[str, "os.PathLike[str]", None] = None,
        local_files_only: bool = False,
        *,
        assistant: Union[str, "os.PathLike[str]"] = "auto",
        assistant_compute_type: str = "auto",
        draft_tokens: Union[str, int] = "auto",
        **others: Unpack[_Harmless],
    ) -> None:
        _refuse(dict(others))
        if device not in ("cpu", "auto", None):
            raise OptionError(f'device: got {device!r}, want "cpu": Verity computes on the CPU')
        flags = [
            f"--model={os.fspath(model_size_or_path)}", f"--precision={_precision('compute_type', compute_type)}",
            f"--threads={cpu_threads}", f"--batch={num_workers}", f"--assistant={os.fspath(assistant)}",
            f"--assistant-precision={_precision('assistant_compute_type', assistant_compute_type)}", f"--draft-tokens={draft_tokens}",
        ]
        if local_files_only:
            flags.append("--offline")
        self._process = Process(flags, {"HF_HUB_CACHE": os.path.abspath(download_root)} if download_root is not None else {})
        self._end = weakref.finalize(self, self._process.close)

    def transcribe(self, audio: Audio, language: _options.Language = None, **options: Unpack[Options]) -> Transcript:
        """Transcribes a recording.

        audio is a path or URL, the bytes of a sound file, a file opened in binary mode, or samples: an array of numpy or
        torch with one dimension, float from -1 to 1 or int16, at sampling_rate (16000). language is "en" or "English";
        ["en", "de"] chooses among these; None detects it. The other options are those of verity_asr.Options. verbose=True
        prints each segment as soon as it is final.

        Raises FileNotFoundError, PermissionError or IsADirectoryError for a path, OptionError (a ValueError) for an option,
        AudioError for audio that cannot be read, and ProcessError if the program has ended.
        """
        with self.stream(audio, language, **options) as segments:
            for s in segments:
                if options.get("verbose"):
                    print(f"[{format_timestamp(s.start)} --> {format_timestamp(s.end)}] {s.text}", flush=True)
            return segments.transcript

    def stream(self, audio: Audio, language: _options.Language = None, **options: Unpack[Options]) -> Stream:
        """Returns an iterator of segments, each as soon as it is final. Arguments and errors are those of transcribe."""
        return Stream(self, audio, {"language": language, **options})

    def detect_language(self, audio: Audio, **options: Unpack[Options]) -> tuple[str, float]:
        """Returns the code of the language spoken in the first 30 s, and its probability."""
        with Stream(self, audio, dict(options), ()) as first:
            return first.info.language, first.info.language_probability

    @property
    def is_multilingual(self) -> bool:
        """Whether the model knows languages besides English."""
        return bool(self._process.about["multilingual"])

    @property
    def supported_languages(self) -> list[str]:
        """The codes of the languages that the model knows."""
        return list(self._process.about.get("languages") or ["en"])

    def close(self) -> None:
        """Ends the program. Transcriptions that run fail with ProcessError."""
        self._end()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()


# Arguments of other packages' model classes without one here: the values that change nothing, and what to do.
_FOREIGN: dict[str, tuple[tuple[object, ...], str]] = {
    "device_index": ((0,), "Verity computes on the CPU"), "in_memory": ((False, True), ""),
    "name": ((), "it is the first argument: Model(NAME)"), "model": ((), "it is the first argument: Model(NAME)"),
    "precision": ((), "use compute_type"), "threads": ((), "use cpu_threads"), "offline": ((), "use local_files_only"),
    "use_auth_token": ((None,), "set the environment variable HF_TOKEN"), "revision": ((None, "main"), "give the path of a checkpoint"),
    "files": ((None,), "give the path of a checkpoint"),
}


def _refuse(others: dict[str, Any]) -> None:
    for name, value in others.items():
        if name not in _FOREIGN:
            known = [*Model.__init__.__annotations__, *_FOREIGN]
            near = difflib.get_close_matches(name, known, 1)
            raise OptionError(f"there is no argument {name}" + (f"; did you mean {near[0]}?" if near else ""))
        harmless, remedy = _FOREIGN[name]
        if value not in harmless:
            raise OptionError(f"{name}: got {value!r}, which has no effect here: {remedy}")


def transcribe(
    audio: Audio, language: _options.Language = None, *, model: Union[str, "os.PathLike[str]"] = "base", **options: Unpack[Options]
) -> Transcript:
    """Loads a model for one call of Model.transcribe."""
    with Model(model) as m:
        return m.transcribe(audio, language, **options)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Plain and assisted decoding of the same audio. raw is the JSON of verity compare.

    identical is True if all tokens, probabilities, times and texts are the same bits; None if nothing was drafted, which
    proves nothing. decoding and total are how many times as fast assisted decoding is, alone and from audio to text.
    """

    identical: Optional[bool]
    decoding: float
    total: float
    raw: dict[str, Any] = dataclasses.field(repr=False)


def compare(
    *audio: Union[str, "os.PathLike[str]"],
    model: Union[str, "os.PathLike[str]"] = "base",
    assistant: Union[str, "os.PathLike[str]"] = "auto",
    compute_type: str = "auto",
    cpu_threads: int = 0,
    repeats: int = 1,
) -> Comparison:
    """Decodes audio files with and without an assistant, and compares the results bit for bit."""
    if not audio:
        raise OptionError("compare: no audio is named")
    if assistant == "none":
        raise OptionError("assistant: got 'none', want what to compare with plain decoding: auto, encoder, self, ngram, or a smaller model")
    with contextlib.ExitStack() as files:
        paths = [as_file(a, 16000, files).path for a in audio]
        done = subprocess.run(
            [
                program(), "compare", "--json", "--quiet", f"--model={os.fspath(model)}", f"--assistant={os.fspath(assistant)}",
                f"--precision={_precision('compute_type', compute_type)}", f"--threads={cpu_threads}", f"--repeats={repeats}",
                "--", *paths,
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
    if done.returncode not in (0, 3) or not done.stdout:
        raise (OptionError if done.returncode == 2 else VerityError)(python_words(done.stderr.decode("utf-8", "replace")))
    raw = json.loads(done.stdout)
    speedup = raw["pairs"][0]["speedup"]
    verdict = {"identical": True, "inconclusive": None}.get(raw["verdict"], False)
    return Comparison(verdict, speedup["decode"]["mean"], speedup["total"]["mean"], raw)
