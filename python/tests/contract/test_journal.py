from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exact_change._journal.attempts import is_attempt
from exact_change._journal.balances import (
    AccountBalance,
    BalanceChange,
    Fresh,
    balance_json,
    balance_of,
    changed,
    spending,
)
from exact_change._journal.spending import SpentSums
from exact_change._journal.store import AttemptStore
from exact_change._journal.types import CapBlock, KeyTaken, Owner
from exact_change._policy.caps import Cap

from ..spec import vectors


def cap_of(row: dict[str, Any]) -> Cap:
    return Cap(
        row["name"],
        row["unit"],
        int(row["limit"]),
        row.get("windowMs"),
        row.get("host"),
        row.get("payTo"),
        row.get("mint"),
    )


def answer(store: AttemptStore, row: dict[str, Any]) -> Any:
    caps = [cap_of(cap) for cap in row.get("caps", ())]
    call = row["call"]
    if call == "reserve":
        block = store.refusal(row["attempt"], caps)
        if isinstance(block, KeyTaken):
            return {"taken": block.taken["id"]}
        if block is None:
            store.keep(row["attempt"])
        return shown(block)
    if call in ("put", "raise"):
        before = store.replacing(row["attempt"], caps)
        if isinstance(before, CapBlock):
            return shown(before)
        if before is not None:
            store.keep(row["attempt"])
        return {"kept": before is not None}
    if call == "release":
        released = store.releasable(row["id"])
        store.remove(row["id"] if released is not None else "")
        return released is not None
    owner = Owner(row["owner"]["wallet"], row["owner"]["network"])
    if call == "used":
        return [str(used) for used in store.used(owner, caps, row["now"])]
    return [found["id"] for found in store.similar(owner, row["fingerprint"], row.get("key"))]


def shown(block: CapBlock | None) -> Any:
    if block is None:
        return None
    cap = block.cap.to_json()
    return {"cap": {**cap, "limit": str(cap["limit"])}, "used": str(block.used)}


def test_answers_each_call_of_an_attempt_store_as_typescript_does() -> None:
    for row in vectors("stores"):
        store = AttemptStore()
        for call in row["calls"]:
            try:
                out = answer(store, call)
            except RuntimeError as error:
                assert str(error) == call["refused"]
                continue
            assert out == call["out"], call


def test_changes_a_balance_step_by_step_as_typescript_does() -> None:
    for row in vectors("balances"):
        balance = AccountBalance()
        for step in row["steps"]:
            name, id_, slot = step["step"], step.get("id", ""), step.get("slot")
            change: BalanceChange = {"forget": True}
            if name == "see":
                change = {"see": step["known"], "moved": step["moved"]}
            elif name == "hold":
                change = {"hold": id_, "amount": step["amount"]}
            elif name == "release":
                change = {"release": id_}
            elif name == "spend":
                change = spending(id_, slot)
            balance = changed(balance, change)
            available = balance.available(Fresh(10, 2**53))
            shown = None if available is None else str(available)
            assert (str(balance.held), shown) == (step["held"], step["available"]), step
        assert balance_json(balance) == row["out"]
        assert balance_of(row["out"]) == balance


def test_recognizes_an_attempt_as_typescript_does() -> None:
    for row in vectors("attempts"):
        assert is_attempt(row["in"]) == row["out"], row["in"]


MOMENTS = st.one_of(st.integers(0, 10_000), st.integers(0, 100 * 86_400_000))


@given(st.lists(MOMENTS, min_size=1, max_size=400), st.lists(MOMENTS, max_size=20))
def test_counts_every_expense_for_its_whole_window(ats: list[int], begins: list[int]) -> None:
    """Old sums are merged, and expenses come in any order; neither may lower a total."""
    sums = SpentSums()
    for at in ats:
        sums.add(at, 1)
    for begin in (*begins, *(at - 1 for at in ats)):
        assert sums.since(begin) >= sum(at > begin for at in ats)
    assert sums.since(-1) == len(ats)
