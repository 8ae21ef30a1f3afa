"""Balances, claims and locks of processes that share a journal."""

from __future__ import annotations

import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from exact_change._journal.balances import Reading, Taken
from exact_change._journal.types import (
    Along,
    Hold,
)
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import sleep
from exact_change._kernel.task import Steps

from ..buyer import journal_of
from ..filler import fill, small_journal
from ..holder import FRESH, OWNER, attempt, start
from ..opened import NOW, Open, day_cap, durable, every, run
from ..payer import failure_of, until


@every
def test_holds_each_part_of_a_balance_for_one_attempt_only(kind: str, open_: Open) -> None:
    opened = open_(kind)
    ledger = opened.coordination.ledger
    run(ledger.see("account", 95_000, NOW, 5))

    def take(index: int) -> Any:
        run(opened.journal.reserve(attempt(f"a{index}"), []))
        return run(ledger.take("account", f"a{index}", 10_000, FRESH))

    with ThreadPoolExecutor(20) as pool:
        ends = list(pool.map(take, range(20)))
    assert sum(end == Taken(Reading(95_000, 5)) for end in ends) == 9
    assert run(ledger.held("account")) == 90_000
    taken = [f"a{at}" for at, end in enumerate(ends) if end is not None]
    run(ledger.spend("account", taken[0], 6))
    run(ledger.release("account", taken[1]))
    run(ledger.hold("account", taken[0], 10_000))
    assert run(ledger.held("account")) == 70_000
    assert run(ledger.available("account", FRESH)) == 15_000
    run(ledger.see("account", 50_000, NOW + 1, 7, -20_000))
    run(ledger.forget("account"))
    assert run(ledger.available("account", FRESH)) is None


@durable
def test_keeps_the_newer_balance_when_a_process_reads_an_earlier_slot_late(
    kind: str, open_: Open
) -> None:
    opened = open_(kind)
    mine, theirs = opened.coordination.ledger, opened.again()[1].ledger
    run(mine.see("account", 100, NOW, 7))
    for at, expected in ((NOW + 30_000, 100), (NOW + 30_001, 40)):
        run(theirs.see("account", 40, at, 6))
        assert run(mine.available("account", FRESH)) == expected


@every
def test_applies_claims_holds_and_releases_in_one_step_with_a_write(kind: str, open_: Open) -> None:
    opened = open_(kind)
    ledger, claims = opened.coordination.ledger, opened.coordination.claims
    run(ledger.see("account", 25_000, NOW, 5))
    hold = Hold("account", FRESH, "mint m")
    for id_, left in (("a", 15_000), ("b", 5_000)):
        taken = run(opened.journal.reserve(attempt(id_), [], Along([id_]), hold))
        assert taken == Taken(Reading(25_000, 5))
        assert run(ledger.available("account", FRESH)) == left
    # The balance is too small for a hold, but the attempt is reserved.
    assert run(opened.journal.reserve(attempt("c"), [], Along(["c"]), hold)) is None
    assert run(claims.live(["a", "b", "c", "d"])) == {"a", "b", "c"}
    run(opened.journal.put(attempt("a", state="signed"), Along(["body of a"])))
    run(opened.journal.put(attempt("a", state="settled"), Along(spend=("account", 6))))
    run(opened.journal.release("b", Along(drop=["b"], free=["account", "other"])))
    assert run(ledger.available("account", FRESH)) == 15_000
    run(opened.journal.put(attempt("a", state="settled"), Along(drop=["a", "body of a"])))
    assert run(claims.live(["a", "body of a", "b", "c"])) == {"c"}

    def locked() -> Steps[Any]:
        return (yield from opened.journal.reserve(attempt("d"), [], Along(["d"]), hold))

    # While the lock of the mint is held, no hold is taken, not even by this process.
    assert run(opened.coordination.locks.hold(["mint m"], locked)) is None
    assert run(opened.journal.reserve(attempt("e"), [], Along(), hold)) == Taken(Reading(25_000, 5))


@durable
def test_holds_nothing_for_an_attempt_that_has_ended(kind: str, open_: Open) -> None:
    opened = open_(kind)
    ledger = opened.coordination.ledger
    run(opened.journal.reserve(attempt("a"), []))
    run(opened.journal.put(attempt("a", state="signed")))
    run(ledger.hold("account", "a", 10_000))
    assert run(ledger.held("account")) == 10_000
    run(opened.journal.put(attempt("a", state="unsettled"), Along(free=["account"])))
    run(ledger.hold("account", "a", 10_000))
    run(ledger.see("account", 10_000, 1_800_000_000_000))
    # Without a cost, an attempt that ends is no longer on record.
    run(opened.journal.reserve(attempt("b"), []))
    run(opened.journal.release("b", Along(free=["account"])))
    for id_ in ("a", "b"):
        assert run(ledger.take("account", id_, 10_000, FRESH)) is None
    assert run(ledger.held("account")) == 0


@durable
def test_keeps_the_tokens_of_an_attempt_that_was_signed_before_its_release(
    kind: str, open_: Open
) -> None:
    opened = open_(kind)
    ledger = opened.coordination.ledger
    run(opened.journal.reserve(attempt("a"), []))
    run(ledger.hold("account", "a", 10_000))
    run(opened.journal.put(attempt("a", state="signed")))
    run(opened.journal.release("a", Along(free=["account"])))
    assert run(ledger.held("account")) == 10_000
    run(opened.journal.put(attempt("a", state="unsettled"), Along(free=["account"])))
    assert run(ledger.held("account")) == 0


