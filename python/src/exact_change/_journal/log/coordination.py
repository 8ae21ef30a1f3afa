"""The coordination of the payers of all processes, over a log."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Sequence, TypeVar

from ..._kernel.signals import Signal, check
from ..._kernel.steps import quiet, sleep
from ..._kernel.task import Steps
from ..balances import EMPTY, AccountBalance
from ..file.failures import closed
from ..ledger import Decide as DecideBalance
from ..ledger import Ledger
from ..locks import free_abandoned_locks
from ..process_locks import ProcessLocks, lock_name
from ..types import Along, Owner
from .state import State
from .step import Step
from .steps import balance_records, drop_records, unlock_records

if TYPE_CHECKING:
    from .journal import LogJournal

T = TypeVar("T")
_FIRST_WAIT_MS = 2
_LONGEST_WAIT_MS = 50
# How often a waiting call checks if the holder of a lock still lives. Milliseconds.
_LOOK_MS = 250


class LogClaims:
    """Claims of attempts over a log. ``own`` holds the ids that this journal claims."""

    def __init__(self, runs: LogJournal) -> None:
        self._runs = runs
        self.own: set[str] = set()

    def note(self, along: Along) -> None:
        """Notes the claims that a write took or released."""
        self.own.update(along.claim)
        self.own.difference_update(along.drop)

    def take(self, ids: Sequence[str]) -> Steps[None]:
        yield from self._runs.run(lambda _: Step([{"claim": list(ids)}], None))
        self.own.update(ids)

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        # Not by `runs`, which refuses steps while the journal closes.
        log = yield from self._runs.log()
        yield from log.run(lambda state: Step(drop_records(state, log.me, ids), None))
        self.own.difference_update(ids)

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """Returns the ids that a living process claims."""

        def read_claims(state: State) -> Step[dict[str, set[str]]]:
            return Step((), {id_: set(state.claims.get(id_, ())) for id_ in ids})

        claimers = yield from self._runs.run(read_claims)
        log = yield from self._runs.log()
        processes = {process for of_id in claimers.values() for process in of_id}
        alive = yield from log.living(processes)
        return {id_ for id_, of_id in claimers.items() if of_id & alive}


class LogLocks(ProcessLocks):
    """Locks that all processes of a log share."""

    def __init__(self, runs: LogJournal) -> None:
        super().__init__()
        self._runs = runs
        # Names that this journal has locked; in the log, all journals of a process share one id.
        self._held: set[str] = set()

    def close(self) -> Steps[None]:
        """Releases all locks. Does not stop the work that runs under them."""
        self._closing.abort(closed())
        yield from self._free(list(self._held))

    def _take(self, name: str, signals: Sequence[Signal | None]) -> Steps[None]:
        def decide(state: State) -> Step[str | None]:
            holder = state.locks.get(name)
            return Step([{"lock": name}] if holder is None else (), holder)

        def free(ended: str, state: State) -> Step[None]:
            return Step([{"gone": ended}] if state.locks.get(name) == ended else (), None)

        wait, looked = _FIRST_WAIT_MS, 0
        while True:
            for signal in signals:
                check(signal)
            holder = yield from self._runs.run(decide)
            if holder is None:
                self._held.add(name)
                return
            if looked >= _LOOK_MS:
                free_abandoned_locks()
                alive = yield from (yield from self._runs.log()).living([holder])
                # `living` ignores a disk error, and the lock would never become free: fail by that
                # error.
                if holder not in alive:
                    yield from self._runs.run(functools.partial(free, holder))
                looked = 0
            yield from sleep(wait, *signals)
            looked += wait
            wait = min(2 * wait, _LONGEST_WAIT_MS)

    def _free(self, names: Sequence[str]) -> Steps[None]:
        mine = [name for name in names if name in self._held]
        self._held.difference_update(names)
        log = None if not mine else (yield from quiet(self._runs.log()))
        if log is None:
            return
        me = log.me
        try:
            yield from log.run(lambda state: Step(unlock_records(state, me, mine), None))
        except Exception:
            log.later(lambda state: unlock_records(state, me, mine))


class _Balances:
    def __init__(self, runs: LogJournal, owner: Owner) -> None:
        self._runs = runs
        self._owner = owner

    def read(self, account: str) -> Steps[AccountBalance]:
        return self._runs.run(lambda state: Step((), state.balance(self._owner, account)))

    def step(
        self,
        account: str,
        decide: DecideBalance[T],
        *,
        of: str | None = None,
        is_on_record: bool = False,
    ) -> Steps[T]:
        def decide_step(state: State) -> Step[T]:
            attempts = state.attempts
            has_ended = of is not None and (
                not attempts.is_open(of) if is_on_record else attempts.has_ended(of)
            )
            change, result = decide(EMPTY if has_ended else state.balance(self._owner, account))
            if change is None or has_ended:
                return Step((), result)
            return Step(balance_records(state, self._owner, account, change), result)

        return self._runs.run(decide_step)


class LogCoordination:
    """The coordination of one owner's payers."""

    def __init__(self, runs: LogJournal, owner: Owner, claims: LogClaims, locks: LogLocks) -> None:
        self._runs = runs
        self._owner = owner
        self.ledger = Ledger(_Balances(runs, owner))
        self.claims = claims
        self.locks = locks.of(owner)

    def next(self, name: str) -> Steps[int]:
        counter = lock_name(self._owner, name)

        def count(state: State) -> Step[int]:
            number = state.counts.get(counter, 0) + 1
            return Step([{"count": [counter, number]}], number)

        return self._runs.run(count)
