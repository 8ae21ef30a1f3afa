"""What every journal promises, whatever keeps it."""

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

# How an attempt gets into each state.
WAYS: dict[str, list[Any]] = {
    "reserved": [],
    "abandoned": ["abandoned"],
    "unpaid": ["unpaid"],
    "signed": ["signed"],
    "settled": ["signed", "settled"],
    "unsettled": ["signed", "unsettled"],
}


@every
def test_of_many_payments_at_once_as_many_pass_as_fit(kind: str, open_: Open) -> None:
    one, cap = open_(kind), day_cap(255_000)

    def reserve(index: int) -> Any:
        return run(one.journal.reserve(attempt(f"a{index}"), [cap]))

    with ThreadPoolExecutor(60) as pool:
        ends = list(pool.map(reserve, range(60)))
    assert sum(end is None for end in ends) == 25
    assert set(filter(None, ends)) == {CapBlock(cap, 250_000)}
    assert run(one.journal.used(OWNER, [cap], NOW)) == [250_000]
    assert len(one.all()) == 25


@every
def test_an_event_loop_and_threads_share_it(kind: str, open_: Open) -> None:
    one, cap = open_(kind), day_cap(95_000)

    async def crowd() -> list[Any]:
        host = loop_host()
        many = (host.run(one.journal.reserve(attempt(f"l{at}"), [cap])) for at in range(10))
        return list(await asyncio.gather(*many))

    with ThreadPoolExecutor(3) as pool:
        loops = pool.submit(lambda: asyncio.run(crowd(), debug=True))
        rest = pool.submit(
            lambda: [run(one.journal.reserve(attempt(f"t{at}"), [cap])) for at in range(10)]
        )
        ends = [*loops.result(60), *rest.result(60)]
    assert sum(end is None for end in ends) == 9


@every
def test_a_key_is_one_purchase(kind: str, open_: Open) -> None:
    one = open_(kind)
    key = {"idempotencyKey": "k \0 é 汉"}
    first = attempt("first", **key)
    assert run(one.journal.reserve(first, [])) is None
    taken = run(one.journal.reserve(attempt("second", **key), [], Along(["second"])))
    assert taken == KeyTaken(first)
    # What was not written is not claimed.
    assert run(one.coordination.claims.live(["second"])) == set()
    third = attempt("third", **key, resigns="first")
    assert run(one.journal.reserve(third, [])) is None
    again = run(one.journal.reserve(attempt("fourth", **key, resigns="first"), []))
    assert again == KeyTaken(third)
    with pytest.raises((TypeError, ExactChangeError)):
        run(one.journal.reserve(attempt("first"), []))
    found = run(one.journal.similar(OWNER, "", first["idempotencyKey"]))
    assert [each["id"] for each in found] == ["first", "third"]


@every
def test_each_state_follows_as_the_table_says(kind: str, open_: Open) -> None:
    one = open_(kind)
    for before in STATES:
        for after in STATES:
            id_ = f"{before} {after}"
            run(one.journal.reserve(attempt(id_), []))
            for state in WAYS[before]:
                run(one.journal.put(attempt(id_, state=state)))
            following = attempt(id_, state=after, toldAt=7)
            if may_follow(before, after):
                run(one.journal.put(following))
            elif STATES[before]["decided"]:
                run(one.journal.put(following))
                after = before
            else:
                with pytest.raises(RuntimeError):
                    run(one.journal.put(following))
                after = before
            assert one.all()[-1] == (id_, after)
    with pytest.raises(RuntimeError):
        run(one.journal.put(attempt("never made", state="signed")))


@every
def test_an_end_does_not_drop_a_swap_that_may_land(kind: str, open_: Open) -> None:
    one = open_(kind)
    amounts = dict.fromkeys(("inAmount", "outAmount", "feeLamports"), "1")
    swap = {"signature": "s", "quoted": amounts}
    run(one.journal.reserve(attempt("a"), []))
    run(one.journal.put(attempt("a", swap=swap)))
    for state in ("abandoned", "unpaid"):
        with pytest.raises(RuntimeError):
            run(one.journal.put(attempt("a", state=state)))
    run(one.journal.release("a"))
    run(one.journal.put(attempt("a", state="abandoned", swap=swap)))
    run(one.journal.release("a"))
    assert one.all() == [("a", "abandoned")]
    failed = {**swap, "outcome": {"state": "failed", "code": "swap_expired"}}
    run(one.journal.put(attempt("a", state="abandoned", swap=failed)))
    run(one.journal.release("a"))
    assert one.all() == []


@every
def test_it_answers_as_the_store_of_typescript_does(kind: str, open_: Open) -> None:
    """Sums over time are exact in Postgres, and a second longer at most elsewhere."""
    for row in vectors("stores")[:8]:
        one = open_(kind)
        for call in row["calls"]:
            caps = [cap_of(cap) for cap in call.get("caps", ())]
            name = call["call"]
            out: Any
            if name == "reserve":
                made = run(one.journal.reserve(call["attempt"], caps))
                taken = {"taken": made.taken["id"]} if isinstance(made, KeyTaken) else None
                out = taken if taken else shown(made if isinstance(made, CapBlock) else None)
                assert out == call["out"], call
            elif name in ("put", "raise"):
                put = one.journal.raise_(call["attempt"], caps)
                if "refused" in call:
                    with pytest.raises(RuntimeError):
                        run(put)
                else:
                    full = run(put)
                    assert (full is not None) == ("cap" in call["out"]), call
            elif name == "release":
                run(one.journal.release(call["id"]))
            elif name == "used":
                used = run(one.journal.used(OWNER._replace(**call["owner"]), caps, call["now"]))
                assert [str(each) for each in used] == call["out"], call
            else:
                owner = OWNER._replace(**call["owner"])
                found = run(one.journal.similar(owner, call["fingerprint"], call.get("key")))
                assert [each["id"] for each in found] == call["out"], call
