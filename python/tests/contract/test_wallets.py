"""Changes that a wallet makes to a payment before it signs, judged as in TypeScript."""

from __future__ import annotations

from typing import Any

from exact_change._solana.wallet_changes import AcceptedChange, judge_change
from exact_change._x402.facilitator_layout import refuses_form
from exact_change._x402.types import Offer

from ..spec import data, of


def verdict_on(original: bytes, wire: bytes) -> object:
    judged = judge_change(original, wire)
    return judged.guards if isinstance(judged, AcceptedChange) else judged.id


def original() -> bytes:
    return data(next(of("wallet-changes", "original"))["message"])


def test_names_the_rule_of_typescript_for_each_change() -> None:
    message = original()
    for row in of("wallet-changes", "change"):
        assert verdict_on(message, data(row["wire"])) == row["out"], row


def test_names_the_rule_of_typescript_for_each_flipped_bit_of_a_transaction() -> None:
    message = original()
    start = data(next(of("wallet-changes", "flipped"))["wire"])
    for row in of("wallet-changes", "flip"):
        for bit, out in enumerate(row["out"]):
            flipped = bytearray(start)
            flipped[row["at"]] ^= 1 << bit
            assert verdict_on(message, bytes(flipped)) == out, (row["at"], bit)


def test_knows_the_forms_of_payments_that_facilitators_refuse() -> None:
    empty: Any = dict.fromkeys(Offer._fields)
    for row in of("wallet-changes", "form"):
        kind = row["kind"]
        names = {"version": kind["x402Version"], "takes_memo": kind["takesMemo"]}
        offer = Offer(**{**empty, **names, "memo": kind.get("memo")})
        assert refuses_form(offer, data(row["message"])) == row["out"], row
