"""Finds a swap for all payments that wait for a token."""

from __future__ import annotations

from typing import Callable, TypeVar

from .._base.runtime import stopwatch
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, check
from .._kernel.steps import ensure, join, quiet, sleep, start, timer
from .._kernel.task import Steps
from .._solana.address import Address
from .._x402.types import Offer
from .choose import Choice
from .context import PaymentContext
from .funding import FundingOptions, ask_about, find_funding, is_pinned
from .funds import Funding
from .offer_accounts import OfferFacts, known_available

# Longest wait for a call that is choosing an offer. A choice takes a few answers of a node.
_ARRIVAL_MS = 1_000
# Longest wait for all calls that are made together.
_CROWD_MS = 10_000
# The need must not grow for `_LOOKS` checks in a row, `_QUIET_MS` apart. One check is not enough: a
# process that was suspended has seen no new call either.
_QUIET_MS = 10
_LOOKS = 5

T = TypeVar("T")


def while_choosing(
    context: PaymentContext, work: Callable[[Callable[[], None]], Steps[T]]
) -> Steps[T]:
    """Runs work that chooses an offer and pays it; the swaps of other calls wait for its need.

    ``work`` calls its argument once the need of the call counts. At its end it is called anyway.
    """
    on_counted = context.wallet.choosing_calls.enter((yield from this_host()))

    def counted() -> Steps[None]:
        on_counted()
        yield from ()

    # Not `finally`: that would also run in a finalizer, and wake other calls outside of a turn.
    return (yield from ensure(work(on_counted), counted))


def find_swap(
    context: PaymentContext,
    choice: Choice,
    facts: OfferFacts,
    needed: int | None,
    excluded: frozenset[Address],
    signal: Signal | None,
) -> Steps[Funding]:
    """Finds a swap for a payment that lacks tokens.

    ``needed``: base units that the wallet must hold after the swap. None: enough for all payments
    that wait for the token.
    """
    offer = choice.offer

    def find(signal: Signal | None) -> Steps[Funding]:
        if needed is None:
            return _find_for_all(context, choice, facts, excluded, signal)
        options = FundingOptions(excluded, to_swap=True, exact=True)
        return find_funding(context, offer, facts, needed, options, signal)

    return ask_about(context, offer.mint, signal, find)


def _find_for_all(
    context: PaymentContext,
    choice: Choice,
    facts: OfferFacts,
    excluded: frozenset[Address],
    signal: Signal | None,
) -> Steps[Funding]:
    """Finds a swap for all payments that wait for the token when the search ends.

    First it waits for calls that were made together, because they arrive one after the other.
    """
    offer = choice.offer
    yield from _others_arrived(context, offer, signal)

    def needs() -> int:
        # A token that is not pinned may be worthless, so each payment buys only what it lacks.
        if not is_pinned(context, offer.mint):
            return offer.amount
        return max(offer.amount, context.wallet.needed_by_mint.needed(offer.mint))

    needed = needs()
    planned = choice.funding
    if planned is not None and planned.input_mint in excluded:
        planned = None
    found = planned
    if found is None or found.brings < needed - facts.available:
        found = yield from _find_enough(context, offer, facts, needed, excluded, signal)
    needed_now = needs()
    available = yield from known_available(context, facts.source)
    now = facts if available is None else facts._replace(available=available)
    if needed_now <= needed or found.brings >= needed_now - now.available:
        return found
    return (
        yield from quiet(_find_enough(context, offer, now, needed_now, excluded, signal), found)
    )


def _find_enough(
    context: PaymentContext,
    offer: Offer,
    facts: OfferFacts,
    needed: int,
    excluded: frozenset[Address],
    signal: Signal | None,
) -> Steps[Funding]:
    """Finds a swap for all waiting payments; if the wallet cannot afford it, for this payment."""
    options = FundingOptions(excluded, to_swap=True)
    if needed > offer.amount:
        found = yield from quiet(find_funding(context, offer, facts, needed, options, signal))
        if found is not None:
            return found
    return (yield from find_funding(context, offer, facts, offer.amount, options, signal))


def _others_arrived(context: PaymentContext, offer: Offer, signal: Signal | None) -> Steps[None]:
    """Waits for calls that were made together with this call.

    Calls that are choosing an offer may lack the same token. If other calls lack it already, more
    calls may follow.
    """
    elapsed = stopwatch(context.config.runtime)
    yield from _arrived(context, signal)
    choosing, mints = context.wallet.choosing_calls, context.wallet.needed_by_mint
    before, looks, grown_at = mints.needed(offer.mint), 0, elapsed()
    while before > offer.amount and looks < _LOOKS and elapsed() < _CROWD_MS:
        yield from sleep(_QUIET_MS, signal)
        now = mints.needed(offer.mint)
        looks = looks + 1 if now == before and choosing.is_empty else 0
        if now != before:
            grown_at = elapsed()
        if elapsed() - grown_at >= _ARRIVAL_MS:
            return
        before = now


def _arrived(context: PaymentContext, signal: Signal | None) -> Steps[None]:
    """Waits until all calls have chosen an offer, or ``_ARRIVAL_MS``."""
    all_chosen = yield from start(context.wallet.choosing_calls.all_chosen())
    if all_chosen.is_settled:
        return
    patience = Signal()
    call_off = yield from timer(_ARRIVAL_MS, patience.abort)
    try:
        yield from quiet(join(all_chosen, patience, signal))
    finally:
        call_off()
    check(signal)
