"""Ids of attempts by name: by their request, or by their idempotency key."""

from __future__ import annotations

from typing import Iterable, Sequence


class NameIndex:
    """Ids of attempts by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, None]] = {}

    def add(self, id_: str, names: Sequence[str]) -> None:
        for name in names:
            self._ids.setdefault(name, {})[id_] = None

    def discard(self, id_: str, names: Sequence[str]) -> None:
        for name in names:
            ids = self._ids.get(name, {})
            ids.pop(id_, None)
            if not ids:
                self._ids.pop(name, None)

    def find(self, name: str) -> Iterable[str]:
        return self._ids.get(name, ())
