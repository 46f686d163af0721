"""What a transcription returns. Times are in seconds."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Optional


@dataclasses.dataclass(frozen=True)
class Word:
    """A word, with the space before it, as in openai-whisper. speaker is empty unless the option speakers is set."""

    word: str
    start: float
    end: float
    probability: float
    speaker: str = ""


@dataclasses.dataclass(frozen=True)
class Segment:
    """A stretch of text. words is empty unless the option word_timestamps is set.

    temperature, avg_logprob, compression_ratio and no_speech_prob belong to the window of the segment, as in
    openai-whisper. language is set if it differs from the transcript's.
    """

    id: int
    seek: int
    start: float
    end: float
    text: str
    tokens: tuple[int, ...] = ()
    words: tuple[Word, ...] = ()
    speaker: str = ""
    language: str = ""
    temperature: float = 0.0
    avg_logprob: float = 0.0
    compression_ratio: float = 0.0
    no_speech_prob: float = 0.0


@dataclasses.dataclass(frozen=True)
class Turn:
    """A stretch of speech of one speaker. Turns overlap where two people speak."""

    start: float
    end: float
    speaker: str


@dataclasses.dataclass(frozen=True)
class Transcript:
    """The text of a recording. It begins with a space, as in openai-whisper: text.strip() is without.

    language_probability is None if the language was given. turns says who speaks when, with speakers="voice".
    warnings says in words what is wrong with the audio, such as damaged parts. raw is the program's JSON
    (docs/reference/JSON.md), with statistics of the assistant in raw["stats"].
    """

    text: str
    language: str
    language_probability: Optional[float]
    duration: float
    segments: tuple[Segment, ...]
    turns: tuple[Turn, ...] = ()
    warnings: tuple[str, ...] = ()
    raw: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a Transcript is not a pair of segments and info, as in faster-whisper: use .segments, .language and .duration")

    def __getitem__(self, key: Any) -> Any:
        raise TypeError(f"a Transcript is no dictionary: use .{key}, or .raw[{key!r}], the JSON of the program")

    @property
    def words(self) -> list[Word]:
        """The words of all segments."""
        return [w for s in self.segments for w in s.words]


def segment(s: dict[str, Any]) -> Segment:
    """Reads the JSON of a segment."""
    words = tuple(Word(w["word"], float(w["start"]), float(w["end"]), float(w["probability"]), w.get("speaker", "")) for w in s.get("words") or ())
    return Segment(
        s["id"], s["seek"], float(s["start"]), float(s["end"]), s["text"], tuple(s["tokens"]), words, s.get("speaker", ""), s.get("language", ""),
        float(s["temperature"]), float(s["avg_logprob"]), float(s["compression_ratio"]), float(s["no_speech_prob"]),
    )


def transcript(t: dict[str, Any], warnings: list[str]) -> Transcript:
    """Reads the JSON of a transcript."""
    turns = tuple(Turn(float(x["start"]), float(x["end"]), x["speaker"]) for x in t.get("turns") or ())
    return Transcript(
        t["text"], t["language"], t["language_probability"], float(t["duration"]), tuple(segment(s) for s in t["segments"]), turns,
        tuple(warnings), t,
    )
