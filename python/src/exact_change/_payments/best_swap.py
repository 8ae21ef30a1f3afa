"""Swaps from the best token, or from the next if a swap of that token fails."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.network import WSOL_MINT
from .._config.swap_request import ResolvedRequest
from .._events import Emit
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.types import SwapQuote
from ..errors import ExactChangeError, is_code
from .approval import Approval, no_longer_approved
from .candidates import concerns_candidate
from .context import PaymentContext
from .funding import MAX_CANDIDATES
from .funds import Funding
from .landing import SwapHooks
from .offer_accounts import OfferFacts
from .reconcile.swap_end import Swapped
from .reservation import Reservation
from .run_swap import run_swap
from .swap_cost import SwapTaking, is_over_cap
from .swap_once import SwapTask, is_past_approval, run_wrap

# If a swap does not fit into a cap, the next swap brings its output divided by this.
_LESS = 4


class Wanted(NamedTuple):
    """The tokens that a swap must bring."""

    mint: Address
    # Base units of the mint that the wallet must hold after the swap.
    least: int
    # Finds a swap, without the given input mints. The number is the balance after the swap; None
    # for everything that is wanted.
    find: Callable[[int | None, frozenset[Address]], Steps[Funding]]
    # As in `SwapTask`.
    is_beside: bool = False


class SwapOnRecord(NamedTuple):
    """The reservation that counts a swap, its approval, and its events."""

    emit: Emit
    signal: Signal | None
    reservation: Reservation
    approval: Approval
    on_confirmed: Callable[[], Steps[None]] | None = None


def swap_from_best(
    context: PaymentContext, wanted: Wanted, facts: OfferFacts, task: SwapOnRecord
) -> Steps[Swapped]:
    """Swaps from the best token, or from the next token if only that token is at fault."""
    least = wanted.least
    excluded: frozenset[Address] = frozenset()
    reason: ExactChangeError | None = None
    needed: int | None = None
    while True:
        try:
            funding = yield from wanted.find(needed, excluded)
        except ExactChangeError as error:
            # The error of the best token says more than "insufficient funds" of the other tokens.
            if reason is not None and is_code(error, "insufficient_funds"):
                raise reason from reason.__cause__
            raise
        try:
            return (yield from _swap_into(context, wanted, funding, task))
        except ExactChangeError as error:
            # The whole swap counts against the caps of this payment, even if it brings more than
            # the payment needs. So try a smaller swap.
            brings_more = funding.brings > least - facts.available
            smaller = max(least, _less_than(context, facts, funding))
            if is_over_cap(error) and brings_more and (needed is None or smaller < needed):
                needed = smaller
                continue
            # A swap out of a different token would pay into the same account.
            is_output = is_code(error, "account_unusable") and (
                error.details["account"] == facts.source
            )
            if is_output or not concerns_candidate(error):
                raise
            reason = error if reason is None else reason
            excluded |= {funding.input_mint}
            if len(excluded) >= MAX_CANDIDATES:
                raise reason from reason.__cause__


def _less_than(context: PaymentContext, facts: OfferFacts, funding: Funding) -> int:
    """Returns a smaller balance to swap for after a swap that did not fit into a cap.

    It shrinks in large steps, because each swap has a fee. If each step would ask ``approve``, it
    returns 0, so that the caller's minimum counts.
    """
    if context.config.policy.approve is not None:
        return 0
    return facts.available + funding.brings // _LESS


def _swap_into(
    context: PaymentContext, wanted: Wanted, funding: Funding, task: SwapOnRecord
) -> Steps[Swapped]:
    emit, signal, reservation, approval, on_confirmed = task
    hooks = SwapHooks(emit, signal, reservation.record_swap, reservation.end_swap, on_confirmed)

    def on_planned(taking: SwapTaking) -> Steps[None]:
        return reservation.plan_swap(taking, signal)

    is_approved = yield from approval.ask(funding)
    if funding.quote is None:
        return (yield from run_wrap(context, funding.max_in, hooks, on_planned))
    swap = SwapTask(
        _request_for(funding.quote),
        hooks,
        funding.quote,
        funding.built,
        is_approved,
        # A new quote may not take more than the approved plan.
        funding.max_in if is_approved else funding.available,
        wanted.mint == WSOL_MINT,
        on_planned,
        funding.relay,
        is_beside=wanted.is_beside,
    )
    try:
        return (yield from run_swap(context, swap))
    except ExactChangeError as error:
        is_more = is_code(error, "insufficient_funds") or is_past_approval(error, funding.max_in)
        if is_approved and is_more:
            raise no_longer_approved(error)
        raise


def _request_for(quote: SwapQuote) -> ResolvedRequest:
    """Returns a request for the quote's minimum output; a service may have claimed more."""
    mints = quote.input_mint, quote.output_mint
    return ResolvedRequest(*mints, quote.min_out, "ExactOut", quote.slippage_bps)
