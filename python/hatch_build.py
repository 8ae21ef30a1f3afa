"""Brings the tables of ``spec/``, which lies beside this folder, into what is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SpecHook(BuildHookInterface):  # type: ignore[type-arg]
    """An sdist carries the tables, and a wheel is built from one, or from a clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        spec = Path(self.root).parent / "spec"
        if version == "editable":
            return
        if not spec.is_dir():
            if (Path(self.root) / "src/exact_change/_spec").is_dir():
                return
            raise FileNotFoundError(f"{spec} is missing: build in a clone, with pip 21.3 or newer.")
        folder = "src/exact_change" if self.target_name == "sdist" else "exact_change"
        for table in spec.glob("*.json"):
            build_data["force_include"][str(table)] = f"{folder}/_spec/{table.name}"
