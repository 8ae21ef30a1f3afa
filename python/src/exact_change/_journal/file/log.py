"""A log in a file that processes share: all of them read all lines in the same order."""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Iterable, Sequence, TypeVar

from ..._kernel.hosts import threads
from ..._kernel.inside import Inside
from ..._kernel.steps import call, ensure, join, quiet, settled, sleep
from ..._kernel.task import Steps, Task, begin
from ..log.records import LogRecord
from ..log.state import REWRITING, State
from ..log.step import Decide, RecordsIn, Step
from ..log.steps import unlock_records
from ..released_claims import soon_told
from ..store_types import Made
from ..types import Owner
from .disk import OpenFile, open_file, sync_directory
from .failures import Refusal, closed, locked_by, unavailable
from .history import History
from .rewrite import write_anew
from .scan import Damage
from .signs import Life, Verdict, clear, judge
from .syncs import Syncs
from .tail import Tail
from .unsynced import UnsyncedSteps

T = TypeVar("T")
_FIRST_WAIT_MS = 1
_LONGEST_WAIT_MS = 50


class FileLog:
    """A log in a file; :func:`~exact_change._journal.file.shared.open_log` opens it."""

    def __init__(
        self, path: str, life: Life, history: History, tail: Tail, compact_from: int
    ) -> None:
        self.me = life.id
        self._path = path
        self._directory = os.path.dirname(path)
        self._life = life
        self._history = history
        self._tail = tail
        self._syncs = Syncs(tail, lambda: sync_directory(self._directory), self._rewrite)
        self._compact_from = compact_from
        self._inside = Inside()
        self._unsynced = UnsyncedSteps()
        tail.on_line = lambda line: self._unsynced.note(line.records)
        # Give the records to write before any other.
        self._leftover: list[RecordsIn] = []
        self._check_at = max(compact_from, 2 * tail.whole)
        self._is_closed = False
        self._changing: Task[None] | None = None
        self._rewriting: Task[None] | None = None
        self._replacing: Task[None] | None = None

    def run(self, decide: Decide[T]) -> Steps[T]:
        """Decides on the current state, and returns once the records of the step are written."""
        if self._is_closed:
            raise closed()
        return (yield from self._inside.run(lambda: self._perform(decide)))

    def later(self, records_in: RecordsIn) -> None:
        """Writes records as soon as possible, before any other of this process."""
        self._leftover.append(records_in)
        # Other processes may wait for these records, and this process may take no further step.
        begin(threads, quiet(soon_told(lambda: self.run(lambda _: Step((), None)))))

    def living(self, ids: Iterable[str]) -> Steps[set[str]]:
        """Returns the ids of the processes that live, and frees claims and locks of ended ones."""
        alive: set[str] = set()
        for id_ in set(ids):
            if (yield from self._verdict_on(id_)) != "ended":
                alive.add(id_)
            # If the file is sealed, the next step deals with the seal first. After a disk error, a
            # later look finds the ended process again.
            elif self._tail.state.sealed_by is None:
                with contextlib.suppress(OSError, Damage):
                    if not self._tail.is_replaced():
                        self._free_ended(id_)
        return alive

    def past(self, length: int, owner: Owner, since: float) -> Steps[list[Made]]:
        """Returns closed attempts that the log no longer has, in the order they were made.

        Reads the first ``length`` bytes of the history. It may leave out attempts that were written
        before ``since``.
        """
        try:
            return (yield from self._history.attempts(length, owner, since))
        except Exception as error:
            raise unavailable(self._path, error)

    def sit_down(self) -> Steps[None]:
        """Judges the processes that have a seat in the file, and takes a seat for this process."""
        for seat in list(self._tail.state.seats.values()):
            verdict = yield from call(functools.partial(judge, seat, self._directory))
            if verdict == "unknown":
                raise locked_by(self._path, seat)
        yield from self.living(list(self._tail.state.seats))
        # The seat names the sign of this process, so that others can remove the sign after a crash.
        seating: LogRecord = {"seat": dict(self._life.seat)}
        yield from self._perform(lambda now: Step([] if self.me in now.seats else [seating], None))

    def close(self) -> Steps[None]:
        """Closes the log once all running steps are done."""
        self._is_closed = True
        yield from self._inside.over(_LONGEST_WAIT_MS)
        if self._rewriting is not None:
            yield from settled(self._rewriting)

        def leave() -> Steps[None]:
            if self.me in self._tail.state.seats:
                yield from self._perform(lambda _: Step([{"gone": self.me}], None))

        def end() -> Steps[None]:
            yield from self._syncs.over()
            self._tail.file.close()
            self._history.close()
            self._life.end()

        yield from ensure(leave(), end)

    def _perform(self, decide: Decide[T]) -> Steps[T]:
        try:
            while True:
                if self._changing is not None:
                    yield from join(self._changing)
                step = self._take(decide)
                if step is not None:
                    break
                if self._changing is None:
                    self._changing = begin(threads, ensure(self._change(), self._end_change))
            if step.inverse is not None:
                yield from self._sync_or_revert(step.inverse)
            if step.records:
                self._after_write(step.records)
            return step.result
        except Refusal as refusal:
            if isinstance(refusal.reason, Damage):
                raise unavailable(self._path, refusal.reason)
            raise refusal.reason
        except Exception as error:
            raise unavailable(self._path, error)

    def _take(self, decide: Decide[T]) -> Step[T] | None:
        """Takes a step at once. Returns None if another file is replacing this file."""
        tail = self._tail
        while True:
            tail.read()
            # If another process has just replaced the file, it sealed this file before: read the
            # seal.
            is_replaced = tail.is_replaced()
            if is_replaced:
                tail.read()
            if tail.state.sealed_by is not None:
                return None
            if is_replaced:
                raise RuntimeError("Another file has been put in its place.")
            if self._leftover:
                records = [new for add in self._leftover for new in add(tail.state)]
                if not records or tail.append(records):
                    self._leftover = []
                continue
            try:
                step = decide(tail.state)
            except Exception as error:
                raise Refusal(error)
            try:
                if not step.records or tail.append(step.records):
                    return step
            except Exception:
                # The line may count, and its caller does not have these locks.
                self._unlock_later([new["lock"] for new in step.records if "lock" in new])
                raise

    def _note(self, records: Sequence[LogRecord]) -> None:
        """Writes records in the background, and ignores a failure."""
        begin(threads, quiet(self._perform(lambda _: Step(records, None))))

    def _sync_or_revert(self, inverse: Sequence[LogRecord]) -> Steps[None]:
        step = self._unsynced.begin(inverse)
        try:
            yield from self._syncs.sync()
        except Exception:
            # The caller is told that the step failed, so its records must not stay.
            self.later(lambda _: () if step.is_superseded else inverse)
            raise
        self._unsynced.end(step)

    def _unlock_later(self, names: Sequence[str]) -> None:
        if names:
            self.later(lambda state: unlock_records(state, self.me, names))

    def _after_write(self, records: Sequence[LogRecord]) -> None:
        if any("job" in record for record in records):
            trimmed = self._tail.state.outbox.trimming()
            if trimmed:
                self._note(trimmed)
        if self._tail.size < self._check_at or self._is_closed:
            return
        # If the rewrite fails, or another process does it, try again once the file has grown more.
        self._check_at = self._tail.size + self._compact_from // 4
        self._start_rewrite()

    def _end_change(self) -> Steps[None]:
        self._changing = None
        yield from ()

    def _change(self) -> Steps[None]:
        """Goes over to the file that replaces this file; to none if the rewrite failed."""
        tail, wait = self._tail, _FIRST_WAIT_MS
        while True:
            sealed_by = tail.state.sealed_by
            if sealed_by is None:
                return
            if sealed_by == self.me and self._replacing is not None:
                yield from quiet(join(self._replacing))
                return
            if tail.is_replaced():
                yield from self._go_over(open_file(self._path))
                return
            # The rewrite of this process failed.
            if sealed_by == self.me:
                tail.append([{"sealed": False}])
            # The writer has ended, so no file will come, unless it came a moment ago.
            elif (yield from self._verdict_on(sealed_by)) == "ended" and not tail.is_replaced():
                self._free_ended(sealed_by)
            else:
                yield from sleep(wait)
            tail.read()
            wait = min(2 * wait, _LONGEST_WAIT_MS)

    def _go_over(self, file: OpenFile) -> Steps[None]:
        previous = yield from self._tail.go_over(file)
        self._check_at = max(self._compact_from, 2 * self._tail.whole)
        yield from self._syncs.over()
        previous.close()

    def _verdict_on(self, id_: str) -> Steps[Verdict]:
        if id_ == self.me:
            return "lives"
        seat = self._tail.state.seats.get(id_)
        if seat is None:
            return "ended"
        return (yield from call(functools.partial(judge, seat, self._directory)))

    def _free_ended(self, id_: str) -> None:
        """Frees the claims, locks and jobs of a process that has ended."""
        seat = self._tail.state.seats.get(id_)
        if seat is not None and self._tail.append([{"gone": id_}]):
            clear(seat, self._directory)

    def _rewrite(self) -> Steps[None]:
        """Rewrites the file, unless another process does."""
        yield from join(self._start_rewrite())

    def _start_rewrite(self) -> Task[None]:
        if self._rewriting is None:
            self._rewriting = begin(threads, ensure(self._rewrite_once(), self._end_rewrite))
        return self._rewriting

    def _end_rewrite(self) -> Steps[None]:
        self._rewriting = None
        yield from ()

    def _rewrite_once(self) -> Steps[None]:
        def decide(state: State) -> Step[str]:
            by = state.locks.get(REWRITING)
            return Step([{"lock": REWRITING}] if by is None else (), self.me if by is None else by)

        while True:
            holder = yield from self._perform(decide)
            if holder == self.me:
                break
            if (yield from self._verdict_on(holder)) != "ended":
                return
            # Not by `living`: it ignores a disk error, and this would try again without a pause.
            if self._tail.state.sealed_by is None and not self._tail.is_replaced():
                self._free_ended(holder)

        def replace() -> Steps[None]:
            file = yield from write_anew(self._path, self._tail, self.me, self._history)
            yield from self._go_over(file)

        try:
            self._replacing = begin(threads, replace())
            replaced = yield from settled(self._replacing)
            self._replacing = None
            if isinstance(replaced, Exception):
                raise replaced
            yield from self._syncs.names()
        except Exception:
            self._unlock_later([REWRITING])
            raise
