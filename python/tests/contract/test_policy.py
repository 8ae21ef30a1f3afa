from __future__ import annotations

from typing import Any

from exact_change._base.names import camel_keys
from exact_change._base.network import SOLANA_MAINNET
from exact_change._payments.costs import cost_for
from exact_change._payments.swap_cost import swap_cost_after
from exact_change._policy.caps import (
    cap_use,
    caps_for,
    check_payment,
    over_budget,
    parts_of,
    taken_of,
)
from exact_change._policy.cost import cost_of
from exact_change._policy.hosts import read_host, read_listed_host
from exact_change._policy.lists import check_offer, check_place
from exact_change._policy.policy import parse_policy
from exact_change.errors import ExactChangeError

from ..spec import of, plain, vectors

PAYEE = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"
POLICY = parse_policy(
    {
        "max_per_payment": "0.04",
        "max_per_hour": "0.10",
        "max_per_host": {"a.test": "0.05"},
        "limits": [
            {"usd": "0.06", "per": "day", "host": "*"},
            {"usd": "0.02", "per": "payment", "payee": PAYEE},
            {"payments": 30, "per": "minute"},
            {"amount": "900", "mint": "USDC", "per": "payment"},
            {"swaps": 2, "per": "hour", "payee": "*"},
            {"lamports": "60000", "per": "payment", "payee": "*"},
        ],
        "deny": {"hosts": ["*.evil.test", "bad.test"], "schemes": ["upto"]},
        "allow": {"networks": ["solana"]},
    },
    SOLANA_MAINNET,
)
NAMES = {
    "maxPerPayment": "max_per_payment",
    "maxPerHour": "max_per_hour",
    "maxPerDay": "max_per_day",
    "maxPerHost": "max_per_host",
    "maxLamportsPerDay": "max_lamports_per_day",
    "maxAmount": "max_amount",
}


def spelled(text: str) -> str:
    """Returns a sentence of TypeScript with the option names of Python."""
    for camel, snake in NAMES.items():
        text = text.replace(camel, snake)
    return text


def test_computes_costs_and_caps_as_typescript_does() -> None:
    for row in vectors("costs"):
        if "attempt" not in row:
            continue
        attempt: Any = row["attempt"]
        cost = {unit: str(value) for unit, value in cost_of(attempt, row["isPaid"]).items()}
        assert cost == row["cost"]
        refusal = check_payment(POLICY.caps, attempt)
        if "refusal" in row:
            assert refusal is not None
            assert (refusal.code, refusal.message) == (
                row["refusal"]["code"],
                spelled(row["refusal"]["message"]),
            )
            details = {name: spelled(text) for name, text in row["refusal"]["details"].items()}
            assert camel_keys(dict(refusal.details)) == details
        else:
            assert refusal is None
        caps = caps_for(POLICY.caps.caps, attempt)
        assert [(cap.name, str(taken_of(cap, attempt))) for cap in caps] == [
            (spelled(cap["name"]), cap["takes"]) for cap in row["caps"]
        ]
        first = caps[0]
        parts = [taken_of(part, attempt) for part in parts_of(first)]
        use = cap_use(first, taken_of(first, attempt), parts)
        assert (use.used, use.limit) == (row["use"]["used"], row["use"]["limit"])
        assert (use.parts and use.parts._asdict()) == row["use"].get("parts")
        assert over_budget(first, 7, taken_of(first, attempt)).message == spelled(row["over"])
        shown = cost_for(attempt, 5_000, is_paid=row["isPaid"])
        assert plain(shown) == row["receipt"]
        swapped: Any = {**attempt, **({"swap": row["swap"]} if "swap" in row else {})}
        assert swap_cost_after(swapped, row["outcome"]) == row["after"]


def test_applies_allow_and_deny_lists_as_typescript_does() -> None:
    for row in vectors("costs"):
        if "offer" in row:
            offer = row["offer"]
            refusal = check_offer(
                POLICY.lists, offer["payTo"], offer["mint"], offer["network"], offer["scheme"]
            )
        elif "host" in row:
            refusal = check_place(POLICY.lists, row["host"])
        else:
            continue
        assert (None if refusal is None else refusal.details) == row["out"]


def read(reader: Any, host: str) -> str | None:
    try:
        found: str = reader("host", host)
    except ExactChangeError as error:
        assert error.code == "invalid_option"
        return None
    return found


def test_reads_hosts_as_typescript_does() -> None:
    for row in of("text", "host"):
        assert read(read_host, row["in"]) == row["out"], row
    for row in of("text", "listedHost"):
        assert read(read_listed_host, row["in"]) == row["out"], row


def test_allows_a_payment_of_a_whole_cap_and_refuses_more() -> None:
    def refused(micro_usd: int) -> bool:
        spend = {"host": "b.test", "payTo": "payee", "mint": "mint", "amount": "1"}
        return check_payment(POLICY.caps, {**spend, "microUsd": str(micro_usd)}) is not None

    assert (refused(40_000), refused(40_001)) == (False, True)
