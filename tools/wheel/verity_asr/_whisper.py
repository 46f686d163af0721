"""The names of faster-whisper and of openai-whisper that work differently from Model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from . import _options
from ._audio import Audio
from ._model import Model
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


def available_models() -> list[str]:
    """Returns the names of OpenAI's models. Model also takes others; those on this machine are what `verity models` lists."""
    sizes = [name for size in ("tiny", "base", "small", "medium") for name in (f"{size}.en", size)]
    return [*sizes, "large-v1", "large-v2", "large-v3", "large", "large-v3-turbo", "turbo"]
