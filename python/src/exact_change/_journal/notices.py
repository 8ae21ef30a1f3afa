"""Events of webhooks that a change of an attempt causes."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Mapping, Sequence

from .._base.js import SURROGATE, utf16_slice
from .._base.urls import parse_address
from .attempts import is_from_service
from .types import Attempt

_MAX_URL = 2_048
# A method is a short word, but an HTTP client may let a caller use any text.
_MAX_METHOD = 64
# The address of a swap alone, without query and fragment: it has no host.
_SWAP_ALONE = re.compile("(?:top-up|swap):[^?#]*")
_PLAIN_ID = re.compile("[A-Za-z0-9_-]{1,100}")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def events_of(before: Attempt, after: Attempt | None, now: int) -> list[Mapping[str, Any]]:
    """Returns the events of a change of an attempt.

    ``before`` is the attempt on record; ``after`` is the attempt from now on, None if it was
    released. Each reserved attempt ends in one ``payment.settled`` or ``payment.failed`` event,
    unless it is a swap alone or a service releases it. Each of its swaps that the chain has decided
    ends in one ``swap.confirmed`` or ``swap.failed`` event. No event comes twice, because the
    change that causes it is written once. ``now`` is in milliseconds since the epoch.
    """
    found: list[tuple[str, Sequence[str], Attempt, Mapping[str, Any]]] = []
    swap = None if after is None else after.get("swap")
    if after is not None and swap is not None and "outcome" in swap:
        earlier = before.get("swap")
        is_told = earlier is not None and earlier["signature"] == swap["signature"]
        if not is_told or earlier is None or "outcome" not in earlier:
            found.append(_of_swap(after, swap))
    found += _of_payment(before, after)
    # To the millisecond, as JavaScript writes it.
    at = (_EPOCH + timedelta(milliseconds=now)).isoformat(timespec="milliseconds")
    return [
        {
            "id": _id_of(about, kind, more),
            "type": kind,
            "timestamp": at.replace("+00:00", "Z"),
            "data": data,
        }
        for kind, more, about, data in found
    ]


def _of_swap(after: Attempt, swap: Any) -> tuple[str, Sequence[str], Attempt, Mapping[str, Any]]:
    outcome, about = swap["outcome"], _about(after)
    signature, provider = swap["signature"], swap["provider"]
    mints = {name: swap[name] for name in ("inputMint", "outputMint")}
    if outcome["state"] == "failed":
        details = {"signature": signature, **mints, "provider": provider, "code": outcome["code"]}
        return "swap.failed", [signature], after, {**about, **details}
    details = {
        "signature": signature,
        "inputMint": mints["inputMint"],
        "inAmount": outcome["inAmount"],
        "outputMint": mints["outputMint"],
        "outAmount": outcome["outAmount"],
        "provider": provider,
        "feeLamports": outcome["feeLamports"],
    }
    return "swap.confirmed", [signature], after, {**about, **details}


def _of_payment(
    before: Attempt, after: Attempt | None
) -> list[tuple[str, Sequence[str], Attempt, Mapping[str, Any]]]:
    attempt = before if after is None else after
    # A swap alone, such as a top-up: no payment was ever meant.
    if attempt["amount"] == "0":
        return []
    base = {
        **_about(attempt),
        "mint": attempt["mint"],
        "amount": attempt["amount"],
        "payTo": attempt["payTo"],
    }
    if before["state"] == "reserved":
        # A service releases a reservation that it could not sign. Its caller was told nothing of
        # it, and may send the same bytes again, under the same id.
        is_over = (
            not is_from_service(before)
            if after is None
            else after["state"] in ("abandoned", "unpaid")
        )
        return [("payment.failed", (), attempt, base)] if is_over else []
    # A signed attempt always has its payment.
    payment = attempt.get("payment")
    if before["state"] != "signed" or after is None or payment is None:
        return []
    signed = {**base, "payerSignature": payment["payerSignature"]}
    if after["state"] == "unsettled":
        return [("payment.failed", (), attempt, signed)]
    if after["state"] == "settled":
        receipt: Mapping[str, Any] = attempt.get("receipt") or {}
        # A payment that was found on chain has a signature there.
        signature = receipt.get("payment", {}).get("signature", "")
        return [("payment.settled", (), attempt, {**signed, "signature": signature})]
    if "doubt" not in attempt or "doubt" in before:
        return []
    height = {"lastValidBlockHeight": payment["lastValidBlockHeight"], "code": attempt["doubt"]}
    return [("payment.uncertain", (), attempt, {**signed, **height})]


def _id_of(attempt: Attempt, kind: str, more: Sequence[str]) -> str:
    """Returns the id of an event, the same from each process and at each delivery.

    The receiver recognises a repeat by it. It has no dots, because Standard Webhooks sign it
    between dots.
    """
    return "_".join(map(_plain, (attempt["id"], kind.replace(".", "_", 1), *more)))


def _plain(text: str) -> str:
    """Returns text as it is if it is short and plain, otherwise its hash."""
    if _PLAIN_ID.fullmatch(text) is not None:
        return text
    return hashlib.sha256(SURROGATE.sub("\ufffd", text).encode()).hexdigest()


def _about(attempt: Attempt) -> Mapping[str, Any]:
    return {
        **{name: attempt[name] for name in ("id", "wallet", "network")},  # type: ignore[literal-required]
        "url": _public_part(attempt["url"]),
        "method": utf16_slice(attempt["method"], _MAX_METHOD),
    }


def _public_part(url: str) -> str:
    """Returns an address without the parts that may hold a secret: user, query and fragment."""
    address, swap = parse_address(url), _SWAP_ALONE.match(url)
    if address is not None:
        return utf16_slice(f"{address.origin}{address.path}", _MAX_URL)
    return "" if swap is None else utf16_slice(swap[0], _MAX_URL)
