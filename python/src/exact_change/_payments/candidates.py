"""Tokens to swap from, in their order."""

from __future__ import annotations

from typing import Sequence

from .._base.network import pinned_mint
from .._base.runtime import since_then
from .._kernel.signals import Signal
from .._kernel.steps import all_of, join, start
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.candidates import Candidate
from ..errors import ExactChangeError
from .context import PaymentContext
from .prices import UsdPrice, is_price_unknown, usd_price_of

# Quotes are scarce: so many candidates are quoted side by side.
MAX_COMPARED = 3
# jupiter.md 2.4: about so many calls for one payment.
MAX_UNSELLABLE = 8
_MAX_VALUED = 5
# For so long a token that a swap failed out of is not looked at beside those that are pinned.
_FAILED_MS = 10 * 60_000
# Before anything was signed: what a token, its account or its market is to blame for.
_CANDIDATE_CODES = (
    "account_unusable",
    "unknown_mint",
    "mint_not_supported",
    "unsafe_swap",
    "transaction_too_large",
    "simulation_failed",
    "no_route",
    "price_impact_too_high",
    "swap_overhead_too_high",
    "price_unknown",
    "quote_mismatch",
    "amount_over_limit",
)


def concerns_candidate(error: ExactChangeError) -> bool:
    """Whether a swap that failed may well do from another token.

    Nothing of it was signed, and only its own token is to blame.
    """
    return error.funds == "untouched" and error.code in _CANDIDATE_CODES


def first_that_pays(
    context: PaymentContext,
    candidates: Sequence[Candidate],
    mint: Address,
    amount: int,
    signal: Signal | None,
) -> Steps[Candidate | None]:
    """By the client's own prices, so that no quote is asked for of what cannot be enough."""
    for candidate in candidates:
        if (yield from may_pay(context, candidate, mint, amount, signal)):
            return candidate
    return None


def may_pay(
    context: PaymentContext,
    candidate: Candidate,
    mint: Address,
    amount: int,
    signal: Signal | None,
) -> Steps[bool]:
    """What has no price may pay.

    So may what has none yet, as long as no other call waits for that price: the first quotes beside
    it, and so many strangers that ask together cost one quote more.
    """
    mints = candidate.mint, mint
    is_first = any(is_price_unknown(context, one, signal) for one in mints)
    prices = yield from start(all_of([price_of(context, one, signal) for one in mints]))
    if is_first:
        return True
    worth, wanted = yield from join(prices)
    if worth is None or wanted is None:
        return True
    return worth.most(candidate.available) >= wanted.least(amount)


def price_of(
    context: PaymentContext, mint: Address, signal: Signal | None
) -> Steps[UsdPrice | None]:
    """Whatever keeps it from being known is met again by the check that needs it."""
    try:
        return (yield from usd_price_of(context, mint, signal))
    except ExactChangeError:
        return None


class CandidateQueue:
    """Gives out candidates: the caller's own order, or stablecoins, SOL, then others by value.

    Others are priced only when they are reached, and only if there are several: a price costs a
    quote.
    """

    def __init__(
        self, context: PaymentContext, candidates: Sequence[Candidate], signal: Signal | None
    ) -> None:
        self._context = context
        self._signal = signal
        network = context.config.network
        self._first = list(candidates)
        self._is_ours = context.config.swap_from is None
        if self._is_ours:
            self._first = [one for one in candidates if pinned_mint(network, one.mint)]
        # The first few that are pinned, whose costs are compared; none if the caller gave an order.
        self.comparable = self._first[:MAX_COMPARED] if self._is_ours else []
        self._others = [one for one in candidates if one not in self._first]
        self._sorted: list[Candidate] | None = None

    def others(self, signal: Signal) -> Steps[list[Candidate]]:
        """Those that come after all that are pinned; none if the caller gave an order."""
        if not self._is_ours:
            return []
        return (yield from self._by_value([*filter(self._is_sound, self._others)], signal))

    def _is_sound(self, candidate: Candidate) -> bool:
        failed_at = self._context.memory.failed_inputs.get(candidate.mint)
        runtime = self._context.config.runtime
        return failed_at is None or since_then(runtime, failed_at) > _FAILED_MS

    def first(self) -> Steps[list[Candidate]]:
        """Those that are tried first, with no more asked for than their order needs."""
        return self._first or (yield from self._rest())

    def at(self, place: int) -> Steps[Candidate | None]:
        """The one at a place, None behind the last."""
        if place < len(self._first):
            return self._first[place]
        rest = yield from self._rest()
        place -= len(self._first)
        return rest[place] if place < len(rest) else None

    def _rest(self) -> Steps[list[Candidate]]:
        if self._sorted is None:
            self._sorted = self._others
            if len(self._others) > 1:
                self._sorted = yield from self._by_value(self._others, self._signal)
        return self._sorted

    def _by_value(
        self, candidates: Sequence[Candidate], signal: Signal | None
    ) -> Steps[list[Candidate]]:
        valued: list[tuple[int, Candidate]] = []
        unpriced = 0
        for candidate in candidates:
            if unpriced >= MAX_UNSELLABLE or len(valued) >= _MAX_VALUED:
                break
            worth = yield from usd_price_of(self._context, candidate.mint, signal)
            if worth is None:
                unpriced += 1
            else:
                valued.append((worth.least(candidate.available), candidate))
        valued.sort(key=lambda one: -one[0])
        priced = [candidate for _, candidate in valued]
        # Without a price they may still be bounded by the caller's own policy.
        return [*priced, *(one for one in candidates if one not in priced)]
