"""Caps over all that leaves the wallet for payments, in a rolling window or for ever."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from .._base.amounts import format_usd
from ..errors import ExactChangeError, failure
from .cost import (
    LAMPORTS,
    PAYMENTS,
    SWAPS,
    USD,
    USD_OF_FEES,
    USD_OF_SWAPS,
    Cost,
    cost_of,
)
from .hosts import plain_host, portless
from .periods import period_of

# What caps look at in an attempt: its host, payee, mint, price and swaps.
Spend = Mapping[str, Any]


class Cap(NamedTuple):
    """A limit. One that names a host, payee or mint counts what leaves for those alone."""

    # The rule of the policy that it comes from.
    name: str
    # `USD`: millionths of a dollar; `payments` and `swaps`: how many; `lamports`: of network fees
    # and rent; else the mint whose base units count.
    unit: str
    # In the unit.
    limit: int
    # Milliseconds. None: for ever.
    window_ms: int | None = None
    # As an address shows it; without a port, all its ports.
    host: str | None = None
    pay_to: str | None = None
    # Of the payment. A cap in base units of this same mint counts all that leaves of it.
    mint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As journals of both languages have it."""
        names = ("name", "unit", "limit", "windowMs", "host", "payTo", "mint")
        return {name: value for name, value in zip(names, self) if value is not None}


class CapRules(NamedTuple):
    """The part of a policy that bounds what leaves. Dollars are millionths of a dollar."""

    max_per_payment: int
    max_amount: Mapping[str, int]
    # The limits on single payments, with a window of 0.
    per_payment: Sequence[Cap]
    # The caps over time. One for each host or payee names it `*`.
    caps: Sequence[Cap]


def taken_of(cap: Cap, spend: Spend) -> int:
    """What a spend takes of a cap: its price, and all that its swaps take."""
    return cost_of(spend, True).get(cap.unit, 0) if counts(cap, spend) else 0


def counts(cap: Cap, spend: Spend) -> bool:
    """Whether a cap counts a spend. A host without a port counts all its ports."""
    if cap.pay_to is not None and cap.pay_to != spend["payTo"]:
        return False
    if cap.mint is not None and cap.mint not in (cap.unit, spend["mint"]):
        return False
    return cap.host is None or cap.host in (plain_host(spend["host"]), portless(spend["host"]))


def caps_for(caps: Sequence[Cap], spend: Spend) -> list[Cap]:
    """The caps that count a spend; of one for each host or payee, that of its own."""
    own = (_own(cap, spend) for cap in caps)
    return [cap for cap in own if counts(cap, spend) and _is_about(cap, spend)]


def caps_seen(caps: Sequence[Cap], spends: Iterable[Spend]) -> list[Cap]:
    """All caps; of one for each host or payee, those of the hosts and payees among the spends."""
    every = list(spends)
    seen: list[Cap] = []
    for cap in caps:
        if "*" not in (cap.host, cap.pay_to):
            seen.append(cap)
            continue
        own = {(one.host, one.pay_to): one for spend in every for one in caps_for([cap], spend)}
        seen.extend(own.values())
    return seen


def _is_about(cap: Cap, spend: Spend) -> bool:
    return cap.mint is None or cap.mint == spend["mint"] or taken_of(cap, spend) > 0


def _own(cap: Cap, spend: Spend) -> Cap:
    """One for each host has it without a port, so that no seller leaves its cap by moving."""
    if "*" not in (cap.host, cap.pay_to):
        return cap
    return cap._replace(
        host=portless(spend["host"]) if cap.host == "*" else cap.host,
        pay_to=spend["payTo"] if cap.pay_to == "*" else cap.pay_to,
    )


class CostParts(NamedTuple):
    """What a cost in dollars is made of; dollars as decimal text."""

    # Prices of payments.
    payments: str
    # What swaps took beyond what they brought in a pinned token.
    swaps: str
    # Network fees and rent, as far as SOL has a price.
    fees: str


class CapUse(NamedTuple):
    """How much of a cap is used. Amounts as text, in the unit."""

    # The rule of the policy: `max_per_day`, `max_per_host['api.example.com']`, `limits[2]`.
    cap: str
    limit: str
    # Spent or reserved.
    used: str
    # `USD`; `payments`; `swaps`; `lamports`; or the mint whose base units count.
    unit: str
    # Milliseconds; None if it counts all that the journal knows of.
    window_ms: int | None = None
    # What it counts alone, if it does not count all.
    host: str | None = None
    payee: str | None = None
    mint: str | None = None
    # Of a cap in dollars, what `used` is made of.
    parts: CostParts | None = None


