"""What the payers of all processes share, over a log."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

from typing_extensions import Protocol

from ..._base.js import utf16_key
from ..._kernel.hosts import threads
from ..._kernel.signals import Signal
from ..._kernel.steps import ensure, quiet, sleep
from ..._kernel.task import Steps, begin
from ..._kernel.workers import workers
from ...errors import ExactChangeError
from ..balances import AccountBalance
from ..ledger import Decide as DecideBalance
from ..ledger import Ledger
from ..locks import MemoryLocks, let_go_of_gone
from ..types import Along, Owner
from .port import Decide, Log, Step
from .records import LogRecord
from .state import State, name_of
from .steps import balance_records, drop_records

T = TypeVar("T")
_FIRST_WAIT_MS = 2
_LONGEST_WAIT_MS = 50
# How often a holder of a lock is looked at, which may have ended without a word.
_LOOK_MS = 250


class Runs(Protocol):
    """What runs steps at a log, which it opens with the first."""

    def log(self) -> Steps[Log]:
        """The log."""
        ...

    def run(self, decide: Decide[T]) -> Steps[T]:
        """Takes a step."""
        ...


class LogClaims:
    """Claims of this process, as far as this journal took them."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.own: set[str] = set()

    def note(self, along: Along) -> None:
        """Notes what is claimed, or claimed no longer, along with a write."""
        self.own.update(along.claim)
        self.own.difference_update(along.drop)

    def take(self, ids: Sequence[str]) -> Steps[None]:
        """Claims attempts."""
        yield from self._runs.run(lambda _: Step([{"claim": list(ids)}], None))
        self.own.update(ids)

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        """Lets go of them."""
        self.own.difference_update(ids)
        me = (yield from self._runs.log()).me
        yield from self._runs.run(lambda state: Step(drop_records(state, me, ids), None))

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """Those that are claimed by a process that lives."""

        def found(state: State) -> Step[dict[str, set[str]]]:
            return Step((), {id_: set(state.claims.get(id_, ())) for id_ in ids})

        holders = yield from self._runs.run(found)
        log = yield from self._runs.log()
        everyone = {by for each in holders.values() for by in each}
        alive = yield from log.living(everyone)
        return {id_ for id_, by in holders.items() if by & alive}


class LogLocks:
    """Locks that hold between processes."""

    def __init__(self, runs: Runs, closed: Callable[[], ExactChangeError]) -> None:
        self._runs = runs
        self._closed = closed
        # Within the process all calls wait for a lock in one place, and the log is asked once.
        self._queue = MemoryLocks()
        self._closing = Signal()
        # Of this journal: another one of the process has the same name in the file.
        self._held: set[str] = set()

    def of(self, owner: Owner) -> OwnerLocks:
        """Those of an owner."""
        return OwnerLocks(self, owner)

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        given: Sequence[Signal | None],
    ) -> Steps[T]:
        """Runs work while holding all names."""
        signals = [*given, self._closing]
        taken: list[str] = []

        def locked() -> Steps[T]:
            # In the order of the names, as in every other process.
            for name in sorted(set(names), key=utf16_key):
                yield from self._take(name, signals)
                taken.append(name)
                self._held.add(name)
            return (yield from work())

        def held() -> Steps[T]:
            try:
                return (yield from ensure(locked(), lambda: self._free(taken)))
            except GeneratorExit:
                # Its event loop is gone: it is let go of all the same, from anywhere else.
                workers.bury(lambda: void(begin(threads, self._free(taken))))
                raise

        workers.watch_graves()
        return (yield from self._queue.hold(names, held, signals))

    def close(self) -> Steps[None]:
        """Frees all. Work that has begun is not stopped."""
        self._closing.abort(self._closed())
        yield from self._free(list(self._held))

    def _take(self, name: str, signals: Sequence[Signal | None]) -> Steps[None]:
        def decide(state: State) -> Step[str | None]:
            holder = state.locks.get(name)
            return Step([{"lock": name}] if holder is None else (), holder)

        wait, looked = _FIRST_WAIT_MS, 0
        while True:
            for signal in signals:
                if signal is not None:
                    signal.check()
            holder = yield from self._runs.run(decide)
            if holder is None:
                return
            if looked >= _LOOK_MS:
                let_go_of_gone()
                yield from (yield from self._runs.log()).living([holder])
                looked = 0
            yield from sleep(wait, *signals)
            looked += wait
            wait = min(2 * wait, _LONGEST_WAIT_MS)

    def _free(self, names: Sequence[str]) -> Steps[None]:
        records: list[LogRecord] = [{"unlock": name} for name in names if name in self._held]
        self._held.difference_update(names)
        if not records:
            return
        try:
            yield from self._runs.run(lambda _: Step(records, None))
        except Exception:
            log = yield from quiet(self._runs.log())
            if log is not None:
                log.later(records)


class OwnerLocks:
    """Locks of an owner."""

    def __init__(self, locks: LogLocks, owner: Owner) -> None:
        self._locks = locks
        self._owner = owner

    def hold(
        self,
        names: Sequence[str],
        work: Callable[[], Steps[T]],
        signals: Sequence[Signal | None] = (),
    ) -> Steps[T]:
        """Runs work while holding all names."""
        return self._locks.hold([name_of(self._owner, name) for name in names], work, signals)


class _Balances:
    def __init__(self, runs: Runs, owner: Owner) -> None:
        self._runs = runs
        self._owner = owner

    def read(self, account: str) -> Steps[AccountBalance]:
        return self._runs.run(lambda state: Step((), state.balance(self._owner, account)))

    def step(self, account: str, decide: DecideBalance[T]) -> Steps[T]:
        def at(state: State) -> Step[T]:
            change, result = decide(state.balance(self._owner, account))
            if change is None:
                return Step((), result)
            return Step(balance_records(state, self._owner, account, change), result)

        return self._runs.run(at)


class LogCoordination:
    """Of one owner."""

    def __init__(self, runs: Runs, owner: Owner, claims: LogClaims, locks: LogLocks) -> None:
        self._runs = runs
        self._owner = owner
        self.ledger = Ledger(_Balances(runs, owner))
        self.claims = claims
        self.locks = locks.of(owner)

    def next(self, name: str) -> Steps[int]:
        """Counts up under a name."""
        own = name_of(self._owner, name)

        def count(state: State) -> Step[int]:
            number = state.counts.get(own, 0) + 1
            return Step([{"count": [own, number]}], number)

        return self._runs.run(count)


def void(_value: object) -> None:
    """Drops a value, in a callback that returns none."""
