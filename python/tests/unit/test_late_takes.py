"""What lands in a slow journal after its attempt was given up holds no tokens, and no budget."""

from __future__ import annotations

import threading
from typing import Any, Sequence

import pytest

from exact_change._journal.along import AlongMemory
from exact_change._journal.balances import AccountBalance
from exact_change._journal.coordination import MemoryCoordination
from exact_change._journal.ledger import Decide, MemoryBalances
from exact_change._journal.memory import MemoryJournal
from exact_change._journal.types import ALONE, Along, Attempt, Hold, Reserved
from exact_change._kernel.hosts import threads
from exact_change._kernel.steps import call
from exact_change._kernel.task import Steps, Task, begin
from exact_change._payments.journal_timeouts import timed_journal
from exact_change._policy.caps import Cap

from ..holder import OWNER, attempt
from ..payer import until

ACCOUNT = "account"


class Gate:
    """What waits here lands when it is let."""

    def __init__(self) -> None:
        self._comes = threading.Event()
        self._opens = threading.Event()

    def wait(self) -> Steps[None]:
        """Waits."""

        def wait() -> None:
            self._comes.set()
            self._opens.wait(20)

        yield from call(wait)

    def taking(self, steps: Steps[Any]) -> Task[Any]:
        """Starts steps that come to wait here."""
        task = begin(threads, steps)
        assert self._comes.wait(20)
        return task

    def land(self, taking: Task[Any]) -> None:
        """Lets all of it land."""
        self._opens.set()
        until("it lands", lambda: taking.is_settled)


class SlowBalances(MemoryBalances):
    """Holds are slow."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate = gate

    def step(self, account: str, decide: Decide[Any]) -> Steps[Any]:
        change, _ = decide(AccountBalance())
        if change is not None and "release" not in change and "see" not in change:
            yield from self._gate.wait()
        return (yield from super().step(account, decide))


class SlowJournal(AlongMemory):
    """So are reservations."""

    gate: Gate

    def reserve(
        self, attempt: Attempt, caps: Sequence[Cap], along: Along = ALONE, hold: Hold | None = None
    ) -> Steps[Reserved]:
        yield from self.gate.wait()
        return (yield from super().reserve(attempt, caps, along, hold))


class Slow:
    """A journal of both, as a client has it."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.inner = MemoryCoordination({})
        self.inner.ledger.store = SlowBalances(self.gate)
        self.given = SlowJournal(MemoryJournal(), self.inner)
        self.given.gate = self.gate
        given: Any = self.given
        self.journal, self.shared = timed_journal(given, self.inner, 60_000, {})


@pytest.mark.parametrize("way", ["journal.release", "journal.put", "ledger.release"])
def test_a_hold_that_lands_late_holds_no_tokens(way: str) -> None:
    slow, one = Slow(), attempt("one")
    threads.run(slow.inner.ledger.see(ACCOUNT, 5, 1))
    threads.run(AlongMemory.reserve(slow.given, one, []))
    taking = slow.gate.taking(slow.shared.ledger.hold(ACCOUNT, "one", 5))
    if way == "journal.release":
        threads.run(slow.shared.ledger.release(ACCOUNT, "one"))
        threads.run(slow.journal.release("one", Along(free=[ACCOUNT])))
    elif way == "journal.put":
        over = attempt("one", state="abandoned")
        threads.run(slow.journal.put(over, Along(free=[ACCOUNT])))
    else:
        threads.run(slow.shared.ledger.release(ACCOUNT, "one"))
    slow.gate.land(taking)
    until("nothing is held", lambda: threads.run(slow.inner.ledger.held(ACCOUNT)) == 0, 3)


def test_a_reservation_that_lands_late_is_neither_on_record_nor_claimed() -> None:
    slow, one = Slow(), attempt("one")
    taking = slow.gate.taking(slow.journal.reserve(one, [], Along(claim=["one"])))
    threads.run(slow.journal.release("one", Along(drop=["one"])))
    slow.gate.land(taking)
    journal: Any = slow.given
    until("it is off record", lambda: threads.run(journal.attempts(OWNER)) == [], 3)
    assert threads.run(slow.inner.claims.live(["one"])) == set()


def test_one_that_may_stay_on_record_does_not_stay_claimed() -> None:
    slow, one = Slow(), attempt("one")
    taking = slow.gate.taking(slow.journal.reserve(one, [], Along(claim=["one"])))
    threads.run(slow.shared.claims.drop(["one"]))
    slow.gate.land(taking)
    until("it is let go", lambda: not threads.run(slow.inner.claims.live(["one"])), 3)
