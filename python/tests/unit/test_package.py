"""Built packages contain the tables of ``spec/`` and work without a clone and without Node."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair

from ..spec import ROOT

PROGRAM = """
import exact_change, sys
from exact_change.webhooks import verify
assert exact_change.__file__.startswith(sys.argv[1]), exact_change.__file__
client = exact_change.Client(wallet_secret_key=sys.argv[2], policy={"max_per_day": "1"})
assert not {"requests", "psycopg", "anyio._backends._trio"} & set(sys.modules)
print(client.address, exact_change.__version__)
"""
PAIR = Keypair.from_seed(bytes(32))


def run(*command: str, cwd: Path) -> Any:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)


def build(source: Path, kind: str, to: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to), cwd=source)
    (made,) = to.iterdir()
    return made


def test_refuses_to_build_without_the_tables(tmp_path: Path) -> None:
    alone = shutil.copytree(
        ROOT / "python",
        tmp_path / "python",
        # Other processes write caches meanwhile.
        ignore=shutil.ignore_patterns(".*", "tests", "__pycache__"),
    )
    with pytest.raises(subprocess.CalledProcessError) as failed:
        build(alone, "wheel", tmp_path / "wheel")
    assert "build in a clone, with pip 21.3 or newer" in failed.value.stderr


def test_builds_equal_working_wheels_from_the_clone_and_from_its_sdist(tmp_path: Path) -> None:
    wheel = build(ROOT / "python", "wheel", tmp_path / "wheel")
    sdist = build(ROOT / "python", "sdist", tmp_path / "sdist")
    run(sys.executable, "-m", "tarfile", "-e", str(sdist), str(tmp_path), cwd=tmp_path)
    (unpacked,) = tmp_path.glob("exact_change-*")
    rebuilt = build(unpacked, "wheel", tmp_path / "again")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(rebuilt) as second:
        names = set(first.namelist())
        assert names == set(second.namelist())
        assert "exact_change/py.typed" in names
        tables = {f"exact_change/_spec/{path.name}" for path in (ROOT / "spec").glob("*.json")}
        assert len(tables) > 5 and tables <= names
        assert not [name for name in names if "test" in name or "vectors" in name]
        first.extractall(tmp_path / "site")
    site = str(tmp_path / "site")
    program = f"import sys; sys.path.insert(0, sys.argv[1])\n{PROGRAM}"
    shown = run(sys.executable, "-c", program, site, str(PAIR), cwd=tmp_path).stdout.split()
    assert shown[0] == str(PAIR.pubkey())
