"""Reads the lines of a growing file that count."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from ..._base.js import parse_json
from ..._base.json_types import is_list, is_number, is_record
from .disk import OpenFile
from .line import Line, read_line

_CHUNK = 256 * 1024


class Damage(Exception):
    """The file holds bytes that no journal wrote."""

    def __init__(self, offset: int, path: str | None = None) -> None:
        """Makes the error. ``offset`` is where the damage begins: bytes from the file's start."""
        super().__init__(f"It is damaged at byte {offset}.")
        self.offset = offset
        self.path = path


class Counted(NamedTuple):
    """A line that counts: the byte at which it begins, and its JSON."""

    at: int
    value: Any


class Part(NamedTuple):
    """The lines that count in a part of a file, each once."""

    lines: Sequence[Counted]
    # Whether the part goes to the end of the file.
    is_last: bool


class Scanner:
    """Reads the lines of a growing file that count.

    ``start`` is the byte at which the first line begins, and ``synced`` the bytes that are known to
    be on the disk.
    """

    def __init__(self, start: int, synced: int) -> None:
        self._synced = synced
        # Byte at which the last line that counts ends.
        self.end = start
        # Bytes of the file at the last look.
        self.size = start
        # Bytes that were read, without half a line at the end, which is read again.
        self.seen = start
        self._chunk = _CHUNK
        # Byte at which the first hole begins, if no line after it counts.
        self._hole: int | None = None

    def next(self, file: OpenFile) -> Part:
        """Returns the next part. Raises :class:`Damage` or a disk error; then ``seen`` stays."""
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
            no_line = line
            if isinstance(line, Line):
                found += self._judge(self.seen + at, line)
                at += line.length
                if line.length == len(piece):
                    continue
                # Bytes after a whole line without a line feed are a hole.
                no_line = "open" if is_last else "hole"
            # The first `synced` bytes were on the disk before the file got its name, so they have
            # no holes.
            if no_line == "damage" or self.seen + at < self._synced:
                raise Damage(self.seen + at)
            if no_line == "open":
                break
            if no_line == "hole" and self._hole is None:
                self._hole = self.seen + at
            at = following
        self.seen += at
        # A line may be longer than the chunk, so read more if no line was whole.
        self._chunk = 2 * self._chunk if at == 0 and not is_all else _CHUNK
        return Part(found, is_all)

    def skip(self, length: int) -> None:
        """Passes over a line of this process that counts: ``length`` bytes at the file's end."""
        self.size += length
        self.end = self.seen = self.size

    def _judge(self, place: int, line: Line) -> list[Counted]:
        """Returns a line if it counts: its writer had read all lines that count before it."""
        # A hole within bytes that were synced is damage: a power failure cannot lose them.
        if self._hole is not None and _synced_in(_parse(line.json, place)) > self._hole:
            raise Damage(self._hole)
        # The line lost the race: another writer's line came first.
        if line.after < self.end:
            return []
        if line.after > self.end:
            # The writer had read a line that is missing now; only a hole explains that.
            if self._hole is None:
                raise Damage(self.end)
            return []
        value = _parse(line.json, place)
        self.end, self._hole = place + line.length, None
        return [Counted(place, value)]


def _synced_in(line: object) -> float:
    """Returns the bytes that a line says are on the disk; 0 if it has no `synced` record."""
    records = line if is_list(line) else []
    marks: list[float] = [
        record["synced"]
        for record in records
        if is_record(record) and is_number(record.get("synced"))
    ]
    return max([0, *marks])


def _parse(text: bytes, place: int) -> Any:
    try:
        return parse_json(text.decode())
    except ValueError:
        raise Damage(place)
