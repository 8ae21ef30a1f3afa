"""The tables of ``spec/``: what this library and the one in TypeScript both go by."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
# In a package they lie beside this file; in a clone, at its top.
_PLACES = (_HERE / "_spec", _HERE.parents[2] / "spec")


@lru_cache(maxsize=None)
def table(name: str) -> Any:
    """The table of a name, parsed. What is read from it is not to be changed."""
    for place in _PLACES:
        file = place / f"{name}.json"
        if file.is_file():
            return json.loads(file.read_text(encoding="utf-8"))
    raise RuntimeError(f"The package lacks its table {name}: install it anew.")
