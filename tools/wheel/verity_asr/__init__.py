"""Speech to text by the program verity, which lies in this package with the model base.

    import verity_asr

    result = verity_asr.transcribe("talk.mp3", word_timestamps=True)
    print(result.text)
    for segment in verity_asr.stream("talk.mp3", language="en"):
        print(segment.start, segment.end, segment.text)

Options are those of `verity transcribe --help`, with underscores: beam_size=5, vad=True, task="translate". The
package has no dependencies. Every call is a process of its own, which loads the model.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, Optional, Union

__all__ = ["Segment", "Transcript", "VerityError", "Word", "program", "stream", "transcribe"]

Path = Union[str, "os.PathLike[str]"]


class VerityError(RuntimeError):
    """The program refused or failed; the message is its own, status its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclasses.dataclass(frozen=True)
class Word:
    """A word, with the space before it. Times are in seconds."""

    word: str
    start: float
    end: float
    probability: float


@dataclasses.dataclass(frozen=True)
class Segment:
    """A stretch of text. Words are there if word_timestamps was asked for."""

    start: float
    end: float
    text: str
    words: tuple[Word, ...] = ()
    avg_logprob: Optional[float] = None
    no_speech_prob: Optional[float] = None


@dataclasses.dataclass(frozen=True)
class Transcript:
    """What was said in a file. raw is the program's JSON, with all that it tells."""

    text: str
    language: str
    duration: float
    segments: tuple[Segment, ...]
    raw: dict[str, Any] = dataclasses.field(repr=False)

    @property
    def words(self) -> list[Word]:
        """The words of all segments."""
        return [w for s in self.segments for w in s.words]


def program() -> str:
    """Returns the path of the program in this package."""
    return str(pathlib.Path(__file__).parent / ("verity.exe" if os.name == "nt" else "verity"))


def transcribe(path: Path, *, model: str = "base", language: Optional[str] = None, word_timestamps: bool = False, **options: Any) -> Transcript:
    """Transcribes a sound file. Raises VerityError if the program cannot."""
    with tempfile.TemporaryDirectory() as out:
        command = _command(path, model, language, options | {"word_timestamps": word_timestamps, "output_format": "json", "output_dir": out})
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _check(done.returncode, done.stderr)
        [file] = pathlib.Path(out).glob("*.json")
        raw = json.loads(file.read_text(encoding="utf-8"))
    return Transcript(raw["text"], raw["language"], raw["duration"], tuple(_segment(s) for s in raw["segments"]), raw)


def stream(path: Path, *, model: str = "base", language: Optional[str] = None, **options: Any) -> Iterator[Segment]:
    """Yields the segments of a sound file as soon as each is known. Leaving the loop ends the program."""
    command = _command(path, model, language, options | {"timestamps": True, "output_format": "txt"})
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, encoding="utf-8") as p:
            assert p.stdout is not None
            try:
                for line in p.stdout:
                    if m := _LINE.match(line):
                        yield Segment(_seconds(m[1]), _seconds(m[2]), m[3])
            except BaseException:
                p.terminate()
                raise
        said.seek(0)
        _check(p.returncode, said.read())


_LINE = re.compile(r"\[([\d:.]+) --> ([\d:.]+)\] ?(.*)")


def _seconds(clock: str) -> float:
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return round(total, 3)


def _segment(s: dict[str, Any]) -> Segment:
    words = tuple(Word(w["word"], w["start"], w["end"], w["probability"]) for w in s.get("words") or ())
    return Segment(s["start"], s["end"], s["text"], words, s.get("avg_logprob"), s.get("no_speech_prob"))


def _command(path: Path, model: str, language: Optional[str], options: dict[str, Any]) -> list[str]:
    command = [program(), "transcribe", "--quiet", "--model", model]
    if language is not None:
        command += ["--language", language]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        command.append(f"{flag}={str(value).lower()}" if isinstance(value, bool) else f"{flag}={value}")
    name = os.fspath(path)
    return command + ["--", name]


def _check(status: int, said: bytes) -> None:
    if status != 0:
        text = said.decode("utf-8", "replace").strip()
        raise VerityError(text.removeprefix("verity transcribe: ") or f"verity ended with status {status}", status)


def main() -> None:
    """Runs the program: the command verity."""
    if os.name == "nt":
        sys.exit(subprocess.call([program(), *sys.argv[1:]]))
    os.execv(program(), [program(), *sys.argv[1:]])
