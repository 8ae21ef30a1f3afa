"""Keeps terms with which a call may be paid in its first request."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._base.runtime import since_then
from .._base.urls import Address, parse_address
from .._config.options import Config
from .._x402.types import Offer, PaymentRequired
from ..errors import ExactChangeError, failure
from .call import Call, Reply
from .context import PaymentContext
from .memory import StableTerms, make_room

# How long terms of a URL that the caller's `presign` names are kept. Milliseconds.
_NAMED_MS = 5 * 60_000
# Longest time that terms are kept, even if the seller states more. Milliseconds.
_MOST_MS = 24 * 60 * 60_000
_AGE = re.compile("[0-9]{1,9}")
_MAX_AGE = re.compile("max-age=([0-9]{1,9})")


def has_charged(context: PaymentContext, call: Call) -> bool:
    """Returns whether this client has paid the call's origin, which will probably charge again."""
    address = parse_address(call.asked_at)
    return address is not None and address.origin in context.memory.charging


def stable_terms_of(context: PaymentContext, call: Call) -> PaymentRequired | None:
    """Returns terms to pay a call ahead; None if there are none."""
    address = parse_address(call.asked_at)
    # After a redirect, ask for terms first.
    if address is None or call.is_redirected:
        return None
    kept = context.memory.stable_terms.get(_name_of(context.config, call.method, address))
    if kept is None or since_then(context.config.runtime, kept.at) >= kept.ms:
        return None
    return kept.terms


class Charge(NamedTuple):
    """A call that its seller charged for."""

    terms: PaymentRequired
    # The 402 with the terms.
    unpaid: Reply
    # When the 402 came. Milliseconds since the epoch.
    at: int
    paid: Reply


def note_charge(context: PaymentContext, call: Call, charge: Charge) -> None:
    """Remembers that a call was charged, and its terms if later calls may be paid ahead."""
    memory, address = context.memory, parse_address(call.asked_at)
    if address is None:
        return
    make_room(memory.charging)
    memory.charging.add(address.origin)
    ms = _lifetime_of(context.config, call, address, charge.unpaid)
    if ms <= 0 or call.is_redirected or not 200 <= charge.paid.status < 300:
        return
    name = _name_of(context.config, call.method, address)
    kept = memory.stable_terms.get(name)
    # A parallel call may have ended first, with terms that its seller gave later.
    if kept is not None and charge.at < kept.at <= context.now():
        return
    make_room(memory.stable_terms)
    memory.stable_terms[name] = StableTerms(charge.terms, charge.at, ms)


def forget_stable_terms(context: PaymentContext, call: Call) -> None:
    """Forgets the terms of a call, so that the next call to its URL asks for terms first."""
    address = parse_address(call.asked_at)
    if address is not None:
        name = _name_of(context.config, call.method, address)
        kept = context.memory.stable_terms.get(name)
        if kept is not None:
            # The time stays: a parallel call that got its terms before may end later.
            context.memory.stable_terms[name] = kept._replace(at=context.now(), ms=0)


def only_paid_ahead(offer: Offer, _price: int | None) -> ExactChangeError | None:
    """Refuses an offer with a memo or a blockhash, because it is for one call only."""
    if offer.memo is None and offer.recent_blockhash is None:
        return None
    return failure(
        "unsupported_offer",
        "The offer cannot be paid ahead, so the seller is asked first.",
        {"reason": "not to be paid ahead"},
    )


def _name_of(config: Config, method: str, address: Address) -> str:
    """Returns the key of stable terms.

    A seller's statement counts for one query only; the caller's ``presign`` counts for every query.
    """
    query = address.query if config.presign == "stated" else ""
    return f"{method} {address.origin}{address.path}{query}"


def _lifetime_of(config: Config, call: Call, address: Address, unpaid: Reply) -> int:
    """Returns the milliseconds for which terms stay valid; 0 or less if they are for one call."""
    if config.presign != "stated":
        return _NAMED_MS if any(_is_below(address, base) for base in config.presign) else 0
    if call.method not in ("GET", "HEAD"):
        return 0
    directives = re.split(r"[\s,]+", (unpaid.headers.get("cache-control") or "").lower())
    if "no-store" in directives or "no-cache" in directives:
        return 0
    lives = [match[1] for match in map(_MAX_AGE.fullmatch, directives) if match is not None]
    # A cache may have kept the 402 for a part of its life.
    age = _AGE.match(unpaid.headers.get("age") or "")
    return min((int(lives[0]) - int(age[0] if age else 0)) * 1_000, _MOST_MS) if lives else 0


def _is_below(address: Address, base: str) -> bool:
    """Returns whether a URL is the base URL, or below its path."""
    base_address = parse_address(base)
    if base_address is None or address.origin != base_address.origin:
        return False
    path = base_address.path.rstrip("/")
    return address.path == path or address.path.startswith(f"{path}/")
