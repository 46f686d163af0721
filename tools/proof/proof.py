#!/usr/bin/env python3
"""Runs tests that others wrote on Verity, and prints one table.

    make proof                  every suite
    make proof SUITE=wer,lossless
    make proof WRITE=1          every suite, and writes the table to docs/PROOF.md

A suite is a file in tools/proof/suites. Each gets a virtual environment of its own in bin/proof with the
packages that it pins, a process of its own and a time limit; two run at a time. What a suite needs and this machine
lacks, it says.
Nothing of a suite is stored in this repository: packages come from pip or npm at pinned versions, and public
files from paths that you name in the environment:

    VERITY_PROOF_MODELS    a directory with real checkpoints named base and tiny.en; default bin/weights, which
                           `make weights` makes
    VERITY_PROOF_SHARED    a directory of recordings; default ../shared/data, if it exists
    VERITY_PROOF_SOURCES   a directory with clones of public repositories, by name:
                           openai-openapi, openai-node, CTranslate2, open_asr_leaderboard, webvtt.js, tinytag,
                           music-metadata, flac-test-files, minimp3, fate-suite; a missing one is in the table

This program needs Python 3.10 and nothing else.
"""
import argparse
import concurrent.futures
import contextlib
import datetime
import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import traceback
from xml.etree import ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "bin" / "proof"
LIMIT = 600  # seconds that a suite may take, unless it sets LIMIT

# A suite is a module with
#
#   TITLE     what it is, in a few words
#   BY        who wrote its checks: "tests", others, whole; "them", others wrote the sounds, values, schemas or programs that checks
#             written here compare with; "us", a check of our own, which needs nothing of others
#   VERSION   of what others wrote
#   NEEDS     packages for pip, pinned; NEEDS_QUICK replaces it in CI
#   QUICK     it needs nothing but pip and takes seconds, so CI runs it; env.quick is true there
#   LIMIT     seconds
#   run(env)  returns a list of cases
#
# A case is a dict: case, its name; ok, True, False, or None where it cannot apply; reason, unless ok is True;
# count, the number of cases it stands for (1); of, the part of the suite it belongs to, which has a row of its own; by, if
# another than BY. Env.missing makes one for a part that cannot run here.


class Skipped(Exception):
    """The suite cannot run here. The message says why."""


