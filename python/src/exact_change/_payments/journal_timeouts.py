"""Adds a deadline to each journal call, because money moves only if it is on record before."""

from __future__ import annotations

from typing import Callable, Sequence, TypeVar

from .._journal.balances import AccountBalance, Fresh, Taken
from .._journal.ledger import BalanceStore, Decide, Ledger
from .._journal.released_claims import ReleasedClaims, finish_releases
from .._journal.types import (
    ALONE,
    Along,
    Attempt,
    CapBlock,
    Claims,
    Coordination,
    Hold,
    Journal,
    Owner,
    Reserved,
    State,
)
from .._kernel.steps import bounded, note_until_settled, settled, start
from .._kernel.task import Steps, Task
from .._policy.caps import Cap
from ..errors import ExactChangeError, failure
from .late_takes import LateTakes

T = TypeVar("T")


class _Within:
    """Runs journal calls with a deadline."""

    def __init__(self, timeout_ms: float) -> None:
        self._timeout_ms = timeout_ms

    def __call__(self, step: str, work: Callable[[], Steps[T]]) -> Steps[T]:
        """Runs a call; raises ``journal_unavailable`` for any error that is not our own."""
        try:
            return (yield from bounded(self._timeout_ms, self._late, [], lambda _signal: work()))
        except ExactChangeError:
            raise
        except Exception as cause:
            raise failure(
                "journal_unavailable",
                "The journal could not be read or written, so nothing more was signed or sent. "
                "Repair it, then try again.",
                {"step": step},
                cause=cause,
            )

    def _late(self) -> Exception:
        return TimeoutError(
            f"The journal did not answer within timeouts.journal, {self._timeout_ms:g} ms."
        )


def timed_journal(
    journal: Journal, shared: Coordination, timeout_ms: float, released: ReleasedClaims
) -> tuple[TimedJournal, TimedCoordination]:
    """Returns the journal and its coordination, with a deadline for each call.

    ``released``: see ``ClaimsWithReleases``. A claim that a write takes is removed from it first.
    """
    within, takes = _Within(timeout_ms), LateTakes()
    timed = TimedJournal(journal, Ledger(shared.ledger.store), within, takes, released)
    return timed, TimedCoordination(shared, within, takes)


