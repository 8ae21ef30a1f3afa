"""Keys of purchases that are over, which must not be paid again."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Union

from .._base.js import stringify
from .types import Attempt, Owner

# Keys are remembered for a day at least, and longer while they are fewer than this.
_FEWEST = 10_000
_DAY_MS = 24 * 60 * 60 * 1000

# A purchase under a key: the attempt in brief, or its place in the archive.
Remembered = Union[str, int]


class SpentKey(NamedTuple):
    """A key and its purchase.

    ``at`` is when the purchase was over, or when its generation of keys began. Milliseconds since
    the epoch.
    """

    owner: Owner
    key: str
    one: Remembered
    at: float


class _Generation(NamedTuple):
    at: float
    keys: dict[tuple[Owner, str], list[Remembered]]


class SpentKeys:
    """The last two generations of spent keys."""

    def __init__(self) -> None:
        self._generations: list[_Generation] = []

    def add(self, owner: Owner, key: str, purchase: Remembered, at: float) -> None:
        """Adds a purchase under a key. ``at`` is when the purchase was over."""
        last = self._generations[-1] if self._generations else None
        if last is None or (at - last.at >= _DAY_MS and len(last.keys) >= _FEWEST):
            last = _Generation(at, {})
            self._generations = [*self._generations[-1:], last]
        last.keys.setdefault((owner, key), []).append(purchase)

    def find(self, owner: Owner, key: str) -> list[Remembered]:
        """Returns the purchases under a key, in the order in which they were added."""
        name = owner, key
        return [
            purchase
            for generation in self._generations
            for purchase in generation.keys.get(name, ())
        ]

    def content(self) -> list[SpentKey]:
        """Returns all keys, the older generation first."""
        return [
            SpentKey(owner, key, purchase, generation.at)
            for generation in self._generations
            for (owner, key), purchases in generation.keys.items()
            for purchase in purchases
        ]


def spent_key_of(attempt: Attempt) -> str | None:
    """Returns the key by which an attempt must still be found once it is over."""
    return attempt.get("idempotencyKey") if attempt["state"] == "settled" else None


_PLACE = ("id", "at", "url", "method", "host", "fingerprint", "payTo", "mint", "amount")
_PAID = ("payerSignature", "signature", "decimals", "uiAmount")


def brief_of(attempt: Attempt) -> str | None:
    """Returns a delivered purchase in brief, to remember by its key.

    It holds what was bought, and what proves the payment, but it cannot present the payment again.
    None without a receipt.
    """
    receipt: dict[str, Any] | None = attempt.get("receipt")
    if receipt is None:
        return None
    fields: dict[str, Any] = {**attempt}
    paid = [receipt["payment"].get(name) for name in _PAID]
    return stringify([*(fields[name] for name in _PLACE), *paid, receipt.get("swap")])


def of_brief(owner: Owner, idempotency_key: str, brief: str) -> Attempt:
    """Returns the attempt of a brief, as far as the brief remembers it."""
    values = json.loads(brief)
    place, paid, swap = dict(zip(_PLACE, values)), dict(zip(_PAID, values[9:])), values[13]
    payment = {
        "network": owner.network,
        "mint": place["mint"],
        "amount": place["amount"],
        **{name: paid[name] for name in ("decimals", "uiAmount")},
        "payTo": place["payTo"],
        "payer": owner.wallet,
        "payerSignature": paid["payerSignature"],
        **({} if paid["signature"] is None else {"signature": paid["signature"]}),
    }
    attempt: Any = {
        **place,
        **owner._asdict(),
        "state": "settled",
        "delivered": True,
        "idempotencyKey": idempotency_key,
        "payment": {
            "header": {"name": "", "value": ""},
            "payerSignature": paid["payerSignature"],
            "source": "",
            "slot": 0,
            "blockhash": "",
            "blockhashSlot": 0,
            "lastValidBlockHeight": "0",
        },
        "receipt": {
            **{name: place[name] for name in ("id", "url", "method", "at")},
            "state": "settled",
            "timings": {},
            "payment": payment,
            **({} if swap is None else {"swap": swap}),
            "cost": {"networkFeeLamports": "0", "rentLamports": "0"},
        },
    }
    found: Attempt = attempt
    return found


def lean_of(attempt: Attempt) -> Attempt:
    """Returns an attempt without the bytes that no call will present or send again."""
    # Keep the bytes: a repeated call under the same key presents a delivered payment again.
    if spent_key_of(attempt) is not None:
        return attempt
    lean = attempt.copy()
    if "swap" in attempt:
        lean["swap"] = {**attempt["swap"], "transaction": ""}
    if "payment" in attempt:
        header = attempt["payment"]["header"]
        lean["payment"] = {**attempt["payment"], "header": {"name": header["name"], "value": ""}}
    return lean
