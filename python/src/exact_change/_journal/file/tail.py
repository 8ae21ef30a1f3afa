"""The end of a file, as one of the processes that write there follows it."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence, TypeVar

from ..._base.js import stringify
from ..._kernel.steps import sleep
from ..._kernel.task import Steps
from ..log.records import LogRecord, Said, read_records
from ..log.state import State
from ..store_types import Archive
from .disk import FileId, OpenFile, identify
from .header import VERSION, read_header
from .line import encode_line
from .scan import Damage, Scanner

T = TypeVar("T")
# How often a look at a file is tried.
_LOOKS = 3


class _Current:
    """A file that is open, and what it says as far as it was read."""

    def __init__(self, file: OpenFile, archive: Archive) -> None:
        header = read_header(file)
        if header is None or header.version != VERSION:
            raise Damage(0)
        self.file = file
        self.id: FileId = file.id
        self.scanner = Scanner(header.length, header.whole)
        self.state = State(archive)
        # Bytes that it began with.
        self.whole = header.whole
        # What is wrong with it.
        self.damage: Damage | None = None

    def take_in(self, heard: Callable[[Said], None] | None = None) -> bool:
        """The next part; whether it was the last.

        Once a file is damaged it stays that: what it said then is not known.
        """
        try:
            lines, is_last = self.scanner.next(self.file)
            for at, value in lines:
                said = read_records(value)
                if said is None:
                    raise Damage(at)
                self.state.apply(said.by, said.records)
                if heard is not None:
                    heard(said)
            return is_last
        except Damage as damage:
            self.damage = damage
            raise

    def catch_up(self, heard: Callable[[Said], None]) -> None:
        """Takes in what the file says since it was read last."""
        if self.damage is not None:
            raise self.damage
        size = self.file.size
        if size == self.scanner.seen:
            return
        # Cut off by another program.
        if size < self.scanner.size:
            self.damage = Damage(size)
            raise self.damage
        while not self.take_in(heard):
            pass


def _read_all(file: OpenFile, archive: Archive) -> Steps[_Current]:
    """Reads a file to its end, part by part."""
    current = _Current(file, archive)
    while not current.take_in():
        yield from sleep(0)
    return current


class Me(NamedTuple):
    """The process that writes."""

    id: str
    seat: Mapping[str, Any]


def tail_of(path: str, file: OpenFile, me: Me, archive: Archive) -> Steps[Tail]:
    """The end of a file, once all of it is read."""
    return Tail(path, me, archive, (yield from _read_all(file, archive)))


class Tail:
    """See :func:`tail_of`."""

    def __init__(self, path: str, me: Me, archive: Archive, current: _Current) -> None:
        self._path = path
        self._me = me
        self._archive = archive
        self._current = current
        # How much of it is known to be on the disk, if that is yet to be said.
        self._known = 0
        self._collecting: list[Said] | None = None

    @property
    def state(self) -> State:
        """What the file says."""
        return self._current.state

    @property
    def file(self) -> OpenFile:
        """The file."""
        return self._current.file

    @property
    def size(self) -> int:
        """Bytes of it."""
        return self._current.scanner.size

    @property
    def whole(self) -> int:
        """Bytes that it began with."""
        return self._current.whole

    @property
    def end(self) -> int:
        """Where the last line ends that counts."""
        return self._current.scanner.end

    def read(self) -> None:
        """Takes in what others wrote. Raises :class:`Damage`, or as the disk does."""
        self._current.catch_up(self._collect)

    def append(self, records: Sequence[LogRecord]) -> bool:
        """Writes a line after the last one that was read; whether it counts.

        Not if another was written meanwhile, which is read then.
        """
        current, me = self._current, self._me
        file, scanner, state = current.file, current.scanner, current.state
        every = [*records]
        if self._known > 0:
            every.insert(0, {"synced": self._known})
        # Another process took it for ended, as its sign was taken away.
        if me.id not in state.seats and (not records or "seat" not in records[0]):
            every.insert(0, {"seat": dict(me.seat)})
        line = encode_line(scanner.end, stringify([me.id, *every]))
        size, seen = scanner.size, scanner.seen
        file.append(line)
        # Nothing else was written: it is where it was meant to be.
        if seen == size and _again(lambda: file.size) == size + len(line):
            scanner.skip(len(line))
            state.apply(me.id, every)
            self._collect(Said(me.id, every))
            self._known = 0
            return True
        is_read = False

        def heard(said: Said) -> None:
            nonlocal is_read
            self._collect(said)
            is_read = is_read or said.by == me.id

        _again(lambda: current.catch_up(heard))
        return is_read

    def is_replaced(self) -> bool:
        """Whether another file has the path."""
        return identify(self._path) != self._current.id

    def collect(self, is_on: bool) -> None:
        """Whether from now on what counts is collected."""
        self._collecting = [] if is_on else None

    def collected(self) -> list[Said]:
        """What was collected since it was asked last."""
        found, self._collecting = self._collecting or [], []
        return found

    def synced(self, file: OpenFile, end: int) -> None:
        """Notes that all of a file that was written by now is on the disk."""
        if file is self._current.file:
            self._known = end

    def go_over(self, file: OpenFile) -> Steps[OpenFile]:
        """Goes over to another file, once that is read. Returns the one before."""
        last = self._current
        past = last.state.attempts.past()
        self._current = yield from _read_all(file, self._archive._replace(past=past))
        self._known, self._collecting = 0, None
        return last.file

    def _collect(self, said: Said) -> None:
        # Where things are in this file means nothing in another.
        rest = [one for one in said.records if "synced" not in one and "sealed" not in one]
        if rest and self._collecting is not None:
            self._collecting.append(Said(said.by, rest))


def _again(look: Callable[[], T]) -> T:
    """A look that fails is no answer: the line may count."""
    for _ in range(_LOOKS - 1):
        try:
            return look()
        except OSError:
            continue
    return look()
