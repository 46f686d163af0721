"""The names of faster-whisper and of openai-whisper that work differently from Model."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from . import _options
from ._audio import Audio, as_file, check_rate
from ._errors import AudioError
from ._model import Model
from ._process import log, program, python_words
from ._results import Info, Segment

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options


class WhisperModel(Model):
    """A Model whose transcribe returns what faster-whisper's does: `segments, info = model.transcribe("talk.mp3")`."""

    def transcribe(  # type: ignore[override]
        self, audio: Audio, language: _options.Language = None, **options: Unpack[Options]
    ) -> tuple[Iterable[Segment], Info]:
        """Returns an iterator, which has each segment as soon as it is final, and the language and length of the recording.

        Arguments and errors are those of Model.transcribe. The work goes on while you iterate.
        """
        segments = self.stream(audio, language, **options)
        return segments, segments.info

    def detect_language(  # type: ignore[override]
        self, audio: Audio, **options: Unpack[Options]
    ) -> tuple[str, float, list[tuple[str, float]]]:
        """Returns the language, its probability, and those of all languages, the likeliest first, as faster-whisper does."""
        with self.stream(audio, **options) as segments:
            info = segments.info
            return info.language, info.language_probability, info.all_language_probs or [(info.language, 1.0)]


class BatchedInferencePipeline:
    """faster-whisper's way to decode parts of a long recording at the same time: the option chunked."""

    def __init__(self, model: WhisperModel) -> None:
        self.model = model

    def transcribe(
        self, audio: Audio, language: _options.Language = None, *, batch_size: int = 16, **options: Unpack[Options]
    ) -> tuple[Iterable[Segment], Info]:
        """WhisperModel.transcribe with chunked=True. Up to 16 parts are decoded together, whatever batch_size is."""
        options.setdefault("chunked", True)
        return self.model.transcribe(audio, language, **options)


class VadOptions(TypedDict, total=False):
    """What vad_parameters may have."""

    threshold: float
    min_speech_duration_ms: int
    min_silence_duration_ms: int
    speech_pad_ms: int


def decode_audio(input_file: Audio, sampling_rate: int = 16000, split_stereo: bool = False) -> Any:
    """Returns the samples of a recording as an array of numpy, float32: the mean of all channels.

    With split_stereo, it returns the left and the right channel; of a recording with one channel both are that, at 0.707 of
    its level, as ffmpeg and so faster-whisper make them. Verity decodes at 16,000 Hz, and another sampling_rate is made from that.
    """
    check_rate(sampling_rate)
    with contextlib.ExitStack() as files:
        file = as_file(input_file, 16000, files)
        if not split_stereo:
            return _resampled(_decode(file.path, file.name, 0), sampling_rate)
        left = _resampled(_decode(file.path, file.name, 1), sampling_rate)
        try:
            return left, _resampled(_decode(file.path, file.name, 2), sampling_rate)
        except AudioError as e:
            if "only 1 channel" not in str(e):
                raise
        left = left * left.dtype.type(0.5**0.5)
        return left, left.copy()


def _resampled(samples: Any, rate: int) -> Any:
    """Returns samples of 16,000 Hz at another rate. The band that both have stays as it is."""
    import numpy

    if rate == 16000 or not len(samples):
        return samples
    length = max(round(len(samples) * rate / 16000), 1)
    spectrum = numpy.fft.rfft(samples)[: length // 2 + 1]
    return (numpy.fft.irfft(spectrum, length) * (length / len(samples))).astype("float32")


def _decode(path: str, name: str, channel: int) -> Any:
    import numpy

    done = subprocess.run([program(), "decode", f"--channel={channel}", "--", path], stdin=subprocess.DEVNULL, capture_output=True)
    said = python_words(done.stderr.decode("utf-8", "replace").replace(path, "\0")).replace("\0", name)
    if done.returncode:
        raise AudioError(said)
    if said:
        log.warning("%s: %s", name, said)
    return numpy.frombuffer(done.stdout, "<f4").astype("float32")


load_audio = decode_audio  # openai-whisper's name


def available_models() -> list[str]:
    """Returns the names of OpenAI's models. Model also takes others; those on this machine are what `verity models` lists."""
    sizes = [name for size in ("tiny", "base", "small", "medium") for name in (f"{size}.en", size)]
    return [*sizes, "large-v1", "large-v2", "large-v3", "large", "large-v3-turbo", "turbo"]
