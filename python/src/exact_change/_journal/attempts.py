"""What is an attempt, what it is found by, and when nothing more will happen to it."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from typing_extensions import TypeGuard

from .._base.amounts import is_digits
from .._base.js import as_json
from .._base.json_types import is_number, is_record
from .._policy.cost import Cost, is_swap_cost
from .spending import Place
from .states import STATES, cost_in, counted_at
from .types import Attempt, Owner

# What the fingerprints begin with of attempts that another program signed, and handed over.
FROM_SERVICE = "auto-pay "
_TEXTS = (
    *("id", "wallet", "network", "url", "method"),
    *("host", "fingerprint", "payTo", "mint"),
)
_AMOUNTS = ("inAmount", "outAmount", "feeLamports")


def is_attempt(value: object) -> TypeGuard[Attempt]:
    """Whether parsed JSON is an attempt, in all that a journal itself looks at."""
    if not is_record(value):
        return False
    state, swap = value.get("state"), value.get("swap")
    optional = [value[name] for name in _OPTIONAL_TEXTS if name in value]
    return (
        all(isinstance(value.get(name), str) for name in _TEXTS)
        and isinstance(state, str)
        and state in STATES
        and isinstance(value.get("delivered"), bool)
        and is_number(value.get("at"))
        and ("leftAt" not in value or is_number(value["leftAt"]))
        # An amount below zero would be credit.
        and is_digits(value.get("amount"))
        and ("microUsd" not in value or is_digits(value["microUsd"]))
        and all(isinstance(text, str) for text in optional)
        and ("swap" not in value or _is_swap(swap))
        and ("swapped" not in value or is_swap_cost(value["swapped"]))
        and ("swapping" not in value or is_swap_cost(value["swapping"]))
    )


_OPTIONAL_TEXTS = ("idempotencyKey", "resigns", "doubt")


def copy_of(attempt: Mapping[str, Any]) -> Attempt:
    """An attempt as its JSON has it: the caller's object is not kept."""
    copy = as_json(attempt)
    if is_attempt(copy):
        return copy
    raise TypeError(
        "This is no attempt that a journal can keep: a field is missing, or an amount is not in "
        "whole base units."
    )


def _is_swap(value: object) -> bool:
    """What it moved is what the chain showed, also if that looks like nonsense."""
    if not is_record(value) or not isinstance(value.get("signature"), str):
        return False
    outcome = value.get("outcome")
    return _has_texts(value.get("quoted"), _AMOUNTS) and (
        "outcome" not in value or _is_outcome(outcome)
    )


def _is_outcome(value: object) -> bool:
    if not is_record(value):
        return False
    if value.get("state") == "failed":
        return _has_texts(value, ("code",))
    return value.get("state") == "confirmed" and _has_texts(value, _AMOUNTS)


def _has_texts(value: object, names: Sequence[str]) -> bool:
    return is_record(value) and all(isinstance(value.get(name), str) for name in names)


def is_from_service(attempt: Attempt) -> bool:
    """Whether it is known by the bytes that were handed over."""
    return attempt["fingerprint"].startswith(FROM_SERVICE)


def is_closed(attempt: Attempt) -> bool:
    """Nothing more will happen to it."""
    if attempt["state"] in ("unsettled", "unpaid"):
        return True
    return attempt["state"] == "settled" and (attempt["delivered"] or is_from_service(attempt))


def is_of(attempt: Attempt, owner: Owner) -> bool:
    """Whether it is an owner's."""
    return (attempt["wallet"], attempt["network"]) == owner


def names_of(attempt: Attempt) -> list[str]:
    """What a repeated call finds an attempt by: what was delivered is over."""
    names: list[str] = []
    if not attempt["delivered"] or "resigns" in attempt:
        names.append(request_name(attempt["fingerprint"]))
    if "idempotencyKey" in attempt:
        names.append(key_name(attempt["idempotencyKey"]))
    return names


def request_name(fingerprint: str) -> str:
    """The name of a request."""
    return f"request {fingerprint}"


def key_name(idempotency_key: str) -> str:
    """The name of a key."""
    return f"key {idempotency_key}"


class Entry(NamedTuple):
    """An attempt, with what a store needs of it at each step."""

    attempt: Attempt
    cost: Cost
    names: Sequence[str]
    owner: Owner
    place: Place
    # When it counts as spent.
    at: int


def entry_of(attempt: Attempt) -> Entry:
    """An attempt's entry."""
    return Entry(
        attempt,
        cost_in(attempt),
        names_of(attempt),
        Owner(attempt["wallet"], attempt["network"]),
        Place(attempt["host"], attempt["payTo"], attempt["mint"]),
        counted_at(attempt),
    )


def takes_the_same(before: Entry, after: Entry) -> bool:
    """Whether nothing changes in what its attempt takes of caps, but for when."""
    same = before.owner, before.place, before.cost
    return same == (after.owner, after.place, after.cost)