class Env:
    """What a suite may use of this machine."""

    def __init__(self, verity, quick, work):
        self.root, self.verity, self.quick, self.work = ROOT, str(verity), quick, pathlib.Path(work)
        shared = pathlib.Path(os.environ.get("VERITY_PROOF_SHARED") or ROOT.parent / "shared" / "data")
        self.shared = shared if shared.is_dir() else None
        self._bridge, self.notes = None, []

    def note(self, text):
        """Adds a sentence below the table: what was measured, where that is no case of Verity's."""
        self.notes.append(text)

    def skip(self, reason):
        raise Skipped(reason)

    def missing(self, of, reason):
        """Returns what stands for a part of a suite that cannot run here."""
        return {"case": of, "ok": None, "missing": True, "reason": reason, "of": of}

    def quick_or(self, reason):
        return "is left out of proof-quick" if self.quick else reason

    def model(self, name):
        """Returns the path of real weights, or None: of VERITY_PROOF_MODELS, or of the cache that Verity shares."""
        path = pathlib.Path(os.environ.get("VERITY_PROOF_MODELS") or ROOT / "bin/weights") / name
        if path.exists() or "VERITY_PROOF_MODELS" in os.environ:
            return str(path) if path.exists() else None
        name = "openai/whisper-" + name  # "base" alone is the model inside
        found = subprocess.run([self.verity, "info", "--offline", "--model", name], capture_output=True)
        return name if found.returncode == 0 else None

    def source(self, name):
        """Returns the directory of a clone of a public repository that the user named, or None."""
        parent = os.environ.get("VERITY_PROOF_SOURCES")
        path = pathlib.Path(parent or "/nowhere") / name
        return path if path.is_dir() else None

    def commit(self, name):
        """Returns the name of a clone and its commit."""
        done = subprocess.run(["git", "-C", self.source(name), "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True)
        return f"{name} {done.stdout.strip()}".strip()

    def need_source(self, name, owner):
        return self.source(name) or self.skip(f"needs a clone of {owner}/{name} in $VERITY_PROOF_SOURCES/{name}")

    def sdist(self, requirement):
        """Downloads the source release of a package by pip and returns the directory with its content."""
        out = WORK / "sdists" / requirement
        if not out.is_dir():
            name = requirement.partition("==")[0]
            with scratch(WORK / "sdists") as tmp:
                done = subprocess.run([sys._base_executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name,
                                       "--dest", tmp, requirement], capture_output=True, text=True)
                if done.returncode != 0:
                    self.skip(f"pip cannot download the source of {requirement}: {last_line(done.stderr)}")
                [file] = tmp.glob("*.tar.gz")
                with tarfile.open(file) as archive:
                    archive.extractall(tmp / "files", filter="data")
                [top] = (tmp / "files").iterdir()
                if not out.is_dir():  # the other suite may have been faster
                    top.rename(out)
        return out

    def npm(self, *packages):
        """Installs pinned packages by npm and returns the directory that has their node_modules."""
        out = WORK / "npm" / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
        if not out.is_dir():
            if not shutil.which("npm") or not shutil.which("node"):
                self.skip("needs node and npm")
            with scratch(WORK / "npm") as tmp:
                done = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", tmp / "new", *packages],
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    self.skip(f"npm cannot install {', '.join(packages)}: {last_line(done.stderr)}")
                (tmp / "new").rename(out)
        return out

    def pytest(self, path, plugin=None, not_applicable=None, of=None, arguments=(), variables=None, modules=()):
        """Runs tests of others by pytest and returns their cases.

        plugin is a module of tools/proof/shims. not_applicable maps a part of a test's name to the reason why it
        cannot apply: those are not run. A test that skips itself needs a reason there too.
        """
        report = self.work / "junit.xml"
        reasons = not_applicable or {}
        places = [HERE / "shims", HERE, *modules]
        variables = os.environ | (variables or {}) | {
            "PYTHONPATH": os.pathsep.join(map(str, places)), "PYTHONDONTWRITEBYTECODE": "1",
            "VERITY_PROOF_BRIDGE": str(WORK / "bridge"), "VERITY_PROOF_VERITY": self.verity}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", report, "--tb=short"]
        command += ["-p", "proof_reasons"] + (["-p", plugin] if plugin else []) + [*arguments, path]
        variables["VERITY_PROOF_REASONS"] = json.dumps(reasons)
        report.unlink(missing_ok=True)
        done = subprocess.run(command, cwd=self.work, env=variables, capture_output=True, text=True)
        if not report.exists():
            return [{"case": "pytest", "ok": False, "reason": last_line(done.stdout + done.stderr), "of": of}]
        cases = []
        for test in ElementTree.parse(report).iter("testcase"):
            case = {"case": f"{test.get('classname').rpartition('.')[2]}.{test.get('name')}", "ok": True, "of": of, "by": "tests"}
            for child in test:
                if child.tag in ("failure", "error"):
                    case |= {"ok": False, "reason": (child.get("message") or child.text or "failed").strip()[:300]}
                elif child.tag == "skipped":
                    case |= {"ok": None, "reason": child.get("message")}
                    if child.get("message") not in reasons.values():
                        case |= {"ok": False, "reason": f"skipped itself: {child.get('message')}"}
            cases.append(case)
        return cases

    def bridge(self):
        """Returns a function that calls Verity's Go packages: bridge("normalize", text="…")."""
        if self._bridge is None:
            self._bridge = Bridge(WORK / "bridge")
        return self._bridge


class Bridge:
    """A running tools/proof/bridge. It answers one JSON object a line."""

    def __init__(self, program):
        self.program = str(program)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def __call__(self, call, **arguments):
        self.process.stdin.write(json.dumps({"call": call} | arguments) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer.get("error"):
            raise RuntimeError(f"{call}: {answer['error']}")
        return answer


@contextlib.contextmanager
def scratch(parent):
    import tempfile
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as tmp:
        yield pathlib.Path(tmp)


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["no message"])[-1].strip()


def load(name):
    spec = importlib.util.spec_from_file_location("suite_" + name, HERE / "suites" / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names():
    return sorted(p.stem for p in (HERE / "suites").glob("*.py") if not p.stem.startswith("_"))


def environment(name, needs):
    """Returns the Python of a suite's virtual environment, which it makes if the pinned packages changed."""
    home = WORK / "venv" / name
    stamp = hashlib.sha256(json.dumps([platform.python_version(), str(home), needs]).encode()).hexdigest()
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    mark = home / "stamp"
    if mark.exists() and mark.read_text() == stamp:
        return python
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    if needs:
        command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:", *needs]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Skipped(f"pip cannot install {', '.join(needs)}: {last_line(done.stderr)}")
    mark.write_text(stamp)
    return python


def run_here(name, verity, quick, out):
    """Runs a suite in this process, which is one of its own, and writes its cases."""
    sys.dont_write_bytecode = True
    with scratch(WORK / "tmp") as work:
        env = Env(verity, quick, work)
        try:
            result = {"cases": load(name).run(env), "notes": env.notes}
        except Skipped as e:
            result = {"skipped": str(e)}
        except Exception as e:
            traceback.print_exc()
            result = {"cases": [{"case": "the suite itself", "ok": False, "reason": f"{type(e).__name__}: {e}"}]}
        finally:
            if env._bridge:
                env._bridge.process.stdin.close()
    pathlib.Path(out).write_text(json.dumps(result))


RUNNING = []  # processes of suites, which may have ended


def stop(process):
    """Ends a suite and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_apart(name, verity, quick):
    """Runs a suite in its environment and returns its result."""
    suite, began = load(name), time.monotonic()
    limit = None if quick else getattr(suite, "LIMIT", LIMIT)  # CI gives it what the tests leave idle
    row = {"suite": name, "title": suite.TITLE, "version": suite.VERSION, "by": suite.BY}
    print(f"proof: {name}", file=sys.stderr, flush=True)
    with scratch(WORK / "tmp") as tmp:
        try:
            python = environment(name, getattr(suite, "NEEDS_QUICK", suite.NEEDS) if quick else suite.NEEDS)
            out, began = tmp / "result.json", time.monotonic()
            command = [python, HERE / "proof.py", "--here", name, "--verity", verity, "--out", out] + (["--quick"] if quick else [])
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
            RUNNING.append(process)
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                stop(process)
                row["cases"] = [{"case": "the suite itself", "ok": False, "reason": f"did not end within {limit} s"}]
            else:
                if out.exists():
                    row |= json.loads(out.read_text())
                else:
                    row["cases"] = [{"case": "the suite itself", "ok": False, "reason": f"ended with status {process.returncode}"}]
        except Skipped as e:
            row["skipped"] = str(e)
    row["seconds"] = round(time.monotonic() - began, 1)
    row["cases"] = [checked(c) for c in row.get("cases", [])]
    if "skipped" not in row and not row["cases"]:
        row["cases"] = [{"case": "the suite itself", "ok": False, "reason": "has no case"}]
    return row


def checked(case):
    """A case that failed or cannot apply without a reason is a failure of the suite."""
    if case["ok"] is not True and not case.get("reason"):
        return case | {"ok": False, "reason": "the suite states no reason"}
    return case


def version(verity):
    done = subprocess.run([verity, "version"], capture_output=True, text=True)
    return done.stdout.split()[1] if done.returncode == 0 else "unknown"


def count(cases, ok):
    return sum(c.get("count", 1) for c in cases if c["ok"] is ok and not c.get("missing"))


def escaped(text):
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def parts(row):
    """Returns the rows of the table that a suite has, as version and cases."""
    by = {}
    for c in row["cases"]:
        by.setdefault(c.get("of") or row["version"], []).append(c)
    return by.items()


def shortened(items, most=12):
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def grouped(cases):
    """Returns lines of cases with the same reason."""
    by = {}
    for c in cases:
        by.setdefault(c["reason"], []).append(c["case"] + (f" ({c['count']})" if c.get("count", 1) > 1 else ""))
    return [f"- {escaped(reason)}: {escaped(shortened(items))}" for reason, items in by.items()]


BY = {"tests": "tests", "them": "compared with theirs", "us": "our own"}


def table(rows):
    lines = ["| suite | what others wrote | checks | cases | passed | failed | cannot apply | seconds |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        if "skipped" in row:
            lines.append(f"| {row['suite']} | {escaped(row['title'])}, {escaped(row['version'])} | not run | | | | | |")
            continue
        for i, (what, cases) in enumerate(parts(row)):
            suite, last = (row["suite"], f"{row['seconds']:.0f}") if i == 0 else ("", "")
            numbers = [count(cases, ok) for ok in (True, False, None)]
            by = BY[cases[0].get("by", row["by"])]
            middle = f"{by} | {sum(numbers)} | {' | '.join(map(str, numbers))}" if sum(numbers) else "not run | | | |"
            lines.append(f"| {suite} | {escaped(what)} | {middle} | {last} |")
    notes = [f"- {row['suite']}: {note}" for row in rows for note in row.get("notes", [])]
    lines += ["", *notes] if notes else []
    for heading, ok in (("Failures", False), ("Cases that cannot apply, or differ for a stated reason", None)):
        lines += ["", f"## {heading}", ""]
        some = False
        for row in rows:
            found = grouped([c for c in row["cases"] if c["ok"] is ok and not c.get("missing")])
            if found:
                lines += ["", f"**{row['suite']}**", "", *found] if some else [f"**{row['suite']}**", "", *found]
                some = True
        if not some:
            lines.append("None.")
    lines += ["", "## Suites and parts of suites that were not run", ""]
    lines += [f"- {escaped(line)}" for line in not_run(rows)] or ["None."]
    return "\n".join(lines) + "\n"


def not_run(rows):
    """Returns a line for each suite, and each part of one, that could not run."""
    whole = [f"{r['suite']}: {r['skipped']}" for r in rows if "skipped" in r]
    return whole + [f"{r['suite']}, {c['of']}: {c['reason']}" for r in rows for c in r["cases"] if c.get("missing")]


def summary(rows):
    """Returns how many cases others wrote."""
    by = {kind: sum(count([c], True) + count([c], False) for row in rows for c in row["cases"] if c.get("by", row["by"]) == kind) for kind in BY}
    return (f"{by['tests']:,} cases that ran are whole tests that others wrote. {by['them']:,} are comparisons written here with what others wrote: their sounds, "
            f"expected values, schemas, parsers and other programs. {by['us']:,} are checks of our own that need neither, such as that the comparisons find "
            "altered answers. The column *checks* tells them apart.")


def machine():
    name = platform.machine()
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf8") as lines:
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


FOUND = """
## What these suites found wrong in Verity

All of it is mended, each with a test of its own.

- schemathesis: members of events that were null, and a missing speaker, in streams and live events.
- minimp3: MP3 with intensity stereo came out with its treble at half the level, and that of MPEG-2 as noise in one
  channel. The second kind is left to ffmpeg now.
- IETF's FLAC files: a file whose header states another number of channels than its frames was refused, with the advice to
  install an ffmpeg that was there.
- FFmpeg's samples: ten Vorbis files of encoders before 1.0 were refused as damaged, and so were RIFF files of QCP and XWMA;
  five sound formats of games were refused that ffmpeg reads.
- W3C's WebVTT cases: 33 of 114 were read otherwise: tags and entities that are not closed, minutes and seconds beyond 59,
  cues without an empty line between them, a NUL, and files without a valid cue, which were read as text or as SubRip.
"""

PAGE = """# Proof by others' tests

Verity measured by what others wrote, by `make proof`: one run of all, {date}, Verity {verity}, {minutes:.0f} minutes,
{machine}. {summary}

Nothing of the suites is in this repository: `tools/proof` installs pinned packages,
or reads clones of public repositories that you name. Two suites run at a time; seconds are from start to end. A case
that cannot apply, or differs in a way that we accept, has its reason below.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="", help="names with commas; default all")
    parser.add_argument("--verity", default=str(ROOT / "bin" / "verity"))
    parser.add_argument("--quick", action="store_true", help="only what needs nothing but pip, for CI")
    parser.add_argument("--write", help="file for the page, if every suite is run")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    verity = pathlib.Path(options.verity).resolve()
    if options.here:
        return run_here(options.here, verity, options.quick, options.out)
    chosen = [n for n in options.suite.split(",") if n] or names()
    if unknown := [n for n in chosen if n not in names()]:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(names())}")
    left_out = [n for n in chosen if options.quick and not getattr(load(n), "QUICK", False)]
    chosen = [n for n in chosen if n not in left_out]
    if not verity.is_file():
        parser.error(f"no program {verity}: run make build")
    if options.write and chosen != names():
        parser.error("the page shows one run of every suite: leave out --suite and --quick")
    began = time.monotonic()
    subprocess.run(["go", "build", "-o", WORK / "bridge", "./tools/proof/bridge"], cwd=ROOT, check=True, env=os.environ | {"CGO_ENABLED": "0"})
    longest_first = sorted(chosen, key=lambda n: -getattr(load(n), "LIMIT", LIMIT))
    pool = concurrent.futures.ThreadPoolExecutor(2)
    done = {n: pool.submit(run_apart, n, verity, options.quick) for n in longest_first}
    try:
        rows = [done[n].result() for n in chosen]
    except BaseException:  # Ctrl-C reaches only this process
        pool.shutdown(wait=False, cancel_futures=True)
        for process in RUNNING:
            stop(process)
        raise
    rows += [{"suite": n, "title": load(n).TITLE, "version": load(n).VERSION, "cases": [], "by": load(n).BY,
              "skipped": "needs more than pip, or minutes: make proof runs it"} for n in left_out]
    print(summary(rows) + "\n\n" + table(rows))
    for line in not_run(rows):
        print(f"*** SKIPPED: {line} ***")
    minutes = (time.monotonic() - began) / 60
    print(f"proof: {minutes:.1f} minutes")
    if options.write:
        head = PAGE.format(date=datetime.date.today().isoformat(), machine=machine(), verity=version(verity), minutes=minutes, summary=summary(rows))
        pathlib.Path(options.write).write_text(head + table(rows) + FOUND, encoding="utf8")
    cases = [c for row in rows for c in row["cases"]]
    failed = count(cases, False)
    if cases:
        print(f"proof: {count(cases, True)} passed, {failed} failed, {count(cases, None)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
