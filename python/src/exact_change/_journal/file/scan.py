"""Reads the lines of a file that count, as far as it goes by then, and again as it grows."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Sequence

from ..._base.json_types import is_list, is_number, is_record
from .disk import OpenFile
from .line import Line, read_line

_CHUNK = 256 * 1024


class Damage(Exception):
    """The file is not what was written."""

    def __init__(self, offset: int, path: str | None = None) -> None:
        """``offset``: where it is not: bytes from its start."""
        super().__init__(f"It is damaged at byte {offset}.")
        self.offset = offset
        self.path = path


class Counted(NamedTuple):
    """A line that counts: where it begins, and what it says."""

    at: int
    value: Any


class Part(NamedTuple):
    """The lines that count in a part of a file, each once."""

    lines: Sequence[Counted]
    # Whether there was no more.
    is_last: bool


class Scanner:
    """``start``: where the first line begins; ``synced``: bytes that are known to be on disk."""

    def __init__(self, start: int, synced: int) -> None:
        self._synced = synced
        # Where the last line that counts ends.
        self.end = start
        # How long the file was when it was looked at last.
        self.size = start
        # How much of that was taken in: not half a line at its end, which is looked at again.
        self.seen = start
        self._chunk = _CHUNK
        # Where something never came to the disk, if nothing was written since that counts.
        self._hole: int | None = None

    def next(self, file: OpenFile) -> Part:
        """The next part. Raises :class:`Damage`, or as the disk does: nothing was taken in then."""
        self.size = file.size
        data = file.read(max(0, min(self._chunk, self.size - self.seen)), self.seen)
        is_all = self.seen + len(data) >= self.size
        found: list[Counted] = []
        at = 0
        while at < len(data):
            following = data.find(b"\n", at + 1)
            if following == -1 and not is_all:
                break
            is_last = following == -1
            piece = data[at:] if is_last else data[at:following]
            line = read_line(piece, is_last)
            other = line
            if isinstance(line, Line):
                found += self._judge(self.seen + at, line)
                at += line.length
                if line.length == len(piece):
                    continue
                # What follows a line without a line feed is a hole.
                other = "open" if is_last else "hole"
            # Nothing is missing of what was on the disk before the file got its name.
            if other == "damage" or self.seen + at < self._synced:
                raise Damage(self.seen + at)
            if other == "open":
                break
            if other == "hole" and self._hole is None:
                self._hole = self.seen + at
            at = following
        self.seen += at
        # A line may be longer than what was read.
        self._chunk = 2 * self._chunk if at == 0 and not is_all else _CHUNK
        return Part(found, is_all)

    def skip(self, length: int) -> None:
        """Takes down that a line that counts was written at the end of the file."""
        self.size += length
        self.end = self.seen = self.size

    def _judge(self, place: int, line: Line) -> list[Counted]:
        """A line, if it counts: its writer knew of all that counts before it."""
        # What was known to be on the disk cannot have got lost.
        if self._hole is not None and _synced_in(_parse(line.json, place)) > self._hole:
            raise Damage(self._hole)
        # Its writer lost the race to the one before it.
        if line.after < self.end:
            return []
        if line.after > self.end:
            # Its writer knew a line that is not there any more.
            if self._hole is None:
                raise Damage(self.end)
            return []
        value = _parse(line.json, place)
        self.end, self._hole = place + line.length, None
        return [Counted(place, value)]


def _synced_in(line: object) -> float:
    """How much of the file its writer knew to be on the disk; 0 if it does not say."""
    records = line if is_list(line) else []
    marks: list[float] = [
        one["synced"] for one in records if is_record(one) and is_number(one.get("synced"))
    ]
    return max([0, *marks])


def _parse(text: bytes, place: int) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Damage(place)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON.")
