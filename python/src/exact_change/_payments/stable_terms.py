"""Terms by which a call may be paid with its first request."""

from __future__ import annotations

import re

from .._base.runtime import since_then
from .._base.urls import Address, parse_address
from .._config.options import Config
from .._x402.types import Offer, PaymentRequired
from ..errors import ExactChangeError, failure
from .call import Call, Reply
from .context import PaymentContext
from .memory import StableTerms, make_room

# For how long terms of an address that the caller has named are kept, in milliseconds.
_NAMED_MS = 5 * 60_000
# However long a seller says that its terms hold.
_MOST_MS = 24 * 60 * 60_000
_MAX_AGE = re.compile("max-age=([0-9]{1,9})")


def has_charged(context: PaymentContext, call: Call) -> bool:
    """Whether its place was paid before, and mostly charges again."""
    address = parse_address(call.asked_at)
    return address is not None and address.origin in context.memory.charging


def stable_terms_of(context: PaymentContext, call: Call) -> PaymentRequired | None:
    """Terms by which a call may be paid ahead; None if there are none."""
    address = parse_address(call.asked_at)
    # What a redirect led to is asked first.
    if address is None or call.is_redirected:
        return None
    kept = context.memory.stable_terms.get(_name_of(context.config, call.method, address))
    if kept is None or since_then(context.config.runtime, kept.at) >= kept.ms:
        return None
    return kept.terms


def note_charge(
    context: PaymentContext, call: Call, terms: PaymentRequired, unpaid: Reply, paid: Reply
) -> None:
    """Remembers that a call was charged for, and its terms if the next may be paid ahead.

    ``unpaid``: the answer that the terms came with. ``paid``: that to the paid request.
    """
    memory, address = context.memory, parse_address(call.asked_at)
    if address is None:
        return
    make_room(memory.charging)
    memory.charging.add(address.origin)
    ms = _lifetime_of(context.config, call, address, unpaid)
    if ms <= 0 or call.is_redirected or not 200 <= paid.status < 300:
        return
    make_room(memory.stable_terms)
    name = _name_of(context.config, call.method, address)
    memory.stable_terms[name] = StableTerms(terms, context.now(), ms)


def forget_stable_terms(context: PaymentContext, call: Call) -> None:
    """The next call to the same address asks first."""
    address = parse_address(call.asked_at)
    if address is not None:
        name = _name_of(context.config, call.method, address)
        context.memory.stable_terms.pop(name, None)


def only_paid_ahead(offer: Offer, _price: int | None) -> ExactChangeError | None:
    """Refuses an offer that was made for one call alone."""
    if offer.memo is None and offer.recent_blockhash is None:
        return None
    return failure(
        "unsupported_offer",
        "The offer cannot be paid ahead, so the seller is asked first.",
        {"reason": "not to be paid ahead"},
    )


def _name_of(config: Config, method: str, address: Address) -> str:
    """What a seller says holds for one URL; what the caller says of one, for each query too."""
    query = address.query if config.presign == "stated" else ""
    return f"{method} {address.origin}{address.path}{query}"


def _lifetime_of(config: Config, call: Call, address: Address, unpaid: Reply) -> int:
    if config.presign != "stated":
        return _NAMED_MS if any(_is_below(address, one) for one in config.presign) else 0
    if call.method not in ("GET", "HEAD"):
        return 0
    stated = re.split(r"[\s,]+", (unpaid.headers.get("cache-control") or "").lower())
    if "no-store" in stated or "no-cache" in stated:
        return 0
    ages = [found[1] for found in map(_MAX_AGE.fullmatch, stated) if found is not None]
    return min(int(ages[0]) * 1_000, _MOST_MS) if ages else 0


def _is_below(address: Address, base: str) -> bool:
    """Whether an address is another, or below it."""
    named = parse_address(base)
    if named is None or address.origin != named.origin:
        return False
    path = named.path.rstrip("/")
    return address.path == path or address.path.startswith(f"{path}/")
