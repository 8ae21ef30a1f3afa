"""Sums over time that need no walk over all that was added: a Fenwick tree for each unit."""

from __future__ import annotations

from bisect import bisect_right
from typing import Mapping, Sequence


class SpendWindow:
    """Times come nearly in order: one that comes late rebuilds the tree."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[int] = []
        # How many values are in each time: one without any is left out of the next rebuild.
        self._counts: list[int] = []
        # Node n (from 1) has the sum of the `n & -n` values that end with value n - 1.
        self._sums: list[int] = []
        self._total = 0
        self.size = 0
        self._empty = 0

    def add(self, at: float, value: int) -> None:
        """Adds a value."""
        self._total += value
        self.size += 1
        place = bisect_right(self._times, at)
        if place and self._times[place - 1] == at:
            if self._counts[place - 1] == 0:
                self._empty -= 1
            self._change(place - 1, value, 1)
        elif place == len(self._times):
            self._append(at, value, 1)
        else:
            entries = self._entries()
            self._rebuild([*entries[:place], (at, value, 1), *entries[place:]])

    def subtract(self, at: float, value: int) -> None:
        """Takes back what was added at the same time."""
        self._total -= value
        self.size -= 1
        place = bisect_right(self._times, at) - 1
        self._change(place, -value, -1)
        if self._counts[place] > 0:
            return
        self._empty += 1
        # Times that nothing is left of go at once when they are most of all.
        if self._empty > 64 and self._empty > len(self._times) / 2:
            self._rebuild([one for one in self._entries() if one[2] > 0])

    def after(self, at: float) -> int:
        """What was added at later times than this one."""
        before = bisect_right(self._times, at)
        if before == 0:
            return self._total
        return 0 if before == len(self._times) else self._total - self._first(before)

    def _entries(self) -> list[tuple[float, int, int]]:
        return list(zip(self._times, self._values, self._counts))

    def _rebuild(self, entries: Sequence[tuple[float, int, int]]) -> None:
        self._times, self._values, self._counts, self._sums, self._empty = [], [], [], [], 0
        for entry in entries:
            self._append(*entry)

    def _append(self, at: float, value: int, count: int) -> None:
        self._times.append(at)
        self._values.append(value)
        self._counts.append(count)
        node = len(self._times)
        self._sums.append(self._first(node - 1) - self._first(node - (node & -node)) + value)

    def _first(self, count: int) -> int:
        total, node = 0, count
        while node > 0:
            total += self._sums[node - 1]
            node -= node & -node
        return total

    def _change(self, place: int, delta: int, count: int) -> None:
        self._values[place] += delta
        self._counts[place] += count
        node = place + 1
        while node <= len(self._sums):
            self._sums[node - 1] += delta
            node += node & -node


class SpendWindows:
    """Sums over time of what leaves, by unit."""

    def __init__(self) -> None:
        self._windows: dict[str, SpendWindow] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of what was added."""
        return not self._windows

    def add(self, at: float, cost: Mapping[str, int]) -> None:
        """Adds a cost."""
        for unit, value in cost.items():
            self._windows.setdefault(unit, SpendWindow()).add(at, value)

    def subtract(self, at: float, cost: Mapping[str, int]) -> None:
        """Takes it back."""
        for unit, value in cost.items():
            window = self._windows[unit]
            window.subtract(at, value)
            if window.size == 0:
                del self._windows[unit]

    def after(self, at: float, unit: str) -> int:
        """What was added of a unit at later times."""
        window = self._windows.get(unit)
        return 0 if window is None else window.after(at)
