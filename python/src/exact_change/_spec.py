"""The tables of ``spec/``, which the Python and the TypeScript library share."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
# Folders of the tables: in a package beside this file, in a clone at its top.
_PLACES = (_HERE / "_spec", _HERE.parents[2] / "spec")


@lru_cache(maxsize=None)
def table(name: str) -> Any:
    """Returns a parsed table. All callers share the table, so do not change it."""
    for place in _PLACES:
        file = place / f"{name}.json"
        if file.is_file():
            return json.loads(file.read_text(encoding="utf-8"))
    raise RuntimeError(f"The package lacks its table {name}: install it anew.")
