"""What a change of an attempt tells the outside: the events of webhooks."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Mapping, Sequence

from .._base.js import utf16_slice
from .._base.urls import parse_address
from .types import Attempt

_MAX_URL = 2_048
# Methods are a word; a caller's own may be anything that it lets through.
_MAX_METHOD = 64
_PLAIN_ID = re.compile("[A-Za-z0-9_-]{1,100}")
_HALF = re.compile("[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def events_of(before: Attempt, after: Attempt | None, now: int) -> list[Mapping[str, Any]]:
    """``before``: what was on record; ``after``: what is from now on, None if it was released.

    Each reserved attempt ends in one ``payment.settled`` or ``payment.failed``, and each of its
    swaps that the chain has decided in one ``swap.confirmed`` or ``swap.failed``, because what
    leads to them is written once.
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
    one = before if after is None else after
    base = {**_about(one), "mint": one["mint"], "amount": one["amount"], "payTo": one["payTo"]}
    if before["state"] == "reserved":
        is_over = after is None or after["state"] in ("abandoned", "unpaid")
        return [("payment.failed", (), one, base)] if is_over else []
    # What is signed has its payment on record.
    payment = one.get("payment")
    if before["state"] != "signed" or after is None or payment is None:
        return []
    signed = {**base, "payerSignature": payment["payerSignature"]}
    if after["state"] == "unsettled":
        return [("payment.failed", (), one, signed)]
    if after["state"] == "settled":
        receipt: Mapping[str, Any] = one.get("receipt") or {}
        # Found on chain, it has a signature there.
        signature = receipt.get("payment", {}).get("signature", "")
        return [("payment.settled", (), one, {**signed, "signature": signature})]
    if "doubt" not in one or "doubt" in before:
        return []
    height = {"lastValidBlockHeight": payment["lastValidBlockHeight"], "code": one["doubt"]}
    return [("payment.uncertain", (), one, {**signed, **height})]


def _id_of(attempt: Attempt, kind: str, more: Sequence[str]) -> str:
    """The same from each process, and however often.

    Its receiver can tell that it was told before. Standard Webhooks sign it between dots.
    """
    return "_".join(map(_plain, (attempt["id"], kind.replace(".", "_", 1), *more)))


def _plain(text: str) -> str:
    """As it is, if that is short and plain."""
    if _PLAIN_ID.fullmatch(text) is not None:
        return text
    return hashlib.sha256(_HALF.sub("\ufffd", text).encode()).hexdigest()


def _about(attempt: Attempt) -> Mapping[str, Any]:
    return {
        **{name: attempt[name] for name in ("id", "wallet", "network")},  # type: ignore[literal-required]
        "url": _place_of(attempt["url"]),
        "method": utf16_slice(attempt["method"], _MAX_METHOD),
    }


def _place_of(url: str) -> str:
    """An address without what may hold a secret: user, query and fragment."""
    address = parse_address(url)
    if address is None:
        return ""
    return utf16_slice(f"{address.origin}{address.path}", _MAX_URL)
