#!/usr/bin/env python3
"""Builds wheels of the package verity_asr, with the program and its model inside. Needs Go and nothing else.

    python3 tools/wheel/build.py --version v1.2.3 --out dist [--platforms linux/amd64,...|all] [--test]

Without --platforms it builds the wheel of this machine. The same revision gives the same bytes. --test installs this
machine's wheel, if it is among them, into an empty environment and uses it. Nothing is uploaded. `pip install
./tools/wheel` calls build_wheel.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
TAGS = {  # Go's name: the tag of PEP 425. The program is static, so any Linux will do.
    "linux/amd64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64", "linux/arm64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64", "windows/arm64": "win_arm64",
}
HERE_TARGET = f"{platform.system().lower()}/{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine().lower()) }"


def python_version(version):
    """The version as PEP 440 wants it: v1.2.3-4-gabcdef is 1.2.3.post4, a bare commit 0.dev0+g…."""
    if m := re.match(r"v?(\d+(?:\.\d+)*)(?:-(\d+)-g[0-9a-f]+)?(?:-dirty)?$", version):
        return m[1] + (f".post{m[2]}" if m[2] else "")
    return "0.dev0+" + re.sub("[^a-z0-9]+", ".", version.lower()).strip(".")


def program(target, version, out):
    system, arch = target.split("/")
    env = os.environ | {"GOOS": system, "GOARCH": arch, "CGO_ENABLED": "0", "GOFLAGS": "-trimpath"}
    subprocess.run(["go", "build", f"-ldflags=-s -w -X main.version={version}", "-o", out, "./cmd/verity"], cwd=ROOT, env=env, check=True)
    return out.read_bytes()


def wheel(target, version, out, work):
    name = f"verity_asr-{python_version(version)}"
    tags = [f"py3-none-{t}" for t in TAGS[target].split(".")]
    info = name + ".dist-info"
    files = {f"verity_asr/{f.name}": f.read_bytes() for f in sorted((HERE / "verity_asr").iterdir()) if f.suffix == ".py" or f.name == "py.typed"}
    files["verity_asr/verity" + (".exe" if target.startswith("windows") else "")] = program(target, version, work / "verity")
    readme = (ROOT / "tools/wheel/README.md").read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: verity-asr\nVersion: {python_version(version)}\n"
        "Summary: Speech to text with Whisper on a CPU: one program, with a model inside\n"
        "License-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICE\nRequires-Python: >=3.9\n"
        f"Description-Content-Type: text/markdown\n\n{readme}").encode()
    files[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: verity\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {t}\n" for t in tags)).encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nverity = verity_asr:main\n"
    for text in ("LICENSE", "NOTICE"):
        files[f"{info}/licenses/{text}"] = (ROOT / text).read_bytes()
    record = "".join(f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(b).digest()).decode().rstrip('=')},{len(b)}\n" for n, b in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = out / f"{name}-py3-none-{TAGS[target]}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for n, b in files.items():
            entry = zipfile.ZipInfo(n, (2020, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if n.startswith("verity_asr/verity") else 0o100644) << 16
            z.writestr(entry, b)
    print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}", flush=True)
    return path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel of this machine for pip (PEP 517)."""
    with tempfile.TemporaryDirectory() as work:
        return wheel(HERE_TARGET, "source", pathlib.Path(wheel_directory), pathlib.Path(work)).name


def test(path):
    """Installs a wheel into an empty environment, transcribes with it, and checks its types if mypy can be installed."""
    with tempfile.TemporaryDirectory() as env:
        subprocess.run([sys.executable, "-m", "venv", env], check=True)
        scripts = pathlib.Path(env) / ("Scripts" if os.name == "nt" else "bin")
        pip = [scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-index", "--no-deps", path], check=True)
        check = [scripts / "python", "-X", "dev", "-I", HERE / "check.py", ROOT, scripts / "verity"]
        subprocess.run(check, check=True, cwd=env)
        if subprocess.run([*pip, "mypy==1.15.0", "numpy"]).returncode:
            print("*** SKIPPED: types, and arrays of numpy: mypy and numpy cannot be installed ***")
            return
        subprocess.run([*check, "arrays"], check=True, cwd=env)
        subprocess.run([scripts / "python", "-m", "mypy", "--strict", "-p", "verity_asr"], check=True, cwd=env)
        subprocess.run([scripts / "python", "-m", "mypy", "--strict", HERE / "example.py"], check=True, cwd=env)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--version", default="source")
    p.add_argument("--out", type=pathlib.Path, default=pathlib.Path("dist"))
    p.add_argument("--platforms", default=HERE_TARGET, help="all, or some of " + ", ".join(TAGS))
    p.add_argument("--test", action="store_true")
    o = p.parse_args()
    targets = list(TAGS) if o.platforms == "all" else o.platforms.split(",")
    for t in targets:
        if t not in TAGS:
            p.error(f"--platforms: got {t!r}, want all, or some of {', '.join(TAGS)}")
    o.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        made = {t: wheel(t, o.version, o.out, pathlib.Path(work)) for t in targets}
    if o.test and HERE_TARGET in made:
        test(made[HERE_TARGET])
    elif o.test:
        print(f"*** NOT TRIED: this machine is {HERE_TARGET} ***")


if __name__ == "__main__":
    main()
