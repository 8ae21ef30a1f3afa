"""The time of the oldest open attempt."""

from __future__ import annotations

import heapq
from typing import Mapping

from .attempts import Entry


class Ages:
    """Times of open attempts, oldest first, and stale times of attempts that changed."""

    def __init__(self, open_: Mapping[str, tuple[int, Entry]]) -> None:
        """Makes an empty heap. ``open_`` is the store's own mapping of open attempts."""
        self._open = open_
        self._heap: list[tuple[float, str]] = []

    def add(self, at: float, id_: str) -> None:
        """Adds the time that an open attempt has from now on."""
        heapq.heappush(self._heap, (at, id_))

    def oldest(self) -> float:
        """Returns the earliest time; infinity if no attempt is open."""
        # Clean up only if over half of the times are stale, so that the cost of each is constant.
        if len(self._heap) > 2 * len(self._open):
            self._heap = [age for age in self._heap if self._is_current(age)]
            heapq.heapify(self._heap)
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float("inf")

    def _is_current(self, age: tuple[float, str]) -> bool:
        open_ = self._open.get(age[1])
        return open_ is not None and open_[1].at == age[0]