class TimedJournal:
    """The journal, with a deadline for each call."""

    def __init__(
        self,
        journal: Journal,
        ledger: Ledger,
        within: _Within,
        takes: LateTakes,
        released: ReleasedClaims,
    ) -> None:
        self._journal = journal
        self._ledger = ledger
        self._within = within
        self._takes = takes
        self._released = released

    def reserve(
        self,
        attempt: Attempt,
        caps: Sequence[Cap],
        along: Along = ALONE,
        hold: Hold | None = None,
    ) -> Steps[Reserved]:
        yield from finish_releases(self._released, along.claim)

        def reserve() -> Steps[Reserved]:
            reserving = self._journal.reserve(attempt, caps, along, hold)
            return self._takes.during(attempt["id"], reserving, is_reservation=True)

        return (yield from self._within("reserve", reserve))

    def put(self, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
        yield from finish_releases(self._released, along.claim)
        id_ = attempt["id"]
        for account in along.free:
            self._takes.after(id_, lambda held=account: self._ledger.release(held, id_))  # type: ignore[misc]
        yield from self._within("put", lambda: self._journal.put(attempt, along))

    def raise_(self, attempt: Attempt, caps: Sequence[Cap]) -> Steps[CapBlock | None]:
        return self._within("raise", lambda: self._journal.raise_(attempt, caps))

    def release(self, id_: str, along: Along = ALONE) -> Steps[None]:
        def release() -> Steps[None]:
            return self._takes.ending(id_, lambda: self._journal.release(id_, along))

        return self._within("release", release)

    def similar(
        self, owner: Owner, fingerprint: str, idempotency_key: str | None
    ) -> Steps[list[Attempt]]:
        return self._within(
            "similar", lambda: self._journal.similar(owner, fingerprint, idempotency_key)
        )

    def attempts(
        self, owner: Owner, *, state: State | None = None, since: int | None = None
    ) -> Steps[list[Attempt]]:
        return self._within(
            "attempts", lambda: self._journal.attempts(owner, state=state, since=since)
        )

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> Steps[list[int]]:
        return self._within("used", lambda: self._journal.used(owner, caps, now))


class _TimedBalances:
    """The balance store, with a deadline for each call."""

    def __init__(self, store: BalanceStore, within: _Within) -> None:
        self._store = store
        self._within = within

    def read(self, account: str) -> Steps[AccountBalance]:
        return self._within("balance", lambda: self._store.read(account))

    def step(
        self, account: str, decide: Decide[T], *, of: str | None = None, is_on_record: bool = False
    ) -> Steps[T]:
        def step() -> Steps[T]:
            return self._store.step(account, decide, of=of, is_on_record=is_on_record)

        return self._within("hold", step)


class _TimedLedger(Ledger):
    """The ledger. A take or release has one deadline; a take that lands late is undone."""

    def __init__(self, store: BalanceStore, within: _Within, takes: LateTakes) -> None:
        super().__init__(_TimedBalances(store, within))
        self._untimed = Ledger(store)
        self._within = within
        self._takes = takes

    def take(self, account: str, id_: str, amount: int, fresh: Fresh) -> Steps[Taken | None]:
        def take() -> Steps[Taken | None]:
            return self._takes.during(id_, self._untimed.take(account, id_, amount, fresh))

        return self._within("hold", take)

    def hold(self, account: str, id_: str, amount: int) -> Steps[None]:
        def hold() -> Steps[None]:
            return self._takes.during(id_, self._untimed.hold(account, id_, amount))

        return self._within("hold", hold)

    def release(self, account: str, id_: str) -> Steps[None]:
        def release() -> Steps[None]:
            return self._takes.ending(id_, lambda: self._untimed.release(account, id_))

        return self._within("hold", release)


class _TimedClaims:
    """Claims, with a deadline for each call, in the order of the calls."""

    def __init__(self, claims: Claims, within: _Within, takes: LateTakes) -> None:
        self._claims = claims
        self._within = within
        self._takes = takes
        self._under_way: dict[Task[None], Sequence[str]] = {}

    def take(self, ids: Sequence[str]) -> Steps[None]:
        return self._within("claim", lambda: self._in_order(ids, self._claims.take))

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        return self._within("claim", lambda: self._in_order(ids, self._drop))

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        return self._within("claim", lambda: self._claims.live(ids))

    def _drop(self, ids: Sequence[str]) -> Steps[None]:
        # A write that is under way may take the claim too, so drop it again after that write.
        for id_ in ids:
            self._takes.after(id_, lambda name=id_: self._claims.drop([name]))  # type: ignore[misc]
        yield from self._claims.drop(ids)

    def _in_order(
        self, ids: Sequence[str], work: Callable[[Sequence[str]], Steps[None]]
    ) -> Steps[None]:
        """Runs takes and drops of the same claims one after the other, in the order of the calls.

        It does so even if a call takes long or its caller gives up. A late take must not outlive a
        later drop, and an earlier drop must not end it.
        """
        before = [
            task
            for task, names in list(self._under_way.items())
            if not task.host.is_gone and not set(ids).isdisjoint(names)
        ]

        def then() -> Steps[None]:
            for task in before:
                yield from settled(task)
            yield from work(ids)

        task = yield from start(then())
        note_until_settled(self._under_way, task, ids)
        done = yield from settled(task)
        if isinstance(done, Exception):
            raise done


class TimedCoordination:
    """The coordination of processes, with deadlines. The caller bounds its wait for a lock."""

    def __init__(self, shared: Coordination, within: _Within, takes: LateTakes) -> None:
        self._shared = shared
        self._within = within
        self.ledger: Ledger = _TimedLedger(shared.ledger.store, within, takes)
        self.claims: Claims = _TimedClaims(shared.claims, within, takes)
        self.locks = shared.locks

    def next(self, name: str) -> Steps[int]:
        return self._within("next", lambda: self._shared.next(name))
