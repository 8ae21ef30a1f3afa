"""How old the oldest of what is open is."""

from __future__ import annotations

import heapq
from typing import Mapping

from .attempts import Entry


class Ages:
    """Times of attempts as they come and change; those of what is open no more lie about."""

    def __init__(self, open_: Mapping[str, tuple[int, Entry]]) -> None:
        """``open_``: what is open, as it stands whenever this is asked."""
        self._open = open_
        self._heap: list[tuple[float, str]] = []

    def add(self, at: float, id_: str) -> None:
        """The time of one from now on."""
        heapq.heappush(self._heap, (at, id_))

    def oldest(self) -> float:
        """The earliest time; endless if nothing is open."""
        # At most half of it is gone, so that each costs the same.
        if len(self._heap) > 2 * len(self._open):
            self._heap = [one for one in self._heap if self._stands(one)]
            heapq.heapify(self._heap)
        while self._heap and not self._stands(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float("inf")

    def _stands(self, age: tuple[float, str]) -> bool:
        there = self._open.get(age[1])
        return there is not None and there[1].at == age[0]
