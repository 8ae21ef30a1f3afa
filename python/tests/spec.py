"""The vectors of ``spec/``: inputs with the outputs that both languages must give."""

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
    """Returns the rows of a vector file."""
    text = (VECTORS / f"{name}.jsonl").read_text(encoding="utf-8")
    # Not ``splitlines``, because a text may contain other line ends of Unicode.
    return tuple(json.loads(line) for line in text.split("\n") if line)


def of(name: str, kind: str) -> Iterator[dict[str, Any]]:
    """Returns the rows of one kind."""
    rows = [row for row in vectors(name) if row["of"] == kind]
    assert rows, f"{name} has no rows of {kind}"
    return iter(rows)


def data(text: str) -> bytes:
    """Decodes the bytes of a row."""
    return base64.b64decode(text)


def piece(delta: Any, known: list[bytes]) -> bytes:
    """Decodes the bytes of a row, which may be a difference from an earlier row."""
    if isinstance(delta, str):
        decoded = data(delta)
    else:
        base = known[delta["like"]]
        decoded = b"".join(
            data(part) if isinstance(part, str) else base[part[0] : part[0] + part[1]]
            for part in delta["parts"]
        )
    known.append(decoded)
    return decoded


def plain(value: object) -> Any:
    """Returns a value as rows write it: objects for named tuples, base64 for bytes, no None."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "_asdict"):
        return {
            _camel(key): plain(field) for key, field in value._asdict().items() if field is not None
        }
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
