"""What processes that share a journal promise each other by it: balances, claims and locks."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
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

from ..holder import FRESH, OWNER, attempt, start
from ..opened import NOW, Open, day_cap, durable, every, run
from ..payer import failure_of, until


@every
def test_a_balance_is_promised_once(kind: str, open_: Open) -> None:
    one = open_(kind)
    ledger = one.coordination.ledger
    run(ledger.see("account", 95_000, NOW, 5))

    def take(index: int) -> Any:
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


@every
def test_what_goes_along_with_a_write_happens_in_one_step(kind: str, open_: Open) -> None:
    one = open_(kind)
    ledger, claims = one.coordination.ledger, one.coordination.claims
    run(ledger.see("account", 25_000, NOW, 5))
    hold = Hold("account", FRESH, "mint m")
    for id_, left in (("a", 15_000), ("b", 5_000)):
        taken = run(one.journal.reserve(attempt(id_), [], Along([id_]), hold))
        assert taken == Taken(Reading(25_000, 5))
        assert run(ledger.available("account", FRESH)) == left
    # There is too little; it is reserved all the same.
    assert run(one.journal.reserve(attempt("c"), [], Along(["c"]), hold)) is None
    assert run(claims.live(["a", "b", "c", "d"])) == {"a", "b", "c"}
    run(one.journal.put(attempt("a", state="signed"), Along(["body of a"])))
    run(one.journal.put(attempt("a", state="settled"), Along(spend=("account", 6))))
    run(one.journal.release("b", Along(drop=["b"], free=["account", "other"])))
    assert run(ledger.available("account", FRESH)) == 15_000
    run(one.journal.put(attempt("a", state="settled"), Along(drop=["a", "body of a"])))
    assert run(claims.live(["a", "body of a", "b", "c"])) == {"c"}

    def locked() -> Steps[Any]:
        return (yield from one.journal.reserve(attempt("d"), [], Along(["d"]), hold))

    # Under the lock of its mint nothing is taken, also by this process.
    assert run(one.coordination.locks.hold(["mint m"], locked)) is None
    assert run(one.journal.reserve(attempt("e"), [], Along(), hold)) == Taken(Reading(25_000, 5))


@durable
def test_a_lock_is_held_by_one_at_a_time(kind: str, open_: Open) -> None:
    """Through two journals, by threads and in whatever order they name locks."""
    one = open_(kind)
    both = [one.coordination, one.again()[1]]
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
def test_a_call_that_waits_for_a_lock_may_give_up(kind: str, open_: Open) -> None:
    one = open_(kind)
    other, release, has = one.again()[1], threading.Event(), threading.Event()

    def wait() -> Steps[None]:
        has.set()
        while not release.is_set():
            yield from sleep(5)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(lambda: run(one.coordination.locks.hold(["a"], wait)))
        has.wait(20)
        gave_up = Signal()
        threads.enter(lambda: gave_up.abort(RuntimeError("given up")))
        with pytest.raises(RuntimeError, match="given up"):
            run(other.locks.hold(["a"], wait, [gave_up]))
        release.set()
        holding.result(20)
    run(other.locks.hold(["a"], wait))


@durable
def test_a_number_is_counted_once(kind: str, open_: Open) -> None:
    one = open_(kind)
    both = [one.coordination, one.again()[1]]
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda at: run(both[at % 2].next("hash")), range(40)))
    assert sorted(numbers) == list(range(1, 41))


@durable
def test_what_a_killed_process_held_is_free(kind: str, open_: Open) -> None:
    """While it lives, all of it is its own; its reservation counts until it is released."""
    one = open_(kind)
    assert one.place is not None
    run(one.coordination.ledger.see("account", 15_000, NOW, 5))
    other = start(one.place)
    try:
        claims, locks = one.coordination.claims, one.coordination.locks
        assert run(claims.live(["theirs"])) == {"theirs"}
        hold = Hold("account", FRESH, "mint m")
        assert run(one.journal.reserve(attempt("ours"), [], Along(), hold)) is None
        gives_up = Signal()

        def nothing() -> Steps[bool]:
            return True
            yield

        waiting = ThreadPoolExecutor(1).submit(
            lambda: run(locks.hold(["mint m"], nothing, [gives_up]))
        )
        other.kill()
        other.communicate()
        assert waiting.result(20)
    finally:
        other.kill()
        other.communicate()
    until("its claim ends", lambda: run(claims.live(["theirs"])) == set())
    assert run(one.journal.used(OWNER, [day_cap(1)], NOW)) == [20_000]
    run(one.journal.release("theirs", Along(free=["account"])))
    assert run(one.journal.used(OWNER, [day_cap(1)], NOW)) == [10_000]
    assert run(one.coordination.ledger.available("account", FRESH)) == 15_000


@durable
def test_a_closed_journal_frees_what_it_held_and_takes_no_call(kind: str, open_: Open) -> None:
    one = open_(kind)
    run(one.journal.reserve(attempt("a"), [], Along(["a"])))
    one.durable[0].close()
    again, shared = one.again()
    assert run(shared.claims.live(["a"])) == set()
    assert [each["id"] for each in run(again.attempts(OWNER))] == ["a"]
    failure_of(lambda: run(one.journal.attempts(OWNER)), "journal_unavailable")


@durable
def test_a_forked_child_is_a_process_of_its_own(kind: str, open_: Open) -> None:
    """It shares caps, and neither claims nor locks; and its parent's end is its parent's alone."""
    one = open_(kind)
    cap = day_cap(25_000)
    run(one.journal.reserve(attempt("a"), [cap], Along(["a"])))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            seen = sorted(run(one.durable[0].shared.coordination(OWNER).claims.live(["a"])))
            ends = [run(one.journal.reserve(attempt(f"c{at}"), [cap])) for at in range(2)]
            said = json.dumps([seen, [end is None for end in ends]])
        except BaseException as error:
            said = json.dumps(repr(error))
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        assert json.loads(answer.read()) == [["a"], [True, False]]
    os.waitpid(child, 0)
    assert run(one.coordination.claims.live(["a"])) == {"a"}
    assert run(one.journal.used(OWNER, [cap], NOW)) == [20_000]
