"""The vectors of ``spec/``: what goes in and what comes out, in both languages."""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterator, Mapping

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "spec" / "vectors"


@lru_cache(maxsize=None)
def vectors(name: str) -> tuple[dict[str, Any], ...]:
    """The rows of a file."""
    text = (VECTORS / f"{name}.jsonl").read_text(encoding="utf-8")
    # Not by splitlines: a text may hold what Unicode calls the end of a line.
    return tuple(json.loads(line) for line in text.split("\n") if line)


def of(name: str, kind: str) -> Iterator[dict[str, Any]]:
    """The rows of one kind."""
    rows = [row for row in vectors(name) if row["of"] == kind]
    assert rows, f"{name} has no rows of {kind}"
    return iter(rows)


def data(text: str) -> bytes:
    """Bytes of a row."""
    return base64.b64decode(text)


def piece(delta: Any, known: list[bytes]) -> bytes:
    """Bytes of a row, written as what differs from those of an earlier one."""
    if isinstance(delta, str):
        one = data(delta)
    else:
        like = known[delta["like"]]
        one = b"".join(
            data(part) if isinstance(part, str) else like[part[0] : part[0] + part[1]]
            for part in delta["parts"]
        )
    known.append(one)
    return one


def plain(value: object) -> Any:
    """A value as rows have it: named tuples as objects, bytes as base64, absent for None."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "_asdict"):
        return {_camel(key): plain(one) for key, one in value._asdict().items() if one is not None}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(one.title() for one in rest)
