"""The tokens to swap from, and their order."""

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

# The most candidates that are quoted at the same time, because quotes are scarce.
MAX_COMPARED = 3
# The most candidates without a price. With the next limit, about the calls of jupiter.md 2.4.
MAX_UNSELLABLE = 8
# The most candidates that are sorted by value.
_MAX_VALUED = 5
# If a swap out of a token failed, searches beside the pinned tokens skip it for this time.
_FAILED_MS = 10 * 60_000
# Errors before the signature that only the token, its account or its market causes.
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
    """Returns whether a failed swap may succeed from another token.

    Nothing was signed, and only the input token is at fault.
    """
    return error.funds == "untouched" and error.code in _CANDIDATE_CODES


def first_that_pays(
    context: PaymentContext,
    candidates: Sequence[Candidate],
    mint: Address,
    amount: int,
    signal: Signal | None,
) -> Steps[Candidate | None]:
    """Returns the first candidate that may be worth the amount; see :func:`may_pay`."""
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
    """Returns whether a candidate may be worth the amount, by the client's own prices.

    A quote is asked for only then. A token without a price may be worth it. If a price is not known
    yet and no other call waits for it, the call does not wait either. So only the first of many
    calls at once spends a quote too many.
    """
    mints = candidate.mint, mint
    is_first = any(is_price_unknown(context, address, signal) for address in mints)
    prices = yield from start(all_of([price_of(context, address, signal) for address in mints]))
    if is_first:
        return True
    input_price, output_price = yield from join(prices)
    if input_price is None or output_price is None:
        return True
    return input_price.most(candidate.available) >= output_price.least(amount)


def price_of(
    context: PaymentContext, mint: Address, signal: Signal | None
) -> Steps[UsdPrice | None]:
    """Returns the price of a mint, or None: a later check that needs it reports the error."""
    try:
        return (yield from usd_price_of(context, mint, signal))
    except ExactChangeError:
        return None


class CandidateQueue:
    """Returns candidates in the caller's order, else stablecoins, SOL, then the rest by value.

    The rest is priced when it is reached, and only if it has several tokens. A price costs a quote.
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
            self._first = [token for token in candidates if pinned_mint(network, token.mint)]
        # The first pinned candidates, to compare by cost; none if the caller set an order.
        self.comparable = self._first[:MAX_COMPARED] if self._is_ours else []
        self._others = [token for token in candidates if token not in self._first]
        self._sorted: list[Candidate] | None = None

    def others(self, signal: Signal) -> Steps[list[Candidate]]:
        """Returns the candidates that are not pinned, by value; none if the caller set an order."""
        if not self._is_ours:
            return []
        return (yield from self._by_value([*filter(self._is_sound, self._others)], signal))

    def _is_sound(self, candidate: Candidate) -> bool:
        failed_at = self._context.memory.failed_inputs.get(candidate.mint)
        runtime = self._context.config.runtime
        return failed_at is None or since_then(runtime, failed_at) > _FAILED_MS

    def first(self) -> Steps[list[Candidate]]:
        """Returns the candidates to try first; asks for prices only if none is pinned."""
        return self._first or (yield from self._sorted_others())

    def at(self, place: int) -> Steps[Candidate | None]:
        """Returns the candidate at an index; None after the last."""
        if place < len(self._first):
            return self._first[place]
        others = yield from self._sorted_others()
        place -= len(self._first)
        return others[place] if place < len(others) else None

    def _sorted_others(self) -> Steps[list[Candidate]]:
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
            price = yield from usd_price_of(self._context, candidate.mint, signal)
            if price is None:
                unpriced += 1
            else:
                valued.append((price.least(candidate.available), candidate))
        valued.sort(key=lambda entry: -entry[0])
        priced = [candidate for _, candidate in valued]
        # Keep tokens without a price: the caller's policy may bound them in base units.
        return [*priced, *(token for token in candidates if token not in priced)]
