"""Judges offers by every check that needs no chain. A returned offer is safe to look up there."""

from __future__ import annotations

import math
from typing import Any, Mapping, NamedTuple, Sequence, Union

from .._base.amounts import parse_amount
from .._base.json_types import is_integer, is_number, record_of
from .._base.network import to_network
from .._base.text import clean_text, trim
from .._solana.address import Address, is_address, is_reserved
from ..errors import ErrorCode, ExactChangeError, failure
from .other_networks import other_network
from .types import JsonObject, Offer, PaymentRequired, X402Version

_MEMO_LIMIT_BYTES = 256
# Fields of `extra` that only facilitators younger than version 1 write. They take a memo
# (x402.md 2.4).
_YOUNGER = ("recentBlockhash", "tokenProgram", "features")
# Fields of an entry that an error shows if they are strings.
_SHOWN = ("scheme", "network", "asset", "payTo", "amount", "maxAmountRequired")


class OfferRefusal(NamedTuple):
    """Why an entry of ``accepts`` was not paid."""

    position: int
    code: ErrorCode
    message: str
    # The seller's own strings, capped and cleaned.
    untrusted: Mapping[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the refusal as a dict that JSON can hold."""
        fields: dict[str, Any] = {
            "index": self.position,
            "code": self.code,
            "message": self.message,
        }
        return fields if self.untrusted is None else {**fields, "untrusted": dict(self.untrusted)}


class RefusedOffer(NamedTuple):
    """An entry that cannot be paid."""

    refusal: OfferRefusal
    error: ExactChangeError


OfferReading = Union[Offer, RefusedOffer]


class JudgedOffers(NamedTuple):
    """The judged entries of ``accepts``, and the terms that hold them."""

    # The v2 header or the v1 body: a response may hold both.
    terms: PaymentRequired
    # In the seller's order.
    readings: Sequence[OfferReading]


class _Refused(Exception):
    """Why an entry cannot be paid; ``why`` completes the sentence "Offer n ...".

    ``following`` is a sentence that says what the reader can do.
    """

    def __init__(self, code: ErrorCode, why: str, following: str) -> None:
        super().__init__(why)
        self.code: ErrorCode = code
        self.why = why
        self.following = following


def judge_offers(terms: PaymentRequired, network: str, wallet: Address) -> JudgedOffers:
    """Judges the offers of the terms.

    If none can be paid and a v1 body came beside the v2 header, it judges the offers of that body.
    """
    readings = _read_all(terms, network, wallet)
    if terms.fallback is None or any(isinstance(reading, Offer) for reading in readings):
        return JudgedOffers(terms, readings)
    return JudgedOffers(terms.fallback, _read_all(terms.fallback, network, wallet))


def _read_all(terms: PaymentRequired, network: str, wallet: Address) -> list[OfferReading]:
    readings: list[OfferReading] = []
    for index, entry in enumerate(terms.accepts):
        try:
            if _is_shadowed(terms, index):
                raise _unsupported(
                    "comes after another with the same scheme and network, and v1 sellers settle "
                    "only the first"
                )
            readings.append(_read(entry, index, terms.version, network, wallet))
        except _Refused as refused:
            readings.append(_refusal(entry, index, refused))
    return readings


def _read(
    entry: JsonObject, index: int, version: X402Version, network: str, wallet: Address
) -> Offer:
    scheme, name = entry.get("scheme"), entry.get("network")
    if not isinstance(scheme, str):
        raise _malformed("names no scheme")
    if trim(scheme).lower() != "exact":
        raise _unsupported("asks for a scheme other than exact")
    if not isinstance(name, str):
        raise _malformed("names no network")
    if to_network(name) != network:
        raise _Refused("unsupported_network", *other_network(name, network))

    amount = _read_amount(entry.get("maxAmountRequired" if version == 1 else "amount"))
    if amount is None:
        raise _malformed("has an amount that is not a whole number of base units from 1 to 2^64-1")
    if amount == 0:
        raise _unsupported("asks for an amount of 0, which pays nothing")

    mint, pay_to = entry.get("asset"), entry.get("payTo")
    if not is_address(mint):
        raise _malformed("has an asset that is not a base58 mint address")
    if is_reserved(mint):
        raise _unsupported("has an asset that is a system address")
    if not is_address(pay_to):
        raise _malformed("has a payTo that is not a base58 address")
    if is_reserved(pay_to):
        raise _unsupported("pays to a system address")
    if pay_to == mint:
        raise _unsupported("pays to the mint itself")
    if pay_to == wallet:
        raise _unsupported("pays to the paying wallet")

    extra = record_of(entry.get("extra"))
    fee_payer = _read_fee_payer(extra, mint, wallet)
    memo = _read_memo(extra)
    blockhash = extra.get("recentBlockhash")
    # Version 1 has its own names of networks, so a CAIP-2 name shows a younger seller.
    is_younger = any(extra.get(key) is not None for key in _YOUNGER)
    return Offer(
        index,
        version,
        network,
        amount,
        mint,
        pay_to,
        fee_payer,
        memo,
        version == 2 or ":" in name or is_younger,
        # A blockhash has the form of an address. A wrong blockhash costs only another lookup.
        blockhash if version == 2 and is_address(blockhash) else None,
        extra.get("decimals"),
        _read_timeout(entry.get("maxTimeoutSeconds")),
        entry,
    )


def _read_fee_payer(extra: Mapping[str, Any], mint: Address, wallet: Address) -> Address:
    flow = extra.get("paymentFlow")
    if flow is not None and flow != "authorization":
        raise _unsupported("asks for a payment flow other than authorization")
    fee_payer = extra.get("feePayer")
    if not is_address(fee_payer):
        raise _malformed("has no extra.feePayer that is a base58 address")
    if is_reserved(fee_payer) or fee_payer == mint:
        raise _unsupported("names a fee payer that cannot sign")
    if fee_payer == wallet:
        raise _unsupported("names the paying wallet as fee payer")
    return fee_payer


def _read_memo(extra: Mapping[str, Any]) -> str | None:
    memo = extra.get("memo")
    # An empty memo is no memo to the reference facilitator.
    if memo is None or memo == "":
        return None
    if not isinstance(memo, str):
        raise _malformed("has a memo that is not text")
    # Count a lone surrogate as three bytes, as JavaScript does; UTF-8 cannot encode it.
    if len(memo.encode("utf-8", "surrogatepass")) > _MEMO_LIMIT_BYTES:
        raise _unsupported(f"has a memo of more than {_MEMO_LIMIT_BYTES} bytes")
    if not all(_is_clean(ord(character)) for character in memo):
        raise _unsupported("has a memo with control characters or broken text")
    return memo


def _is_clean(point: int) -> bool:
    """Rejects C0 and C1 control characters, and lone surrogates, which UTF-8 cannot encode."""
    return not (point < 0x20 or 0x7F <= point < 0xA0 or 0xD800 <= point < 0xE000)


def _is_shadowed(terms: PaymentRequired, index: int) -> bool:
    """Returns whether a v1 seller would match an earlier entry.

    A v1 seller takes the first entry with the payment's scheme and network (x402.md 1.5).
    """
    if terms.version != 1:
        return False
    entry = terms.accepts[index]
    return any(
        _is_same(earlier.get("scheme"), entry.get("scheme"))
        and _is_same(earlier.get("network"), entry.get("network"))
        for earlier in terms.accepts[:index]
    )


def _is_same(a: object, b: object) -> bool:
    """Compares as ``===`` in JavaScript: objects and arrays equal only themselves."""
    if isinstance(a, (dict, list)):
        return a is b
    return type(a) is type(b) and a == b


def _read_amount(value: object) -> int | None:
    """Reads strict decimal text, or a number that is exact (security.md P1)."""
    return parse_amount(str(value) if is_integer(value) and value >= 0 else value)


def _read_timeout(value: object) -> int:
    return min(300, max(5, math.floor(value))) if is_number(value) else 60


def _malformed(why: str) -> _Refused:
    return _Refused(
        "malformed_payment_required",
        why,
        "Nothing was paid; the seller has to correct its terms.",
    )


def _unsupported(why: str) -> _Refused:
    return _Refused(
        "unsupported_offer",
        why,
        "Nothing was paid; the seller has to offer a payment of the scheme exact to a wallet of "
        "its own.",
    )


def _refusal(entry: JsonObject, index: int, refused: _Refused) -> RefusedOffer:
    message = f"Offer {index + 1} {refused.why}. {refused.following}"
    shown = {key: entry[key] for key in _SHOWN if isinstance(entry.get(key), str)}
    untrusted = {key: clean_text(value) for key, value in shown.items()}
    details: dict[str, Any] = {"reason": refused.why}
    if refused.code == "unsupported_network":
        details = {"network": to_network(shown.get("network", "")) or "other"}
    return RefusedOffer(
        OfferRefusal(index, refused.code, message, untrusted),
        failure(refused.code, message, details, untrusted=untrusted),
    )
