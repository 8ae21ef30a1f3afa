"""What is built has the tables in it, and works where neither clone nor Node is."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from solders.keypair import Keypair

from ..spec import ROOT

USES_IT = """
import exact_change, sys
from exact_change.webhooks import verify
assert exact_change.__file__.startswith(sys.argv[1]), exact_change.__file__
client = exact_change.Client(wallet_secret_key=sys.argv[2], policy={"max_per_day": "1"})
assert not [one for one in ("requests", "psycopg", "anyio._backends._trio") if one in sys.modules]
print(client.address, exact_change.__version__)
"""
PAIR = Keypair.from_seed(bytes(32))


def run(*command: str, cwd: Path) -> Any:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)


def build(source: Path, kind: str, to: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to), cwd=source)
    (made,) = to.iterdir()
    return made


def test_a_wheel_of_the_clone_and_one_of_its_sdist_are_equal_and_work(tmp_path: Path) -> None:
    wheel = build(ROOT / "python", "wheel", tmp_path / "wheel")
    sdist = build(ROOT / "python", "sdist", tmp_path / "sdist")
    run(sys.executable, "-m", "tarfile", "-e", str(sdist), str(tmp_path), cwd=tmp_path)
    (unpacked,) = tmp_path.glob("exact_change-*")
    again = build(unpacked, "wheel", tmp_path / "again")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        names = set(one.namelist())
        assert names == set(other.namelist())
        assert "exact_change/py.typed" in names
        tables = {f"exact_change/_spec/{path.name}" for path in (ROOT / "spec").glob("*.json")}
        assert len(tables) > 5 and tables <= names
        assert not [name for name in names if "test" in name or "vectors" in name]
        one.extractall(tmp_path / "site")
    site = str(tmp_path / "site")
    program = f"import sys; sys.path.insert(0, sys.argv[1])\n{USES_IT}"
    shown = run(sys.executable, "-c", program, site, str(PAIR), cwd=tmp_path).stdout.split()
    assert shown[0] == str(PAIR.pubkey())
