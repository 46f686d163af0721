"""What a transcription returns. Times are in seconds."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

from ._errors import OptionError

# The formats that Transcript.write can write, but for json, which is raw.
FORMATS = ("txt", "md", "docx", "srt", "vtt", "ass", "tsv", "lrc", "csv", "rttm")


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
    openai-whisper.
    """

    id: int
    seek: int
    start: float
    end: float
    text: str
    tokens: list[int]
    words: tuple[Word, ...] = ()
    speaker: str = ""
    language: str = ""
    temperature: float = 0.0
    avg_logprob: float = 0.0
    compression_ratio: float = 0.0
    no_speech_prob: float = 0.0


@dataclasses.dataclass(frozen=True)
class Info:
    """What is known of a recording before its first segment. language_probability is 1 if the language was given.

    all_language_probs are the languages and their probabilities, the likeliest first; None if the language was given.
    """

    language: str
    language_probability: float
    duration: float
    all_language_probs: Optional[list[tuple[str, float]]] = None

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            raise AttributeError(f"Info has language, language_probability, duration and all_language_probs, but no {name}")


@dataclasses.dataclass(frozen=True)
class Turn:
    """A stretch of speech of one speaker, with the words of its text. Turns overlap where two people speak."""

    start: float
    end: float
    speaker: str
    text: str = ""


@dataclasses.dataclass(frozen=True, repr=False)
class Transcript(dict[str, Any]):
    """The text of a recording. It begins with a space, as in openai-whisper: text.strip() is without.

    language_probability is 1 if the language was given. turns says who speaks when, with speakers="voice".
    warnings says in words what is wrong with the audio, such as damaged parts. files has the content of each file that
    write can write. raw is the program's JSON (docs/reference/JSON.md), with statistics of the assistant in raw["stats"].

    It is also a dict, as in openai-whisper: transcript["text"] is raw["text"], and json.dumps(transcript) writes raw.
    """

    text: str
    language: str
    language_probability: float
    duration: float
    segments: tuple[Segment, ...]
    turns: tuple[Turn, ...] = ()
    warnings: tuple[str, ...] = ()
    raw: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    files: dict[str, bytes] = dataclasses.field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().update(self.raw)

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        return f"Transcript({text!r}, language={self.language!r}, duration={self.duration}, {len(self.segments)} segments)"

    def __iter__(self) -> NoReturn:
        raise TypeError("a Transcript is not iterable: it has segments and words; `segments, info = …` works with verity_asr.WhisperModel")

    def write(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a file in the format of its ending, as the command verity does: txt, md, docx, srt, vtt, ass, tsv, lrc, csv, json or rttm."""
        name = os.fspath(path)
        ending = os.path.splitext(name)[1][1:].lower()
        files = self.files | {"json": json.dumps(self.raw, ensure_ascii=False).encode()}
        if ending not in files:
            raise OptionError(f"{name}: want a name that ends in ." + ", .".join(files))
        with open(name, "wb") as f:
            f.write(files[ending])

    @property
    def words(self) -> list[Word]:
        """The words of all segments."""
        return [w for s in self.segments for w in s.words]


def segment(s: dict[str, Any], language: str) -> Segment:
    """Reads the JSON of a segment. language is the recording's. Whole seconds become floats in the JSON, too."""
    for timed in (s, *s.get("words", ())):
        timed["start"], timed["end"] = float(timed["start"]), float(timed["end"])
    words = tuple(Word(w["word"], w["start"], w["end"], float(w["probability"]), w.get("speaker", "")) for w in s.get("words", ()))
    return Segment(
        s["id"], s["seek"], s["start"], s["end"], s["text"], s["tokens"], words, s.get("speaker", ""), s.get("language") or language,
        float(s["temperature"]), float(s["avg_logprob"]), float(s["compression_ratio"]), float(s["no_speech_prob"]),
    )


def info(x: dict[str, Any]) -> Info:
    """Reads the JSON of what is known first, or of a transcript."""
    probabilities = sorted(x.get("language_probabilities", {}).items(), key=lambda p: -p[1])
    return Info(x["language"], float(x["language_probability"] or 1), float(x["duration"]), probabilities or None)


def transcript(t: dict[str, Any], warnings: list[str], files: dict[str, str]) -> Transcript:
    """Reads the JSON of a transcript, and files in base64."""
    segments = tuple(segment(s, t["language"]) for s in t["segments"])
    turns = tuple(Turn(float(x["start"]), float(x["end"]), x["speaker"], x.get("text", "")) for x in t.get("turns") or ())
    known = info(t)
    content = {name: base64.b64decode(text) for name, text in files.items()}
    return Transcript(t["text"], known.language, known.language_probability, known.duration, segments, turns, tuple(warnings), t, content)
