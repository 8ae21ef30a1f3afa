"""The file beside a journal that keeps the closed attempts which the journal dropped."""

from __future__ import annotations

import json
import os
import re
import secrets
from typing import Any, NamedTuple, Sequence

from ..._base.js import stringify
from ..._base.json_types import is_list
from ..._kernel.steps import sleep
from ..._kernel.task import Steps
from ..attempts import belongs_to, is_attempt
from ..store_types import Made
from ..types import Attempt, Owner
from .disk import OpenFile, create_file, open_file, remove_file, sync_directory
from .failures import closed
from .line import Line, encode_line, read_line
from .scan import Damage

_CHUNK = 256 * 1024
# Bytes. An attempt is rarely longer.
_LINE = 8 * 1024
# The beginning of a line that holds an attempt: the number of attempts made before it.
_MADE = re.compile(rb"\n[0-9a-f]{8} [0-9]+ [0-9]+ \[([0-9]+),")
# Attempts that are read or written before other work has its turn.
_TURN = 64


class Written(NamedTuple):
    """The place of each written attempt, and the new length of the history."""

    places: Sequence[int]
    length: int


class History:
    """The closed attempts that a journal dropped. ``path`` is the path of the history file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: OpenFile | None = None
        self._is_closed = False

    def recall(self, place: int) -> Attempt:
        """Returns the attempt on the line that begins at a place."""
        return self._made_at(place, self._open()).attempt

    def append(self, length: int, closed: Sequence[Made], now: int) -> Steps[Written]:
        """Writes attempts at ``length``, over any bytes that follow; at 0 into a new file.

        Returns once the attempts are on the disk.
        """
        if not closed:
            return Written((), length)
        file = self._open_at(length) if length else (yield from self._begin(closed))
        try:
            places: list[int] = []
            end = length
            # Not before an earlier batch or an attempt, even if the clock was set back: `_begin_of`
            # stops at the first older batch.
            at = max(now, self._batch_to(length)["at"]) if length else now
            for made, attempt in closed:
                places.append(end)
                at = max(at, attempt["at"])
                end += self._write(file, end, [made, attempt])
                if len(places) % _TURN == 0:
                    yield from sleep(0)
            end += self._write(file, end, {"batch": {"from": length, "at": at}})
            yield from file.sync()
            return Written(places, end)
        finally:
            # If the rewrite fails, another file may get the path.
            if file is not self._file:
                file.close()

    def attempts(self, length: int, owner: Owner, since: float) -> Steps[list[Made]]:
        """Returns an owner's attempts of the first ``length`` bytes, in the order they were made.

        It may leave out attempts that were written before ``since``.
        """
        places: list[tuple[int, int]] = []
        at, chunk = self._begin_of(length, since) if length else 0, _CHUNK
        while at < length:
            data = self._open().read(min(chunk, length - at), at)
            if not data:
                raise Damage(at, self._path)
            is_last, start = at + len(data) >= length, 0
            while start < len(data):
                following = data.find(b"\n", start + 1)
                if following == -1 and not is_last:
                    break
                made = _MADE.match(data, start)
                if made is not None:
                    places.append((int(made[1]), at + start))
                start = len(data) if following == -1 else following
            at += start
            # A line may be longer than the chunk, so read more if no line was whole.
            chunk = 2 * chunk if start == 0 else _CHUNK
            yield from sleep(0)
        found: list[Made] = []
        for index, (_, place) in enumerate(sorted(places)):
            if index % _TURN == _TURN - 1:
                yield from sleep(0)
            made_at = self._made_at(place, self._open())
            if belongs_to(made_at.attempt, owner):
                found.append(made_at)
        return found

    def close(self) -> None:
        self._is_closed = True
        if self._file is not None:
            self._file.close()

    def _open(self) -> OpenFile:
        # A reader may still be at work, and nothing would close a file that it opens now.
        if self._is_closed:
            raise closed()
        if self._file is None:
            self._file = open_file(self._path)
            self._file.make_private()
        return self._file

    def _open_at(self, length: int) -> OpenFile:
        file = self._open()
        if file.size < length:
            raise Damage(file.size, self._path)
        # A process that ended wrote these bytes, and no journal refers to them.
        if file.size > length:
            file.truncate(length)
        return file

    def _is_left(self, closed: Sequence[Made]) -> bool:
        """Returns whether a failed first rewrite of this journal left the file that is there.

        Until a rewrite succeeds, the next one has all of its attempts to write. Else the file is
        another journal's.
        """
        ids = {made.attempt["id"] for made in closed}
        try:
            there = open_file(self._path)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        place = 0
        try:
            while place < there.size:
                value, end = self._line_at(place, there)
                if is_list(value) and self._made_at(place, there).attempt["id"] not in ids:
                    return False
                place = end
            return True
        except Damage:
            # The process was killed while it wrote.
            return place > 0
        finally:
            there.close()

    def _begin(self, closed: Sequence[Made]) -> Steps[OpenFile]:
        """Makes an empty file.

        Keeps the file of another journal, which was moved away without it.
        """
        # Not emptied: a process that lost the rewrite may still write to the file that it began.
        if self._is_left(closed):
            remove_file(self._path)
        else:
            os.rename(self._path, f"{self._path}.{secrets.token_hex(16)}")
        file = create_file(self._path)
        try:
            yield from sync_directory(os.path.dirname(self._path))
        except BaseException:
            file.close()
            raise
        return file

    def _write(self, file: OpenFile, end: int, value: object) -> int:
        line = encode_line(end, stringify(value))
        file.append(line)
        return len(line)

    def _line_at(self, place: int, file: OpenFile) -> tuple[Any, int]:
        """Returns the JSON of the line that begins at a place, and where the line ends."""
        most = _LINE
        while True:
            data = file.read(most, place)
            end = data.find(b"\n", 1)
            if end != -1 or len(data) < most:
                break
            most *= 2
        line = read_line(data if end == -1 else data[:end], end == -1)
        if not isinstance(line, Line):
            raise Damage(place, self._path)
        return json.loads(line.json.decode()), place + line.length

    def _made_at(self, place: int, file: OpenFile) -> Made:
        value, _ = self._line_at(place, file)
        if not is_list(value) or len(value) < 2 or not is_attempt(value[1]):
            raise Damage(place, self._path)
        return Made(value[0], value[1])

    def _batch_to(self, end: int) -> Any:
        """Returns the batch that ends at a place."""
        size = min(_LINE, end)
        file = self._open()
        tail = file.read(size, end - size)
        line, _ = self._line_at(end - len(tail) + tail.rfind(b"\n"), file)
        return line["batch"]

    def _begin_of(self, length: int, since: float) -> int:
        """Returns where the first batch begins that was written at or after a time."""
        begin = length
        while begin > 0:
            batch = self._batch_to(begin)
            if batch["at"] < since:
                break
            begin = batch["from"]
        return begin
