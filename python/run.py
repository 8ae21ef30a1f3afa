"""Runs the client in a clone: ``python3 run.py demo`` and ``python3 run.py tests``.

What it needs is installed into the clone, caches too: packages of Node for the sandbox, of PyPI
into ``.venv`` and ``.venv-official``. It needs Node 20, and Python 3.8 with ``venv``. Below Python
3.10, which the official x402 package needs, the tests with that package are left out. ``--report
<file>`` writes what came of the tests as vitest does, for ``scripts/summary.ts``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Sequence

HERE = Path(__file__).resolve().parent
CLONE = HERE.parent
BINARIES = "Scripts" if os.name == "nt" else "bin"
OWN = ("--no-deps", "--no-build-isolation", "-e", ".")
HAS_OFFICIAL = sys.version_info >= (3, 10)
CACHES = {
    "XDG_CACHE_HOME": str(HERE / ".cache"),
    "PIP_CACHE_DIR": str(HERE / ".cache" / "pip"),
    "npm_config_cache": str(HERE / ".cache" / "npm"),
}
# Pyright would spend a fifth of its work on collecting garbage.
ROOM = {"NODE_OPTIONS": "--max-semi-space-size=64"}


def run(*command: object, at: Path = HERE) -> bool:
    """Whether a program ended well. What it says is shown as it comes."""
    words = [str(word) for word in command]
    return (
        subprocess.run(words, cwd=at, env={**ROOM, **os.environ, **CACHES}, check=False).returncode
        == 0
    )


def need_sandbox() -> None:
    """Installs the packages of Node, unless they are there."""
    if (CLONE / "node_modules" / ".package-lock.json").exists():
        return
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("There is no npm. Install Node 20 or newer: the sandbox runs on it.")
    if not run(npm, "ci", "--no-audit", "--no-fund", at=CLONE):
        sys.exit("`npm ci` failed: see above.")


def need_environment(name: str, packages: str, own: Sequence[str] = ()) -> bool:
    """Makes an environment with exactly the packages of a list, unless it is there."""
    place, wanted = HERE / name, HERE / "requirements" / packages
    version = "{}.{}".format(*sys.version_info)
    stamp = hashlib.sha256(f"{version}\n{wanted.read_text()}".encode()).hexdigest()
    note = place / "installed"
    if note.exists() and note.read_text() == stamp:
        return True
    shutil.rmtree(place, ignore_errors=True)
    inside = place / BINARIES / "python"
    pip = (inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    is_made = (
        run(sys.executable, "-m", "venv", place)
        and run(*pip, "--no-deps", "--require-hashes", "-r", wanted)
        and (not own or run(*pip, *own))
    )
    if is_made:
        note.write_text(stamp)
    else:
        print(f"{name} was not made: see above. Debian has venv in python3-venv.", file=sys.stderr)
    return is_made


def tool(name: str, *arguments: object) -> bool:
    return run(HERE / ".venv" / BINARIES / name, *arguments)


def gates() -> bool:
    checks = (
        ("ruff", "check", "--quiet"),
        ("ruff", "format", "--check", "--quiet"),
        ("vermin", "-t=3.8-", "--violations", "--no-tips", "--quiet", "src", "examples", "run.py"),
        ("mypy", "--no-error-summary"),
        ("pyright",),
    )
    # Two beside each other: the last two take by far the longest, and each works on one core.
    with ThreadPoolExecutor(2) as pool:
        return all(list(pool.map(lambda check: tool(*check), checks)))


def tests(report: Path | None) -> bool:
    junit = HERE / ".venv" / "junit.xml"
    if junit.exists():
        junit.unlink()
    chosen = () if HAS_OFFICIAL else ("-m", "not official")
    passed = tool("pytest", "-n", "2", "--dist", "worksteal", f"--junitxml={junit}", *chosen)
    if report is not None and junit.exists():
        write_report(junit.read_text(), report)
    return passed


def write_report(junit: str, report: Path) -> None:
    """The part of vitest's report that counts. A test that was skipped failed."""

    def count(name: str) -> int:
        return sum(map(int, re.findall(rf'<testsuite [^>]*\b{name}="([0-9]+)"', junit)))

    failed = count("failures") + count("errors") + count("skipped")
    counts = {"numPassedTests": count("tests") - failed, "numFailedTests": failed}
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps({**counts, "testResults": []}) + "\n")


def main() -> bool:
    parser = argparse.ArgumentParser(description="Runs the client in a clone.")
    parser.add_argument("what", choices=["demo", "tests"])
    parser.add_argument("--report", type=lambda name: Path(name).resolve(), metavar="FILE")
    asked = parser.parse_args()
    need_sandbox()
    environments: list[tuple[str, str, Sequence[str]]] = [(".venv", "dev.txt", OWN)]
    if asked.what == "tests" and HAS_OFFICIAL:
        environments.append((".venv-official", "official.txt", ()))
    with ThreadPoolExecutor() as pool:
        if not all(pool.map(lambda one: need_environment(*one), environments)):
            return False
    if asked.what == "demo":
        return tool("python", "examples/demo.py")
    passed = gates()
    return tests(asked.report) and passed


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