def parts_of(cap: Cap) -> list[Cap]:
    """The parts of what is used of a cap in dollars, each as a cap of its own."""
    return (
        [cap._replace(unit=unit) for unit in (USD_OF_SWAPS, USD_OF_FEES)] if cap.unit == USD else []
    )


def cost_parts(everything: int, swaps: int, fees: int) -> CostParts:
    """What dollars are made of."""
    rest = max(0, everything - swaps - fees)
    return CostParts(format_usd(rest), format_usd(swaps), format_usd(fees))


def cap_use(cap: Cap, used: int, parts: Sequence[int]) -> CapUse:
    """How much of a cap is used, for people; ``parts`` in the order of :func:`parts_of`."""
    return CapUse(
        cap.name,
        in_unit(cap.unit, cap.limit),
        in_unit(cap.unit, used),
        cap.unit,
        cap.window_ms,
        cap.host,
        cap.pay_to,
        cap.mint,
        cost_parts(used, parts[0], parts[1]) if cap.unit == USD else None,
    )


def in_unit(unit: str, value: int) -> str:
    """An amount of a cap as text."""
    return format_usd(value) if unit == USD else str(value)


def _say(unit: str, value: int) -> str:
    is_word = unit in (USD, PAYMENTS, SWAPS, LAMPORTS)
    return f"{in_unit(unit, value)} {unit if is_word else 'base units'}"


def check_payment(rules: CapRules, spend: Spend) -> ExactChangeError | None:
    """The caps on a single payment, with all that its swaps take. The refusal, or None."""
    caps = [
        *(Cap("max_amount", unit, limit) for unit, limit in rules.max_amount.items()),
        Cap("max_per_payment", USD, rules.max_per_payment),
        *caps_for(rules.per_payment, spend),
    ]
    cost = cost_of(spend, True)
    for cap in caps:
        taken = cost.get(cap.unit, 0)
        if taken <= cap.limit:
            continue
        return failure(
            "amount_over_limit",
            f"{_describe(spend, cost, cap.unit, taken)} is above policy.{cap.name} of "
            f"{_say(cap.unit, cap.limit)}. Raise it to allow the payment.",
            {
                "cap": cap.name,
                "limit": in_unit(cap.unit, cap.limit),
                "amount": in_unit(cap.unit, taken),
                "unit": cap.unit,
            },
        )
    mint = spend["mint"]
    if spend.get("microUsd") is not None or any(cap.unit == mint for cap in caps):
        return None
    return failure(
        "price_unknown",
        f"No price is known for mint {mint}, so no dollar cap can hold. Set policy.max_amount for "
        "it, in base units, to allow payments.",
        {"mint": mint},
    )


def _describe(spend: Spend, cost: Cost, unit: str, taken: int) -> str:
    """A cost with what it is made of, as the beginning of a sentence."""
    price = _say(unit, taken)
    if spend.get("swapped") is None and spend.get("swapping") is None:
        return f"The price of {price}" + (f" at {spend['host']}" if spend["host"] else "")
    leaves = f"What leaves for the payment, {price}"
    if unit != USD:
        return f"{leaves} with its swap,"
    parts = cost_parts(taken, cost.get(USD_OF_SWAPS, 0), cost.get(USD_OF_FEES, 0))
    return (
        f"{leaves} (price {parts.payments}, swap {parts.swaps}, network fees and rent "
        f"{parts.fees}),"
    )


def over_budget(cap: Cap, used: int, taken: int) -> ExactChangeError:
    """The refusal of a spend that a cap over time has no room for."""
    window = cap.window_ms
    period = "so far" if window is None else f"in the last {period_of(window)}"
    # Waiting brings room only if what is spent leaves the window, and if this spend fits alone.
    waits = window is not None and taken <= cap.limit
    following = "Wait, or raise it." if waits else "Raise it to allow the payment."
    return failure(
        "budget_exhausted",
        f"{_say(cap.unit, taken)} do not fit policy.{cap.name} of {_say(cap.unit, cap.limit)}: "
        f"{_say(cap.unit, used)} are spent or reserved {period}. {following}",
        {
            "cap": cap.name,
            "limit": in_unit(cap.unit, cap.limit),
            "used": in_unit(cap.unit, used),
            "amount": in_unit(cap.unit, taken),
            "unit": cap.unit,
        },
        retry=None if waits else "never",
    )
