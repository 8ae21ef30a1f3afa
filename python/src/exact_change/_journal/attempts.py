"""Checks of attempts, the names that find them, and the values that a store needs of them."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from typing_extensions import TypeGuard

from .._base.amounts import is_digits
from .._base.js import as_json
from .._base.json_types import is_number, is_record
from .._policy.cost import Cost, is_swap_cost
from .balances import Taken
from .spending import Place
from .states import STATES, cost_in, counted_at
from .types import Attempt, Owner, Reserved

# Prefix of fingerprints of payments that another program signed and handed over.
FROM_SERVICE = "auto-pay "
_TEXTS = (
    *("id", "wallet", "network", "url", "method"),
    *("host", "fingerprint", "payTo", "mint"),
)
_AMOUNTS = ("inAmount", "outAmount", "feeLamports")


def is_attempt(value: object) -> TypeGuard[Attempt]:
    """Returns whether parsed JSON is an attempt. Checks each field that a journal itself reads."""
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
        # An amount below zero would be a credit.
        and is_digits(value.get("amount"))
        and ("microUsd" not in value or is_digits(value["microUsd"]))
        and all(isinstance(text, str) for text in optional)
        and ("swap" not in value or _is_swap(swap))
        and ("swapped" not in value or is_swap_cost(value["swapped"]))
        and ("swapping" not in value or is_swap_cost(value["swapping"]))
    )


_OPTIONAL_TEXTS = ("idempotencyKey", "resigns", "doubt")


def copy_of(attempt: Mapping[str, Any]) -> Attempt:
    """Copies an attempt as its JSON has it: without objects of the caller."""
    copy = as_json(attempt)
    if is_attempt(copy):
        return copy
    raise TypeError(
        "This is no attempt that a journal can keep: a field is missing, or an amount is not in "
        "whole base units."
    )


def _is_swap(value: object) -> bool:
    """Returns whether a value is a signed swap. Amounts may be any text that the chain showed."""
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
    """Returns whether another program signed the attempt and handed over its bytes."""
    return attempt["fingerprint"].startswith(FROM_SERVICE)


def is_closed(attempt: Attempt) -> bool:
    """Returns whether nothing more can happen to an attempt.

    An attempt with its id as fingerprint has no request: another program presents the payment.
    """
    if attempt["state"] != "settled":
        return attempt["state"] in ("unsettled", "unpaid")
    has_no_request = attempt["fingerprint"] == attempt["id"]
    return attempt["delivered"] or has_no_request or is_from_service(attempt)


def owner_of(attempt: Attempt) -> Owner:
    return Owner(attempt["wallet"], attempt["network"])


def belongs_to(attempt: Attempt, owner: Owner) -> bool:
    return (attempt["wallet"], attempt["network"]) == owner


def names_of(attempt: Attempt) -> list[str]:
    """Returns the names by which a repeated call finds an attempt.

    A delivered attempt is over, so its request finds it only if it resigns an earlier attempt.
    """
    names: list[str] = []
    if not attempt["delivered"] or "resigns" in attempt:
        names.append(request_name(attempt["fingerprint"]))
    if "idempotencyKey" in attempt:
        names.append(key_name(attempt["idempotencyKey"]))
    return names


def request_name(fingerprint: str) -> str:
    return f"request {fingerprint}"


def key_name(idempotency_key: str) -> str:
    return f"key {idempotency_key}"


class Entry(NamedTuple):
    """An attempt, with values that a store needs at each step."""

    attempt: Attempt
    cost: Cost
    names: Sequence[str]
    owner: Owner
    place: Place
    # When the attempt counts as spent. Milliseconds since the epoch.
    at: int


def entry_of(attempt: Attempt) -> Entry:
    return Entry(
        attempt,
        cost_in(attempt),
        names_of(attempt),
        owner_of(attempt),
        Place(attempt["host"], attempt["payTo"], attempt["mint"]),
        counted_at(attempt),
    )


def is_same_entry(before: Entry, after: Entry) -> bool:
    """Returns whether the two entries take the same amounts of caps, whatever their times."""
    takes_before = before.owner, before.place, before.cost
    return takes_before == (after.owner, after.place, after.cost)


def is_made(result: Reserved) -> TypeGuard[Taken | None]:
    return result is None or isinstance(result, Taken)