def test_holds_nothing_for_an_attempt_that_has_moved_to_the_history(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = small_journal(str(path))
    fill(journal, "a", 40)
    assert (tmp_path / "journal.history").exists()
    ledger = journal.coordination(OWNER).ledger
    run(ledger.hold("account", "a0", 10_000))
    assert run(ledger.held("account")) == 0
    run(journal.close())


@durable
def test_gives_a_lock_to_one_holder_at_a_time(kind: str, open_: Open) -> None:
    """Threads use two journals and name the locks in different orders."""
    opened = open_(kind)
    both = [opened.coordination, opened.again()[1]]
    inside: list[int] = []

    def buy(index: int) -> None:
        def work() -> Steps[None]:
            inside.append(index)
            yield from sleep(3)
            assert inside == [index]
            inside.clear()

        names = ["mint m", "lamports"][:: 1 if index % 2 else -1]
        run(both[index % 2].locks.hold(names, work))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(buy, range(16)))


@durable
def test_lets_a_call_give_up_while_it_waits_for_a_lock(kind: str, open_: Open) -> None:
    opened = open_(kind)
    other, release, is_held = opened.again()[1], threading.Event(), threading.Event()

    def wait() -> Steps[None]:
        is_held.set()
        while not release.is_set():
            yield from sleep(5)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(lambda: run(opened.coordination.locks.hold(["a"], wait)))
        is_held.wait(60)
        gave_up = Signal()
        threads.enter(lambda: gave_up.abort(RuntimeError("given up")))
        with pytest.raises(RuntimeError, match="given up"):
            run(other.locks.hold(["a"], wait, [gave_up]))
        release.set()
        holding.result(60)
    run(other.locks.hold(["a"], wait))


@durable
def test_returns_each_number_of_a_counter_once(kind: str, open_: Open) -> None:
    opened = open_(kind)
    both = [opened.coordination, opened.again()[1]]
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda at: run(both[at % 2].next("hash")), range(40)))
    assert sorted(numbers) == list(range(1, 41))


@durable
def test_frees_the_claims_and_locks_of_a_killed_process(kind: str, open_: Open) -> None:
    """A live process keeps claims and locks; its reservation counts until a release."""
    opened = open_(kind)
    assert opened.place is not None
    run(opened.coordination.ledger.see("account", 15_000, NOW, 5))
    other = start(opened.place)
    try:
        claims, locks = opened.coordination.claims, opened.coordination.locks
        assert run(claims.live(["theirs"])) == {"theirs"}
        hold = Hold("account", FRESH, "mint m")
        assert run(opened.journal.reserve(attempt("ours"), [], Along(), hold)) is None
        gives_up = Signal()

        def nothing() -> Steps[bool]:
            return True
            yield

        waiting = ThreadPoolExecutor(1).submit(
            lambda: run(locks.hold(["mint m"], nothing, [gives_up]))
        )
        other.kill()
        other.communicate()
        assert waiting.result(60)
    finally:
        other.kill()
        other.communicate()
    until("the claim ends", lambda: run(claims.live(["theirs"])) == set())
    assert run(opened.journal.used(OWNER, [day_cap(1)], NOW)) == [20_000]
    run(opened.journal.release("theirs", Along(free=["account"])))
    assert run(opened.journal.used(OWNER, [day_cap(1)], NOW)) == [10_000]
    assert run(opened.coordination.ledger.available("account", FRESH)) == 15_000


def test_keeps_the_claims_of_a_stopped_process(tmp_path: Path) -> None:
    place = {"path": str(tmp_path / "journal")}
    other = start(place)
    try:
        os.kill(other.pid, signal.SIGSTOP)
        with journal_of(place) as journal:
            claims = journal.shared.coordination(OWNER).claims
            assert threads.run(claims.live(["theirs"])) == {"theirs"}
    finally:
        other.kill()
        other.communicate()


@durable
def test_frees_claims_and_refuses_calls_after_a_journal_closed(kind: str, open_: Open) -> None:
    opened = open_(kind)
    run(opened.journal.reserve(attempt("a"), [], Along(["a"])))
    opened.durable[0].close()
    again, shared = opened.again()
    assert run(shared.claims.live(["a"])) == set()
    assert [listed["id"] for listed in run(again.attempts(OWNER))] == ["a"]
    failure_of(lambda: run(opened.journal.attempts(OWNER)), "journal_unavailable")


@durable
def test_shares_caps_but_no_claims_with_a_forked_child(kind: str, open_: Open) -> None:
    """The end of the child ends no claim of its parent."""
    opened = open_(kind)
    cap = day_cap(25_000)
    run(opened.journal.reserve(attempt("a"), [cap], Along(["a"])))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            seen = sorted(run(opened.durable[0].shared.coordination(OWNER).claims.live(["a"])))
            ends = [run(opened.journal.reserve(attempt(f"c{at}"), [cap])) for at in range(2)]
            report = json.dumps([seen, [end is None for end in ends]])
        except BaseException as error:
            report = json.dumps(repr(error))
        os.write(write, report.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        assert json.loads(answer.read()) == [["a"], [True, False]]
    os.waitpid(child, 0)
    assert run(opened.coordination.claims.live(["a"])) == {"a"}
    assert run(opened.journal.used(OWNER, [cap], NOW)) == [20_000]
