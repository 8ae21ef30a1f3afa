"""Holds and reservations that a slow journal writes after their attempt was given up.

They must keep neither tokens nor budget.
"""

from __future__ import annotations

import threading
from typing import Any, Sequence

import pytest

from exact_change._journal import released_claims
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
    """Blocks a write until the test lets it land."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened = threading.Event()

    def wait(self) -> Steps[None]:
        """Waits until the gate opens."""

        def wait() -> None:
            self._reached.set()
            self._opened.wait(60)

        yield from call(wait)

    def start(self, steps: Steps[Any]) -> Task[Any]:
        """Starts steps and returns when they wait at the gate."""
        task = begin(threads, steps)
        assert self._reached.wait(60)
        return task

    def land(self, task: Task[Any]) -> None:
        """Opens the gate and waits until the task has ended."""
        self._opened.set()
        until("it lands", lambda: task.is_settled)


class SlowBalances(MemoryBalances):
    """Balances with slow holds."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate = gate

    def step(
        self,
        account: str,
        decide: Decide[Any],
        *,
        of: str | None = None,
        is_on_record: bool = False,
    ) -> Steps[Any]:
        change, _ = decide(AccountBalance())
        if change is not None and "release" not in change and "see" not in change:
            yield from self._gate.wait()
        return (yield from super().step(account, decide))


class SlowJournal(AlongMemory):
    """A journal with slow reservations."""

    gate: Gate
    fails = False

    def release(self, id_: str, along: Along = ALONE) -> Steps[None]:
        if self.fails:
            self.fails = False
            raise ConnectionError("cut")
        return super().release(id_, along)

    def reserve(
        self, attempt: Attempt, caps: Sequence[Cap], along: Along = ALONE, hold: Hold | None = None
    ) -> Steps[Reserved]:
        yield from self.gate.wait()
        return (yield from super().reserve(attempt, caps, along, hold))


class Slow:
    """A slow journal and slow balances behind the time limits of a client."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.inner = MemoryCoordination({})
        self.inner.ledger.store = SlowBalances(self.gate)
        self.slow_journal = SlowJournal(MemoryJournal(), self.inner)
        self.slow_journal.gate = self.gate
        untimed: Any = self.slow_journal
        self.journal, self.shared = timed_journal(untimed, self.inner, 60_000, {})


@pytest.mark.parametrize("way", ["journal.release", "journal.put", "ledger.release"])
def test_frees_the_tokens_of_a_hold_that_lands_after_its_attempt_ended(way: str) -> None:
    slow, reserved = Slow(), attempt("one")
    threads.run(slow.inner.ledger.see(ACCOUNT, 5, 1))
    threads.run(AlongMemory.reserve(slow.slow_journal, reserved, []))
    task = slow.gate.start(slow.shared.ledger.hold(ACCOUNT, "one", 5))
    if way == "journal.release":
        threads.run(slow.shared.ledger.release(ACCOUNT, "one"))
        threads.run(slow.journal.release("one", Along(free=[ACCOUNT])))
    elif way == "journal.put":
        abandoned = attempt("one", state="abandoned")
        threads.run(slow.journal.put(abandoned, Along(free=[ACCOUNT])))
    else:
        threads.run(slow.shared.ledger.release(ACCOUNT, "one"))
    slow.gate.land(task)
    until("nothing is held", lambda: threads.run(slow.inner.ledger.held(ACCOUNT)) == 0)


def test_removes_record_and_claim_of_a_reservation_that_lands_after_its_release() -> None:
    slow, reserved = Slow(), attempt("one")
    task = slow.gate.start(slow.journal.reserve(reserved, [], Along(claim=["one"])))
    threads.run(slow.journal.release("one", Along(drop=["one"])))
    slow.gate.land(task)
    journal: Any = slow.slow_journal
    until("it is off record", lambda: threads.run(journal.attempts(OWNER)) == [])
    assert threads.run(slow.inner.claims.live(["one"])) == set()


def test_removes_a_late_reservation_though_the_journal_fails_once_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(released_claims, "_FIRST_WAIT_MS", 1)
    slow, reserved = Slow(), attempt("one")
    task = slow.gate.start(slow.journal.reserve(reserved, [], Along(claim=["one"])))
    threads.run(slow.journal.release("one", Along(drop=["one"])))
    slow.slow_journal.fails = True
    slow.gate.land(task)
    journal: Any = slow.slow_journal
    until("it is off record", lambda: threads.run(journal.attempts(OWNER)) == [])
    assert threads.run(slow.inner.claims.live(["one"])) == set()


def test_drops_the_claim_of_a_reservation_that_lands_after_only_its_claim_was_dropped() -> None:
    slow, reserved = Slow(), attempt("one")
    task = slow.gate.start(slow.journal.reserve(reserved, [], Along(claim=["one"])))
    threads.run(slow.shared.claims.drop(["one"]))
    slow.gate.land(task)
    until("it is let go", lambda: not threads.run(slow.inner.claims.live(["one"])))
