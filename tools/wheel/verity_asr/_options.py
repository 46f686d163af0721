"""The options of a transcription: names of openai-whisper and faster-whisper, and their meaning to the program."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, Optional, TypedDict, Union

from ._errors import OptionError


Language = Union[str, Sequence[str], None]


class Options(TypedDict, total=False):
    """The options of Model.transcribe and Model.stream, besides language.

    Names and meanings are those of openai-whisper and faster-whisper where these have the option. What is left out has
    the default of the command line. None turns a threshold off, and is the default elsewhere.

    Language and text:
      task                         "transcribe" (the default), or "translate" into English
      multilingual                 detect the language of every window
      initial_prompt               text before the first window: names, spelling, style
      carry_initial_prompt         use it for every window
      hotwords                     names and terms as text before each window; not with terms
      terms                        names and terms: a list, or a file with one per line; "Kennedy:2" doubles the weight
      prefix                       beginning of the first window's text
      condition_on_previous_text   show each window the text before it (True)
      suppress_tokens              ids of tokens that are never chosen; -1 means symbols that are not spoken
      suppress_expression          a regular expression of tokens that are never chosen
      without_timestamps           each window is one segment
      strategy                     "accurate" (the default), or "upstream": the decisions of openai-whisper

    Times:
      word_timestamps              time every word
      align                        a file with the text of the audio (txt, srt, vtt, json), which is written word for word with its times;
                                   raw["differences"] has where text and audio do not agree
      prepend_punctuations, append_punctuations   marks that belong to the next word, or to the one before
      clip_timestamps              parts to transcribe in seconds: [start, end, start, end], or [{"start": 1, "end": 2}]

    Search:
      temperature                  (0, 0.2, 0.4, 0.6, 0.8, 1) are tried in turn; a number: only that
      beam_size                    1 is greedy (the default); the assistant drafts only there
      patience, length_penalty     of beam search
      best_of, top_k, top_p, seed  of sampling above temperature 0
      repetition_penalty, no_repeat_ngram_size   against repetitions
      max_new_tokens               of a window

    Thresholds of a window's text:
      compression_ratio_threshold  2.4; more repetition is a failure
      logprob_threshold            -1; less probability is a failure; log_prob_threshold in faster-whisper
      no_speech_threshold          0.6; above it, a failed window is silence
      hallucination_silence_threshold   seconds of silence around text that is skipped as invented (None)

    Speech and speakers:
      vad_filter                   True skips what is not speech; False does not look for speech; None looks where in doubt
      vad_parameters               a dict, see VadOptions
      speakers                     "voice", how many voices there are, 3 or "2-4", "channels", or "one" (the default)
      speaker_names                known voices: {"Ann": "ann.wav", "Bob": "talk.mp3 1:30-1:45"}, or a file of such lines

    Audio:
      sampling_rate                of samples (16000)
      channel                      from 1; 0 is the mean of all (the default)
      audio_track                  of several: its number, from 1
      ffmpeg                       "auto", "never", or a path
      strict                       damaged audio is an error
      audio_context                "fit" (the default), "all", or positions of 20 ms
      pad                          "audio" or "mel": what follows the end of the audio

    Speed:
      chunked                      decode parts of a long file at the same time
      draft_from                   a transcript of the audio: the same text, sooner

    Files that Transcript.write writes:
      subtitles                    True, "bbc", "netflix", "ted", "youtube" or "shorts": cut subtitles for reading; limits may follow: "ted,cps=15"
      max_line_width, max_line_count, max_words_per_line   limits of a subtitle
      highlight_words              underline each word as it is spoken

    Without effect: fp16, log_progress, suppress_blank=True. verbose=True prints the segments in Model.transcribe.
    """

    task: str
    multilingual: bool
    initial_prompt: Optional[str]
    carry_initial_prompt: bool
    hotwords: Union[str, Sequence[str], None]
    terms: Union[str, "os.PathLike[str]", Sequence[str], None]
    prefix: Optional[str]
    condition_on_previous_text: bool
    suppress_tokens: Union[str, Sequence[int], None]
    suppress_expression: str
    without_timestamps: bool
    strategy: str
    word_timestamps: bool
    align: Union[str, "os.PathLike[str]", None]
    prepend_punctuations: str
    append_punctuations: str
    clip_timestamps: Union[str, Sequence[float], Sequence[Mapping[str, float]]]
    temperature: Union[float, Sequence[float]]
    beam_size: Optional[int]
    patience: Optional[float]
    length_penalty: Optional[float]
    best_of: Optional[int]
    top_k: int
    top_p: float
    seed: int
    repetition_penalty: float
    no_repeat_ngram_size: int
    max_new_tokens: Optional[int]
    compression_ratio_threshold: Optional[float]
    logprob_threshold: Optional[float]
    log_prob_threshold: Optional[float]
    no_speech_threshold: Optional[float]
    hallucination_silence_threshold: Optional[float]
    vad_filter: Optional[bool]
    vad_parameters: Optional[Mapping[str, Any]]
    speakers: Union[str, int, None]
    speaker_names: Union[Mapping[str, Union[str, "os.PathLike[str]"]], str, "os.PathLike[str]", None]
    sampling_rate: int
    channel: int
    audio_track: Union[str, int]
    ffmpeg: str
    strict: bool
    audio_context: Union[str, int]
    pad: str
    chunked: bool
    draft_from: Union[str, "os.PathLike[str]", None]
    subtitles: Union[str, bool]
    max_line_width: int
    max_line_count: int
    max_words_per_line: int
    highlight_words: bool
    fp16: Optional[bool]
    verbose: Optional[bool]
    log_progress: Optional[bool]
    suppress_blank: bool


Request = dict[str, Any]  # a line for the program
Convert = Callable[[str, Any], str]


def _error(name: str, got: object, want: str) -> OptionError:
    return OptionError(f"{name}: got {got!r}, want {want}")


def _switch(name: str, value: Any) -> str:
    if not isinstance(value, bool):
        raise _error(name, value, "True or False")
    return str(value).lower()


def _number(name: str, value: Any) -> str:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise _error(name, value, "a number")
    return repr(int(value)) if isinstance(value, int) else repr(float(value))


def _whole(name: str, value: Any) -> str:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _error(name, value, "a whole number")
    return repr(int(value))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _error(name, value, "a string")
    return value


def _prompt(name: str, value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        raise _error(name, value, "a string; token ids are not accepted")
    return _text(name, value)


def _words(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    words = list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(w, str) for w in words):
        raise _error(name, value, "a string or a list of strings")
    return ", ".join(words)


def _ids(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Iterable):
        raise _error(name, value, "a list of token ids")
    return ",".join(_whole(name, v) for v in value)


def _clips(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Iterable):
        raise _error(name, value, "start, end, start, end, … in seconds")
    times: list[str] = []
    for v in value:
        if isinstance(v, Mapping):
            if set(v) != {"start", "end"}:
                raise _error(name, v, "a dict with start and end, in seconds")
            times += [_number(name, v["start"]), _number(name, v["end"])]
        else:
            times.append(_number(name, v))
    return ",".join(times)


def _vad(name: str, value: Any) -> str:
    return "on" if _switch(name, value) == "true" else "off"


def _path(name: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise _error(name, value, "the path of a file" + (", or a list" if name == "terms" else ""))
    path = os.fspath(value)
    if name == "terms" and not os.path.exists(path):
        raise _error(name, value, "the path of a file, or a list, terms=[...]")
    return os.path.abspath(path) if isinstance(path, str) else os.path.abspath(os.fsdecode(path))


def _text_or_number(name: str, value: Any) -> str:
    return value if isinstance(value, str) else _whole(name, value)


def _speakers(name: str, value: Any) -> str:
    if isinstance(value, bool):
        raise _error(name, value, '"voice", how many speakers there are, or "channels"')
    return _text_or_number(name, value)


# The flag of each option and how its value is written.
_FLAGS: dict[str, tuple[str, Convert]] = {
    "language": ("language", _words), "multilingual": ("multilingual", _switch), "task": ("task", _text),
    "strategy": ("strategy", _text), "initial_prompt": ("initial-prompt", _prompt),
    "carry_initial_prompt": ("carry-initial-prompt", _switch), "hotwords": ("hotwords", _words), "terms": ("terms", _path), "prefix": ("prefix", _prompt),
    "condition_on_previous_text": ("condition-on-previous-text", _switch), "word_timestamps": ("word-timestamps", _switch),
    "prepend_punctuations": ("prepend-punctuations", _text), "append_punctuations": ("append-punctuations", _text),
    "without_timestamps": ("without-timestamps", _switch), "beam_size": ("beam-size", _whole), "patience": ("patience", _number),
    "best_of": ("best-of", _whole), "length_penalty": ("length-penalty", _number),
    "repetition_penalty": ("repetition-penalty", _number), "no_repeat_ngram_size": ("no-repeat-ngram-size", _whole),
    "max_new_tokens": ("max-new-tokens", _whole), "top_k": ("top-k", _whole), "top_p": ("top-p", _number), "seed": ("seed", _whole), "suppress_tokens": ("suppress-tokens", _ids),
    "compression_ratio_threshold": ("compression-ratio-threshold", _number),
    "logprob_threshold": ("logprob-threshold", _number), "log_prob_threshold": ("logprob-threshold", _number),
    "no_speech_threshold": ("no-speech-threshold", _number),
    "hallucination_silence_threshold": ("hallucination-silence-threshold", _number),
    "clip_timestamps": ("clip-timestamps", _clips), "vad_filter": ("vad", _vad), "speakers": ("speakers", _speakers),
    "speaker_names": ("speaker-names", _path), "chunked": ("chunked", _switch), "draft_from": ("draft-from", _path), "align": ("align", _path), "channel": ("channel", _whole), "audio_track": ("audio-track", _text_or_number),
    "ffmpeg": ("ffmpeg", _text), "strict": ("strict", _switch), "audio_context": ("audio-context", _text_or_number),
    "subtitles": ("subtitles", lambda name, value: "on" if value is True else "off" if value is False else _text(name, value)), "max_line_width": ("max-line-width", _whole), "max_line_count": ("max-line-count", _whole),
    "max_words_per_line": ("max-words-per-line", _whole), "highlight_words": ("highlight-words", _switch),
    "pad": ("pad", _text), "suppress_expression": ("suppress-expression", _text),
}

# Options whose None turns them off.
_NONE = {
    "compression_ratio_threshold": "none", "logprob_threshold": "none", "log_prob_threshold": "none", "no_speech_threshold": "none",
    "hallucination_silence_threshold": "none", "suppress_tokens": "",
}

# Arguments of other packages without an option here: the values that change nothing, and what to do for others.
_FOREIGN: dict[str, tuple[tuple[object, ...], str]] = {
    "fp16": ((True, False, None), ""),
    "verbose": ((None, False, True), ""),
    "log_progress": ((None, False, True), ""),
    "suppress_blank": ((True,), "a window never begins with a blank"),
    "max_initial_timestamp": ((1, None), "it is always 1 s, as in openai-whisper"),
    "sample_len": ((None,), "a window has at most 224 tokens; clip_timestamps limits the audio"),
    "chunk_length": ((None, 30), "a window has 30 s; audio_context makes it shorter"),
    "prompt": ((None,), "use initial_prompt"),
    "prompt_reset_on_temperature": ((None, 0.5), "it is always 0.5, as in openai-whisper"),
    "language_detection_threshold": ((None, 0.5), 'name the languages that occur, such as language="en,de"'),
    "language_detection_segments": ((None, 1), 'name the languages that occur, such as language="en,de"'),
    "batch_size": ((None, 1), "use BatchedInferencePipeline, or chunked=True, for parts of one recording, and threads that call one Model for several"),
    "num_workers": ((None,), "it is an argument of Model"),
    "compute_type": ((None,), "it is an argument of Model"), "device": ((None, "cpu", "auto"), "Verity computes on the CPU"),
    "vad": ((None,), "use vad_filter=True or False"), "diarize": ((None, False), 'use speakers="voice"'),
    "num_speakers": ((None,), "use speakers=NUMBER"), "min_speakers": ((None,), 'use speakers="2-4"'), "max_speakers": ((None,), 'use speakers="2-4"'),
    "output_format": ((None,), "use Transcript.write('talk.srt')"),
    "assistant": ((None,), "it is an argument of Model"), "model": ((None,), "it is the argument of Model"),
}

# Parameters of faster-whisper: their names in the program.
_VAD = {
    "threshold": "Threshold", "min_speech_duration_ms": "MinSpeechDurationMS", "min_silence_duration_ms": "MinSilenceDurationMS",
    "speech_pad_ms": "SpeechPadMS",
}
_VAD_FOREIGN: dict[str, tuple[object, str]] = {
    "max_speech_duration_s": (float("inf"), "leave it out: long speech is cut at windows of 30 s"),
    "neg_threshold": (None, "leave it out: it is always 0.15 below threshold"),
    "window_size_samples": (512, "leave it out: it is always 512"), "window_size_ms": (32, "leave it out: it is always 32"),
}


def request(options: Mapping[str, Any]) -> Request:
    """Returns the line for the program that asks for a transcription with some options, without the file."""
    flags: dict[str, str] = {}
    line: Request = {}
    for name, value in options.items():
        if name == "temperature":
            if value is not None:
                line["temperatures"] = _temperatures(value)
        elif name == "vad_parameters":
            if value is not None:
                line["vad"] = _vad_parameters(value)
        elif name in _FLAGS:
            flag, convert = _FLAGS[name]
            text = convert(name, value) if value is not None else _NONE.get(name)
            if text is not None and flags.setdefault(flag, text) != text:
                raise OptionError(f"{name}: contradicts logprob_threshold, another name of the same option")
        elif name in _FOREIGN:
            harmless, remedy = _FOREIGN[name]
            if not any(value is h or value == h and isinstance(value, bool) == isinstance(h, bool) for h in harmless):
                raise OptionError(f"{name}: got {value!r}, which has no effect here: {remedy}")
        else:
            near = difflib.get_close_matches(name, ["language", *Options.__annotations__], 1)
            raise OptionError(f"there is no option {name}" + (f"; did you mean {near[0]}?" if near else "; see verity_asr.Options"))
    if "vad" in line and flags.get("vad") != "on":
        raise OptionError("vad_parameters: needs vad_filter=True")
    line["flags"] = [f"--{flag}={text}" for flag, text in flags.items()]
    return line


def _temperatures(value: Any) -> list[float]:
    if isinstance(value, str) or not (hasattr(value, "__float__") or isinstance(value, Iterable)):
        raise _error("temperature", value, "a number or a list of numbers")
    values = [value] if hasattr(value, "__float__") else list(value)
    if not values:
        raise _error("temperature", value, "at least one number")
    return [float(_number("temperature", v)) for v in values]


def _vad_parameters(value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise _error("vad_parameters", value, "a dict with some of " + ", ".join(_VAD))
    out: dict[str, float] = {}
    for name, v in value.items():
        if name in _VAD_FOREIGN:
            harmless, remedy = _VAD_FOREIGN[name]
            if v != harmless:
                raise OptionError(f"vad_parameters[{name!r}]: got {v!r}, which has no effect here: {remedy}")
            continue
        if name not in _VAD:
            raise OptionError(f"vad_parameters: there is no {name}; want some of " + ", ".join(_VAD))
        number = float(_number(f"vad_parameters[{name!r}]", v))
        if name == "threshold":
            if not 0 < number <= 1:
                raise _error("vad_parameters['threshold']", v, "more than 0, at most 1")
            out[_VAD[name]] = number
            continue
        if number != int(number) or number < 0:
            raise _error(f"vad_parameters[{name!r}]", v, "a whole number of milliseconds")
        out[_VAD[name]] = int(number) or (-1 if name != "min_speech_duration_ms" else 0)  # 0 means the default to the program
    return out
