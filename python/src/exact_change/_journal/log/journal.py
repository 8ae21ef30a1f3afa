"""A journal over a log. The first call opens the log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, Sequence, TypeVar

from ..._base.runtime import system_runtime
from ..._kernel.fork import in_child
from ..._kernel.hosts import threads
from ..._kernel.inside import Inside
from ..._kernel.steps import join, quiet
from ..._kernel.task import Steps, Task, begin
from ..._policy.caps import Cap
from ..attempts import copy_of, is_made, owner_of
from ..file.failures import closed, unavailable
from ..states import OPEN_STATES
from ..store_types import Made
from ..types import ALONE, Along, Attempt, CapBlock, Hold, Owner, Reserved
from ..types import (
    State as AttemptState,
)
from .coordination import LogClaims, LogCoordination, LogLocks
from .records import LogRecord
from .state import State
from .step import Decide, Step
from .steps import along_records, hold_step, inverse_of, is_signed

if TYPE_CHECKING:
    from ..file.log import FileLog
    from ..file.shared import SharedLog

T = TypeVar("T")
# Milliseconds between checks of a closing journal whether all steps have ended.
_LOOK_MS = 10


class LogJournal:
    """A journal of one process. A forked child opens the log as a process of its own."""

    def __init__(self, path: str, open_share: Callable[[], Steps[SharedLog]]) -> None:
        self._path = path
        self._open_share = open_share
        self._begin()
        in_child(self)

    def _begin(self) -> None:
        self._share: Task[SharedLog] | None = None
        self._is_closing = self._is_closed = False
        self._inside = Inside()
        self._claims = LogClaims(self)
        self._locks = LogLocks(self)

    def renew(self) -> None:
        """Begins anew in a forked child, with no log, claims or locks."""
        is_closed = self._is_closing
        self._begin()
        self._is_closing = self._is_closed = is_closed

    def log(self) -> Steps[FileLog]:
        """Returns the log, and opens it if needed."""
        if self._is_closed:
            raise closed()
        task = self._share
        if task is None:
            # Open it in threads: an event loop may end before other calls need the log.
            task = self._share = begin(threads, self._open_share())
        try:
            return (yield from join(task)).log
        except Exception as error:
            # The failure may pass, so the next call tries again.
            if self._share is task:
                self._share = None
            raise unavailable(self._path, error)

    def run(self, decide: Decide[T]) -> Steps[T]:
        """Runs a step at the log."""
        return self._run_by(lambda _: decide)

    def _run_by(self, decide_by: Callable[[str], Decide[T]]) -> Steps[T]:
        """Runs a step that depends on the id of this process."""
        if self._is_closing:
            raise closed()

        def run() -> Steps[T]:
            log = yield from self.log()
            return (yield from log.run(decide_by(log.me)))

        return (yield from self._inside.run(run))

    def reserve(
        self,
        attempt: Attempt,
        caps: Sequence[Cap],
        along: Along = ALONE,
        hold: Hold | None = None,
    ) -> Steps[Reserved]:
        attempt = copy_of(attempt)

        def decide(state: State, me: str) -> Step[Reserved]:
            refusal = state.attempts.refusal(attempt, caps)
            if refusal is not None:
                return Step((), refusal)
            held = None if hold is None else hold_step(state, attempt, hold)
            records: list[LogRecord] = [
                {"put": attempt},
                *along_records(state, me, attempt["id"], owner_of(attempt), along),
                *(() if held is None else held.records),
            ]
            inverse = [{"release": attempt["id"]}] if is_signed(None, attempt) else None
            return Step(records, None if held is None else held.taken, inverse)

        return self._run_along(along, decide, is_made)

    def put(self, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        yield from self._replace(attempt, along, ())

    def raise_(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        return self._replace(attempt, ALONE, caps)

    def release(self, id_: str, along: Along = ALONE) -> Steps[None]:

        def decide(state: State, me: str) -> Step[None]:
            before = state.attempts.releasable(id_)
            owner = None if before is None else owner_of(before)
            # Another process may have signed the attempt by now: then its tokens stay held.
            goes_on = before is None and state.attempts.is_open(id_)
            kept = along._replace(free=()) if goes_on else along
            others = along_records(state, me, id_, owner, kept)
            if before is None:
                return Step(others, None)
            told = state.outbox.adding(before, None, system_runtime.now())
            return Step([{"release": id_}, *told, *others], None)

        return self._run_along(along, decide)

    def similar(
        self, owner: Owner, fingerprint: str, idempotency_key: str | None
    ) -> Steps[list[Attempt]]:
        return self.run(
            lambda state: Step((), state.attempts.similar(owner, fingerprint, idempotency_key))
        )

    def attempts(
        self, owner: Owner, *, state: AttemptState | None = None, since: int | None = None
    ) -> Steps[list[Attempt]]:
        """Returns the attempts as :meth:`Journal.attempts` does, also from the history."""

        def look(now: State) -> Step[tuple[list[Made], int]]:
            return Step((), (now.attempts.attempts(owner, state, since), now.history))

        recent, length = yield from self.run(look)
        # The history has closed attempts only.
        if length == 0 or (state is not None and state in OPEN_STATES):
            return [made.attempt for made in recent]
        log = yield from self.log()
        begin_at = float("-inf") if since is None else since
        old = yield from log.past(length, owner, begin_at)
        every = sorted([*old, *recent], key=lambda made: made.made)
        return [
            made.attempt
            for made in every
            if (state or made.attempt["state"]) == made.attempt["state"]
            and made.attempt["at"] >= begin_at
        ]

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> Steps[list[int]]:
        return self.run(lambda state: Step((), state.attempts.used(owner, caps, now)))

    def coordination(self, owner: Owner) -> LogCoordination:
        return LogCoordination(self, owner, self._claims, self._locks)

    def close(self) -> Steps[None]:
        """Releases the journal's claims and locks, and gives up its share of the log."""
        task, pid = self._share, os.getpid()
        # A log that could not be opened needs no closing.
        share = None if task is None else (yield from quiet(join(task)))
        self._is_closing = True
        if share is None or self._is_closed:
            self._is_closed = True
            return
        # What a step takes from now on would stay if another journal uses the log.
        yield from self._inside.over(_LOOK_MS)
        yield from quiet(self._locks.close())
        yield from quiet(self._claims.drop(list(self._claims.own)))
        self._is_closed = True
        if pid == os.getpid():
            yield from share.leave()

    def _replace(self, after: Attempt, along: Along, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        attempt = copy_of(after)

        def decide(state: State, me: str) -> Step[CapBlock | None]:
            before = state.attempts.replacing(attempt, caps)
            if isinstance(before, CapBlock):
                return Step((), before)
            others = along_records(state, me, attempt["id"], owner_of(attempt), along)
            if before is None:
                return Step(others, None)
            told = state.outbox.adding(before, attempt, system_runtime.now())
            back: LogRecord = {"put": before}
            inverse = inverse_of(back, told) if is_signed(before, attempt) else None
            return Step([{"put": attempt}, *told, *others], None, inverse)

        return self._run_along(along, decide)

    def _run_along(
        self,
        along: Along,
        decide: Callable[[State, str], Step[T]],
        is_done: Callable[[T], bool] = lambda _: True,
    ) -> Steps[T]:
        """Runs a step that may take or release claims."""
        result = yield from self._run_by(lambda me: lambda state: decide(state, me))
        if is_done(result):
            self._claims.note(along)
        return result
