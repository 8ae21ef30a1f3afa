"""The promises of every journal: in memory, in a file and in Postgres."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from exact_change import ExactChangeError
from exact_change._journal.states import STATES, may_follow
from exact_change._journal.types import (
    Along,
    CapBlock,
    KeyTaken,
)
from exact_change._kernel.hosts import loop_host

from ..contract.test_journal import cap_of, shown
from ..holder import OWNER, attempt
from ..opened import NOW, Open, day_cap, every, run
from ..spec import vectors

# The states that lead an attempt to each state.
WAYS: dict[str, list[Any]] = {
    "reserved": [],
    "abandoned": ["abandoned"],
    "unpaid": ["unpaid"],
    "signed": ["signed"],
    "settled": ["signed", "settled"],
    "unsettled": ["signed", "unsettled"],
}


@every
def test_reserves_as_many_parallel_payments_as_fit_into_a_cap(kind: str, open_: Open) -> None:
    opened, cap = open_(kind), day_cap(255_000)

    def reserve(index: int) -> Any:
        return run(opened.journal.reserve(attempt(f"a{index}"), [cap]))

    with ThreadPoolExecutor(60) as pool:
        ends = list(pool.map(reserve, range(60)))
    assert sum(end is None for end in ends) == 25
    assert set(filter(None, ends)) == {CapBlock(cap, 250_000)}
    assert run(opened.journal.used(OWNER, [cap], NOW)) == [250_000]
    assert len(opened.all()) == 25


@every
def test_shares_a_cap_between_an_event_loop_and_threads(kind: str, open_: Open) -> None:
    opened, cap = open_(kind), day_cap(95_000)

    async def crowd() -> list[Any]:
        host = loop_host()
        reservations = (
            host.run(opened.journal.reserve(attempt(f"l{at}"), [cap])) for at in range(10)
        )
        return list(await asyncio.gather(*reservations))

    with ThreadPoolExecutor(3) as pool:
        on_loop = pool.submit(lambda: asyncio.run(crowd(), debug=True))
        in_threads = pool.submit(
            lambda: [run(opened.journal.reserve(attempt(f"t{at}"), [cap])) for at in range(10)]
        )
        ends = [*on_loop.result(60), *in_threads.result(60)]
    assert sum(end is None for end in ends) == 9


@every
def test_reserves_one_purchase_for_a_key(kind: str, open_: Open) -> None:
    opened = open_(kind)
    key = {"idempotencyKey": "k \0 é 汉"}
    first = attempt("first", **key)
    assert run(opened.journal.reserve(first, [])) is None
    taken = run(opened.journal.reserve(attempt("second", **key), [], Along(["second"])))
    assert taken == KeyTaken(first)
    # A refused reservation takes no claim.
    assert run(opened.coordination.claims.live(["second"])) == set()
    third = attempt("third", **key, resigns="first")
    assert run(opened.journal.reserve(third, [])) is None
    again = run(opened.journal.reserve(attempt("fourth", **key, resigns="first"), []))
    assert again == KeyTaken(third)
    with pytest.raises((TypeError, ExactChangeError)):
        run(opened.journal.reserve(attempt("first"), []))
    found = run(opened.journal.similar(OWNER, "", first["idempotencyKey"]))
    assert [match["id"] for match in found] == ["first", "third"]


@every
def test_allows_only_the_state_changes_of_the_table(kind: str, open_: Open) -> None:
    opened = open_(kind)
    for before in STATES:
        for after in STATES:
            id_ = f"{before} {after}"
            run(opened.journal.reserve(attempt(id_), []))
            for state in WAYS[before]:
                run(opened.journal.put(attempt(id_, state=state)))
            following = attempt(id_, state=after, toldAt=7)
            if may_follow(before, after):
                run(opened.journal.put(following))
            elif STATES[before]["decided"]:
                run(opened.journal.put(following))
                after = before
            else:
                with pytest.raises(RuntimeError):
                    run(opened.journal.put(following))
                after = before
            assert opened.all()[-1] == (id_, after)
    with pytest.raises(RuntimeError):
        run(opened.journal.put(attempt("never made", state="signed")))


@every
def test_lists_attempts_by_the_time_at_which_they_were_made(kind: str, open_: Open) -> None:
    journal = open_(kind).journal
    for made in (attempt("a", leftAt=NOW + 1, at=NOW - 1), attempt("b", at=NOW)):
        run(journal.reserve(made, []))
    assert [found["id"] for found in run(journal.attempts(OWNER, since=NOW))] == ["b"]


@every
def test_keeps_an_ended_attempt_while_its_swap_may_land(kind: str, open_: Open) -> None:
    opened = open_(kind)
    amounts = dict.fromkeys(("inAmount", "outAmount", "feeLamports"), "1")
    swap = {"signature": "s", "quoted": amounts}
    run(opened.journal.reserve(attempt("a"), []))
    run(opened.journal.put(attempt("a", swap=swap)))
    for state in ("abandoned", "unpaid"):
        with pytest.raises(RuntimeError):
            run(opened.journal.put(attempt("a", state=state)))
    run(opened.journal.release("a"))
    run(opened.journal.put(attempt("a", state="abandoned", swap=swap)))
    run(opened.journal.release("a"))
    assert opened.all() == [("a", "abandoned")]
    failed = {**swap, "outcome": {"state": "failed", "code": "swap_expired"}}
    run(opened.journal.put(attempt("a", state="abandoned", swap=failed)))
    run(opened.journal.release("a"))
    assert opened.all() == []


@every
def test_answers_as_the_attempt_store_of_typescript_does(kind: str, open_: Open) -> None:
    """Postgres sums windows exactly; other journals count an expense up to a second longer."""
    for row in vectors("stores")[:8]:
        opened = open_(kind)
        for call in row["calls"]:
            caps = [cap_of(cap) for cap in call.get("caps", ())]
            name = call["call"]
            out: Any
            if name == "reserve":
                made = run(opened.journal.reserve(call["attempt"], caps))
                taken = {"taken": made.taken["id"]} if isinstance(made, KeyTaken) else None
                out = taken if taken else shown(made if isinstance(made, CapBlock) else None)
                assert out == call["out"], call
            elif name in ("put", "raise"):
                put = opened.journal.raise_(call["attempt"], caps)
                if "refused" in call:
                    with pytest.raises(RuntimeError):
                        run(put)
                else:
                    full = run(put)
                    assert (full is not None) == ("cap" in call["out"]), call
            elif name == "release":
                run(opened.journal.release(call["id"]))
            elif name == "used":
                used = run(opened.journal.used(OWNER._replace(**call["owner"]), caps, call["now"]))
                assert [str(amount) for amount in used] == call["out"], call
            else:
                owner = OWNER._replace(**call["owner"])
                found = run(opened.journal.similar(owner, call["fingerprint"], call.get("key")))
                assert [match["id"] for match in found] == call["out"], call
