"""The program that a Model keeps running: `verity pipe`, which speaks JSON over its standard input and output."""

from __future__ import annotations

import itertools
import json
import logging
import os
import pathlib
import queue
import re
import subprocess
import threading
from typing import Any, Optional

from ._errors import AudioError, ModelError, OptionError, ProcessError, VerityError

Answer = dict[str, Any]
log = logging.getLogger("verity_asr")


def program() -> str:
    """Returns the path of the program in this package."""
    path = pathlib.Path(__file__).parent / ("verity.exe" if os.name == "nt" else "verity")
    if not path.exists():
        raise ProcessError(f"{path}: the program is missing, since this is the source of the package: run pip install {path.parents[1]}")
    return str(path)


# Flags that are not the arguments of the same name.
_ARGUMENTS = {
    "precision": "compute_type", "assistant-precision": "assistant_compute_type", "threads": "cpu_threads", "batch": "num_workers",
    "offline": "local_files_only", "vad": "vad_filter", "vad-threshold": "vad_parameters", "model": "model_size_or_path",
}


def python_words(message: str) -> str:
    """Returns a message of the program with its flags as arguments of Python, without its name and the hint at --help."""
    message = message.replace("verity info lists the languages of a model", "Model.supported_languages has all")
    message = re.sub(r"^verity \w+: |\nRun 'verity .*", "", message.strip(), flags=re.DOTALL)
    return re.sub(r"(?<![\w./\\-])--([a-z][a-z-]*[a-z])", lambda m: _ARGUMENTS.get(m[1], m[1].replace("-", "_")), message)


def error_of(answer: Answer, path: str = "", name: str = "") -> Exception:
    """Returns the exception for an error of the program. Messages have the caller's name of the file."""
    error = answer["error"]
    # A name may look like a flag: it is put in last.
    message = python_words(error["message"].replace(path, "\0") if path else error["message"]).replace("\0", name)
    kind = error["kind"]
    builtin = {"missing": FileNotFoundError, "permission": PermissionError, "directory": IsADirectoryError}.get(kind)
    if builtin is not None:
        return builtin(message)
    return {"usage": OptionError, "audio": AudioError}.get(kind, VerityError)(message)


class Process:
    """A running program. Its methods may be called from any thread."""

    def __init__(self, flags: list[str], environment: dict[str, str]) -> None:
        # Ctrl-C in a terminal goes to Python alone, which decides what ends.
        apart: dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            apart = {"creationflags": 0x00000200 | 0x08000000}  # CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW
        self._owner = os.getpid()
        self._lock = threading.Lock()  # of _waiting and _ended
        # Of the program's input. A write may wait until the program's output is read, which needs the other lock.
        self._write_lock = threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[Optional[Answer]]] = {}
        self._ids = itertools.count(1)
        self._said: list[str] = []  # the last lines of standard error
        self._ended = False
        self._closed = False
        self._child = subprocess.Popen(
            [program(), "pipe", "--log-format=json", *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | environment, **apart,
        )
        first = self._expect(0)
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._read_answers, self._read_log)]
        for t in self._threads:
            t.start()
        try:
            answer = self.next(first)
        except BaseException as e:
            self.close()
            if isinstance(e, ProcessError) and self._child.returncode == 2:  # wrong usage
                raise OptionError(python_words("\n".join(self._said))) from None
            raise
        if "error" in answer:
            self.close()
            error = error_of(answer)
            raise error if isinstance(error, OptionError) else ModelError(str(error))
        self.about: dict[str, Any] = answer["ready"]

    def send(self, request: dict[str, Any]) -> tuple[int, queue.SimpleQueue[Optional[Answer]]]:
        """Sends a request. Its answers come into the queue that is returned."""
        if os.getpid() != self._owner:
            raise ProcessError("the model belongs to another process: open it after the fork, in each process of its own")
        number = next(self._ids)
        answers = self._expect(number)
        self._write(request | {"id": number})
        return number, answers

    def cancel(self, number: int) -> None:
        """Ends a request, which answers with an error."""
        if os.getpid() == self._owner:
            try:
                self._write({"cancel": number})
            except ProcessError:
                pass

    def next(self, answers: queue.SimpleQueue[Optional[Answer]]) -> Answer:
        """Waits for the next answer."""
        while True:
            try:
                answer = answers.get(timeout=0.5)  # not for ever: on Windows, Ctrl-C waits for its end
                break
            except queue.Empty:
                continue
        if answer is None:
            answers.put(None)
            raise self.ended()
        return answer

    def close(self) -> None:
        """Ends the program, and waits for it. It may be called more than once."""
        self._closed = True
        child = self._child
        if os.getpid() != self._owner:
            return
        if child.stdin is not None:
            try:
                child.stdin.close()
            except OSError:
                pass
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        for t in self._threads:
            if t is not threading.current_thread():
                t.join(timeout=10)
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()

    def _expect(self, number: int) -> queue.SimpleQueue[Optional[Answer]]:
        answers: queue.SimpleQueue[Optional[Answer]] = queue.SimpleQueue()
        with self._lock:
            if self._ended:
                raise self.ended()
            self._waiting[number] = answers
        return answers

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line) + "\n"
        if len(text) > 1 << 20:
            raise OptionError(f"the options have {len(text)} bytes, want at most 1 MiB")
        with self._write_lock:
            try:
                assert self._child.stdin is not None
                self._child.stdin.write(text.encode())
                self._child.stdin.flush()
            except (OSError, ValueError):
                raise self.ended() from None

    def ended(self) -> ProcessError:
        """Returns the error of a program that has ended."""
        if self._closed:
            return ProcessError("the model is closed: open a new Model, or use it inside the with")
        try:
            status: Optional[int] = self._child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            status = None
        how = f"was killed by signal {-status}" if status is not None and status < 0 else f"ended with status {status}"
        return ProcessError(f"the program verity {how}: open the model again" + "".join(f"\n{line}" for line in self._said[-20:]))

    def _read_answers(self) -> None:
        assert self._child.stdout is not None
        try:
            for line in self._child.stdout:
                answer: Answer = json.loads(line)
                number = answer.get("id", 0)
                with self._lock:
                    last = not answer.keys() & {"info", "segment"}
                    answers = self._waiting.pop(number, None) if last else self._waiting.get(number)
                if answers is not None:
                    answers.put(answer)
        except ValueError:  # the program was killed while it wrote a line
            pass
        finally:
            with self._lock:
                self._ended = True
                waiting, self._waiting = list(self._waiting.values()), {}
            for answers in waiting:
                answers.put(None)

    def _read_log(self) -> None:
        """Passes the program's log on to the module logging, and keeps the end of everything else."""
        assert self._child.stderr is not None
        for line in self._child.stderr:
            text = line.decode("utf-8", "replace").rstrip()
            try:
                record = json.loads(text)
                level = logging.getLevelName(record.pop("level"))
                record.pop("time", None)
                message = ", ".join([record.pop("msg"), *(f"{k} {v}" for k, v in record.items())])
                log.log(level if isinstance(level, int) else logging.WARNING, "%s", message)
            except (ValueError, KeyError, TypeError, AttributeError):
                self._said = [*self._said[-40:], text]
