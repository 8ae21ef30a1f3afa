from __future__ import annotations

from typing import Any

from exact_change._journal.attempts import is_attempt
from exact_change._journal.balances import AccountBalance
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
        block = store.reserve(row["attempt"], caps)
        if isinstance(block, KeyTaken):
            return {"taken": block.taken["id"]}
        return shown(block)
    if call in ("put", "raise"):
        done = store.put(row["attempt"], caps)
        return shown(done) if isinstance(done, CapBlock) else {"kept": done.kept is not None}
    if call == "release":
        return store.release(row["id"])
    owner = Owner(row["owner"]["wallet"], row["owner"]["network"])
    if call == "used":
        return [str(one) for one in store.used(owner, caps, row["now"])]
    return [one["id"] for one in store.similar(owner, row["fingerprint"], row.get("key"))]


def shown(block: CapBlock | None) -> Any:
    if block is None:
        return None
    cap = block.cap.to_json()
    return {"cap": {**cap, "limit": str(cap["limit"])}, "used": str(block.used)}


def test_a_store_answers_call_by_call_as_in_typescript() -> None:
    for row in vectors("stores"):
        store = AttemptStore()
        for call in row["calls"]:
            try:
                out = answer(store, call)
            except RuntimeError as error:
                assert str(error) == call["refused"]
                continue
            assert out == call["out"], call


def test_a_balance_changes_step_by_step_as_in_typescript() -> None:
    for row in vectors("balances"):
        balance = AccountBalance()
        for step in row["steps"]:
            name, id_, slot = step["step"], step.get("id", ""), step.get("slot")
            if name == "see":
                known = step["known"]
                moved = int(step["moved"])
                balance = balance.see(int(known["amount"]), known["at"], known.get("slot"), moved)
            elif name == "hold":
                balance = balance.hold(id_, int(step["amount"]))
            elif name == "release":
                balance = balance.release(id_)
            elif name == "spend":
                balance = balance.spend(id_, slot)
            else:
                balance = balance.forget()
            available = balance.available(lambda at: at >= 10)
            shown = None if available is None else str(available)
            assert (str(balance.held), shown) == (step["held"], step["available"]), step


def test_what_is_an_attempt_is_judged_as_in_typescript() -> None:
    for row in vectors("attempts"):
        assert is_attempt(row["in"]) == row["out"], row["in"]
