"""Caps on what leaves the wallet for payments, in a rolling window or for all time."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from .._base.amounts import format_usd
from .._base.network import WSOL_MINT
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

# The facts of an attempt that caps use: its host, payee, mint, price and swaps.
Spend = Mapping[str, Any]


class Cap(NamedTuple):
    """A limit on what leaves the wallet for payments.

    A cap with a host, payee or mint counts only payments to that host or payee, or in that mint.
    """

    # The rule of the policy that sets the cap.
    name: str
    # `USD`: millionths of a dollar; `payments` and `swaps`: a count; `lamports`: network fees and
    # rent; else a mint: its base units.
    unit: str
    # In the unit.
    limit: int
    # Milliseconds; None for all time.
    window_ms: int | None = None
    # Spelled as in a parsed URL. A host without a port stands for all its ports.
    host: str | None = None
    pay_to: str | None = None
    # The payment's mint. If it is also the unit, the cap counts every base unit of it that leaves.
    mint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the JSON that the journals of both languages store."""
        names = ("name", "unit", "limit", "windowMs", "host", "payTo", "mint")
        return {name: value for name, value in zip(names, self) if value is not None}


class CapRules(NamedTuple):
    """The caps of a policy. Dollars are millionths of a dollar."""

    max_per_payment: int
    # Base units by mint.
    max_amount: Mapping[str, int]
    # Caps on single payments, with a window of 0.
    per_payment: Sequence[Cap]
    # Caps over time. `*` as host or payee is a template of a cap for each host or payee.
    caps: Sequence[Cap]


def taken_of(cap: Cap, spend: Spend) -> int:
    """Returns how much of a cap a spend uses, its swaps included; 0 if the cap ignores it."""
    return cost_of(spend, True).get(cap.unit, 0) if cap_counts(cap, spend) else 0


def cap_counts(cap: Cap, spend: Spend) -> bool:
    """Returns whether a cap counts a spend. A cap on a host without a port counts all its ports."""
    if cap.pay_to is not None and cap.pay_to != spend["payTo"]:
        return False
    if cap.mint is not None and cap.mint not in (cap.unit, spend["mint"]):
        return False
    return cap.host is None or cap.host in (plain_host(spend["host"]), portless(spend["host"]))


def caps_for(caps: Sequence[Cap], spend: Spend) -> list[Cap]:
    """Returns the caps that count a spend, with ``*`` replaced by its host or payee.

    A swap alone has no host and no payee, so no cap for each of them counts it.
    """
    named = (_with_names(cap, spend) for cap in caps)
    return [cap for cap in named if cap_counts(cap, spend) and _is_about(cap, spend)]


def caps_for_spends(caps: Sequence[Cap], spends: Iterable[Spend]) -> list[Cap]:
    """Returns all caps; a cap with ``*`` becomes a cap for each host and payee of the spends."""
    all_spends = list(spends)
    seen: list[Cap] = []
    for cap in caps:
        if "*" not in (cap.host, cap.pay_to):
            seen.append(cap)
            continue
        named = {
            (own.host, own.pay_to): own for spend in all_spends for own in caps_for([cap], spend)
        }
        seen.extend(named.values())
    return seen


def _is_about(cap: Cap, spend: Spend) -> bool:
    return cap.mint is None or cap.mint == spend["mint"] or taken_of(cap, spend) > 0


def _with_names(cap: Cap, spend: Spend) -> Cap:
    """Replaces ``*`` by the spend's host or payee, but not of a swap alone, which has neither.

    The host has no port, so that a seller cannot leave its cap by a move to another port.
    """
    # A payment of a caller without a URL has an empty host, and a payee.
    if spend["payTo"] == "" or "*" not in (cap.host, cap.pay_to):
        return cap
    return cap._replace(
        host=portless(spend["host"]) if cap.host == "*" else cap.host,
        pay_to=spend["payTo"] if cap.pay_to == "*" else cap.pay_to,
    )


class CostParts(NamedTuple):
    """The parts of a cost; US dollars as decimal text."""

    # Prices of payments.
    payments: str
    # The input of swaps beyond their output in a pinned token.
    swaps: str
    # Network fees and rent; 0 for those paid while SOL had no price.
    fees: str


class CapUse(NamedTuple):
    """How much of a cap is used. Amounts are text in the cap's unit."""

    # The rule of the policy: `max_per_day`, `max_per_host['api.example.com']`, `limits[2]`.
    cap: str
    limit: str
    # Spent or reserved.
    used: str
    # `USD`, `payments`, `swaps`, `lamports`, or a mint: its base units.
    unit: str
    # Milliseconds; None if the cap counts everything that the journal knows.
    window_ms: int | None = None
    # The cap counts only payments to this host.
    host: str | None = None
    # The cap counts only payments to this payee.
    payee: str | None = None
    # The cap counts only payments in this mint.
    mint: str | None = None
    # The parts of `used`, for a cap in dollars only.
    parts: CostParts | None = None


def parts_of(cap: Cap) -> list[Cap]:
    """Returns a cap for each part of a dollar cap's use: swaps, then fees. Else an empty list."""
    return (
        [cap._replace(unit=unit) for unit in (USD_OF_SWAPS, USD_OF_FEES)] if cap.unit == USD else []
    )


def cost_parts(total: int, swaps: int, fees: int) -> CostParts:
    """Splits a total into payments, swaps and fees; all in millionths of a dollar."""
    payments = max(0, total - swaps - fees)
    return CostParts(format_usd(payments), format_usd(swaps), format_usd(fees))


def cap_use(cap: Cap, used: int, parts: Sequence[int]) -> CapUse:
    """Returns how much of a cap is used, as text; ``parts`` in the order of :func:`parts_of`."""
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
    """Formats an amount of a cap: US dollars, or the plain number of any other unit."""
    return format_usd(value) if unit == USD else str(value)


def _say(unit: str, value: int) -> str:
    is_word = unit in (USD, PAYMENTS, SWAPS, LAMPORTS)
    return f"{in_unit(unit, value)} {unit if is_word else 'base units'}"


def check_payment(rules: CapRules, spend: Spend) -> ExactChangeError | None:
    """Checks the caps on a single payment, its swaps included; returns the refusal, or None."""
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
    # SOL soon has a route again, and so a price.
    is_sol = mint == WSOL_MINT
    return failure(
        "price_unknown",
        f"No price is known for mint {mint}, so no dollar cap can hold. "
        f"{'Try again, or set' if is_sol else 'Set'} policy.max_amount for it, in base units, to "
        "allow payments.",
        {"mint": mint},
        retry="fresh" if is_sol else None,
    )


def _describe(spend: Spend, cost: Cost, unit: str, taken: int) -> str:
    """Returns the beginning of a sentence: the cost, and in dollars its parts."""
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
    """Returns the refusal of a spend that does not fit into a cap over time."""
    window = cap.window_ms
    period = "so far" if window is None else f"in the last {period_of(window)}"
    # A wait helps only if earlier spends leave the window and this spend alone is within the limit.
    can_wait = window is not None and taken <= cap.limit
    following = "Wait, or raise it." if can_wait else "Raise it to allow the payment."
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
        retry=None if can_wait else "never",
    )
