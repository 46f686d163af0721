"""What a transcription returns. Times are in seconds."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Iterator, Optional, Union

from ._errors import OptionError


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
    """A stretch of speech of one speaker, with the words of its text. Turns overlap where two people speak."""

    start: float
    end: float
    speaker: str
    text: str = ""


@dataclasses.dataclass(frozen=True)
class Transcript:
    """The text of a recording. It begins with a space, as in openai-whisper: text.strip() is without.

    language_probability is None if the language was given. turns says who speaks when, with speakers="voice".
    warnings says in words what is wrong with the audio, such as damaged parts. formats has the text of each file that write
    can write. raw is the program's JSON
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
    formats: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a Transcript is not a pair of segments and info, as in faster-whisper: use .segments, .language and .duration")

    def __getitem__(self, key: Any) -> Any:
        raise TypeError(f"a Transcript is no dictionary: use .{key}, or .raw[{key!r}], the JSON of the program")

    def write(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a file in the format of its ending, as the command verity does: txt, md, srt, vtt, ass, tsv, lrc, csv or rttm."""
        name = os.fspath(path)
        ending = os.path.splitext(name)[1][1:].lower()
        if ending not in self.formats:
            raise OptionError(f"{name}: want a name that ends in ." + ", .".join(sorted(self.formats)))
        with open(name, "w", encoding="utf-8", newline="") as f:
            f.write(self.formats[ending])

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


def transcript(t: dict[str, Any], warnings: list[str], formats: dict[str, str]) -> Transcript:
    """Reads the JSON of a transcript."""
    segments = tuple(segment(s) for s in t["segments"])
    turns = [Turn(float(x["start"]), float(x["end"]), x["speaker"]) for x in t.get("turns") or ()]
    for w in (w for s in segments for w in s.words):  # each word in the nearest turn of its speaker
        middle = (w.start + w.end) / 2
        own = [i for i, turn in enumerate(turns) if turn.speaker == w.speaker]
        if own:
            i = min(own, key=lambda i: max(turns[i].start - middle, middle - turns[i].end))
            turns[i] = dataclasses.replace(turns[i], text=turns[i].text + w.word)
    return Transcript(
        t["text"], t["language"], t["language_probability"], float(t["duration"]), segments, tuple(turns), tuple(warnings), t, formats,
    )
