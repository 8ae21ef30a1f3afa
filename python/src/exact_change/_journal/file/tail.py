"""Follows the end of a file for this process, and writes there."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence, TypeVar

from ..._base.js import stringify
from ..._kernel.steps import sleep
from ..._kernel.task import Steps
from ..log.records import LogLine, LogRecord, read_records
from ..log.state import State
from ..store_types import Archive
from .disk import FileId, OpenFile, identify
from .header import VERSION, read_header
from .line import encode_line
from .scan import Damage, Scanner
from .spent_names import SpentNames

T = TypeVar("T")
# How often a failing read is tried.
_LOOKS = 3


class _Current:
    """An open file, and the state that its lines give as far as they were read."""

    def __init__(self, file: OpenFile, archive: Archive) -> None:
        header = read_header(file)
        if header is None or header.version != VERSION:
            raise Damage(0)
        self.file = file
        self.id: FileId = file.id
        self.scanner = Scanner(header.length, header.whole)
        self.state = State(archive, SpentNames())
        # Bytes that the file had when it got its name.
        self.whole = header.whole
        # Set once the file is found damaged.
        self.damage: Damage | None = None

    def take_in(self, heard: Callable[[LogLine], None] | None = None) -> bool:
        """Applies the lines of the file's next part; returns whether that was the last part.

        A damaged file stays damaged, because its state is unknown from then on.
        """
        try:
            lines, is_last = self.scanner.next(self.file)
            for at, value in lines:
                line = read_records(value)
                if line is None:
                    raise Damage(at)
                self.state.apply(line.by, line.records)
                if heard is not None:
                    heard(line)
            return is_last
        except Damage as damage:
            self.damage = damage
            raise

    def catch_up(self, heard: Callable[[LogLine], None]) -> None:
        """Applies the lines that were added since the last read.

        Calls ``heard`` with each applied line, also if a later line fails.
        """
        if self.damage is not None:
            raise self.damage
        size = self.file.size
        if size == self.scanner.seen:
            return
        # Another program cut the file off.
        if size < self.scanner.size:
            self.damage = Damage(size)
            raise self.damage
        while not self.take_in(heard):
            pass


def _read_all(file: OpenFile, archive: Archive) -> Steps[_Current]:
    """Reads a file to its end, part by part.

    Closes it and raises, :class:`Damage` or a disk error, if it cannot be read.
    """
    try:
        current = _Current(file, archive)
        while not current.take_in():
            yield from sleep(0)
        return current
    except BaseException:
        file.close()
        raise


class ThisProcess(NamedTuple):
    id: str
    seat: Mapping[str, Any]


def tail_of(path: str, file: OpenFile, me: ThisProcess, archive: Archive) -> Steps[Tail]:
    """Reads a whole file, and returns its tail."""
    return Tail(path, me, archive, (yield from _read_all(file, archive)))


class Tail:
    """Follows the end of a file for this process, and writes there."""

    def __init__(self, path: str, me: ThisProcess, archive: Archive, current: _Current) -> None:
        self._path = path
        self._me = me
        self._archive = archive
        self._current = current
        # Bytes known to be on the disk that no `synced` record tells yet; 0 if there are none.
        self._unsaid_synced = 0
        self._collecting: list[LogLine] | None = None
        # Called with each line that counts, also of this process.
        self.on_line: Callable[[LogLine], object] = lambda _line: None

    @property
    def state(self) -> State:
        """The state that the lines of the file give."""
        return self._current.state

    @property
    def file(self) -> OpenFile:
        return self._current.file

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._current.scanner.size

    @property
    def whole(self) -> int:
        """Bytes that the file had when it got its name."""
        return self._current.whole

    @property
    def end(self) -> int:
        """Byte at which the last line that counts ends."""
        return self._current.scanner.end

    def read(self) -> None:
        """Applies the lines of other processes. Raises :class:`Damage`, or a disk error."""
        self._current.catch_up(self._collect)

    def append(self, records: Sequence[LogRecord]) -> bool:
        """Writes a line after the last line that was read, and returns whether it counts.

        It does not count if another process wrote a line meanwhile; that line is read then.
        """
        current, me = self._current, self._me
        file, scanner, state = current.file, current.scanner, current.state
        every = [*records]
        if self._unsaid_synced > 0:
            every.insert(0, {"synced": self._unsaid_synced})
        # Without a seat, another process took this process for ended: take a seat again.
        if me.id not in state.seats and (not records or "seat" not in records[0]):
            every.insert(0, {"seat": dict(me.seat)})
        line = encode_line(scanner.end, stringify([me.id, *every]))
        size, seen = scanner.size, scanner.seen
        file.append(line)
        # If the file grew by this line alone, the line directly follows the last line that counts.
        if seen == size and _with_retries(lambda: file.size) == size + len(line):
            scanner.skip(len(line))
            state.apply(me.id, every)
            self._collect(LogLine(me.id, every))
            self._unsaid_synced = 0
            return True
        is_read = False

        def heard(line: LogLine) -> None:
            nonlocal is_read
            self._collect(line)
            is_read = is_read or line.by == me.id

        _with_retries(lambda: current.catch_up(heard))
        return is_read

    def is_replaced(self) -> bool:
        """Returns whether another file has the path."""
        return identify(self._path) != self._current.id

    def collect(self, is_on: bool) -> None:
        """Starts or stops the collection of lines that count."""
        self._collecting = [] if is_on else None

    def collected(self) -> list[LogLine]:
        """Returns the lines that were collected since the last call."""
        found, self._collecting = self._collecting or [], []
        return found

    def synced(self, file: OpenFile, end: int) -> None:
        """Notes that the first ``end`` bytes of a file are on the disk."""
        if file is self._current.file:
            self._unsaid_synced = end

    def go_over(self, file: OpenFile) -> Steps[OpenFile]:
        """Reads another file and goes over to it. Returns the previous file."""
        previous = self._current
        past = previous.state.attempts.past()
        self._current = yield from _read_all(file, self._archive._replace(past=past))
        self._unsaid_synced, self._collecting = 0, None
        return previous.file

    def _collect(self, line: LogLine) -> None:
        self.on_line(line)
        # `synced` and `sealed` are about this file only, so the next file does not get them.
        lasting = [new for new in line.records if "synced" not in new and "sealed" not in new]
        if lasting and self._collecting is not None:
            self._collecting.append(LogLine(line.by, lasting))


def _with_retries(look: Callable[[], T]) -> T:
    """Retries a failing read: after an error it is unknown if the written line counts."""
    for _ in range(_LOOKS - 1):
        try:
            return look()
        except OSError:
            continue
    return look()
