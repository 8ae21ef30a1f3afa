"""Finds a swap, or a wrap of SOL, that brings the missing tokens of a payment."""

from __future__ import annotations

import contextlib
import functools
from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar

from .._base.amounts import U64_MAX
from .._base.network import WSOL_MINT, PinnedMint, pinned_mint
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal, follow
from .._kernel.steps import all_of, done, ensure
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.tokens import associated_token_address
from .._swap.candidates import Candidate, CandidateChoice, Holdings, order_candidates
from .._swap.types import SwapQuote
from .._x402.types import Offer
from ..errors import ExactChangeError, is_code
from .candidates import (
    MAX_COMPARED,
    MAX_UNSELLABLE,
    CandidateQueue,
    concerns_candidate,
    first_that_pays,
    may_pay,
)
from .cheapest import Tried, cheapest_of_all, find_together, found_in
from .context import PaymentContext
from .funds import Funding, funded_by
from .holdings import outdate_holdings, read_all_holdings
from .offer_accounts import OfferFacts
from .prices import usd_price_of
from .relay import with_relay
from .service_plan import ask_service_plan
from .short import KEEP_LAMPORTS, no_token_covers, outdate_balance
from .swap_quote import check_available, quote_for_payment

T = TypeVar("T")
# The most candidates that are tried, because quotes are scarce and a wallet may hold a hundred
# tokens (jupiter.md 5.4).
MAX_CANDIDATES = 3


class FundingOptions(NamedTuple):
    """How to look for a swap."""

    # Input tokens to leave out, because a swap out of them failed.
    excluded: frozenset[Address] = frozenset()
    # The swap will probably be made, so ask a service for its transaction along with the quote.
    to_swap: bool = False
    # The swap brings only the missing tokens, however few.
    exact: bool = False
    # No payment waits for the swap, so a failed search keeps the known balance of the account.
    is_beside: bool = False


def find_funding(
    context: PaymentContext,
    offer: Offer | PinnedMint,
    facts: OfferFacts,
    needed: int,
    options: FundingOptions,
    signal: Signal | None,
) -> Steps[Funding]:
    """Finds an input token and a quote that brings at least the missing tokens.

    The quote brings ``policy.min_swap`` if that is more and the wallet can afford it. ``needed``:
    base units that the wallet must hold after the swap, for this payment and the payments that wait
    with it. Raises ``insufficient_funds``, or the error of the best candidate.
    """
    holdings = yield from read_all_holdings(context, signal)
    search = _Search(context, holdings, offer, facts, needed, options, signal)
    try:
        funding = yield from search.run()
        return (yield from with_relay(context, funding, offer.mint, signal))
    except Exception:
        # Read the wallet again next time, because the caller may fund it now.
        outdate_holdings(context)
        if not options.is_beside:
            yield from outdate_balance(context, facts)
        raise


class _Search(NamedTuple):
    context: PaymentContext
    holdings: Holdings
    offer: Offer | PinnedMint
    facts: OfferFacts
    needed: int
    options: FundingOptions
    signal: Signal | None

    def run(self) -> Steps[Funding]:
        mint = self.offer.mint
        swap_from = self.context.config.swap_from
        takes_sol = swap_from is None or WSOL_MINT in swap_from
        if mint == WSOL_MINT and takes_sol and WSOL_MINT not in self.options.excluded:
            wrapping = yield from self._wrap()
            if wrapping is not None:
                return wrapping
        choice = CandidateChoice(mint, KEEP_LAMPORTS, swap_from, (yield from self._reserved()))
        candidates = [
            candidate
            for candidate in order_candidates(self.holdings, choice)
            if candidate.mint not in self.options.excluded
        ]
        if not candidates:
            raise self._short()
        return (yield from self._first_of(candidates, (yield from self._amounts())))

    @property
    def _missing(self) -> int:
        return self.needed - self.facts.available

    def _first_of(self, candidates: Sequence[Candidate], amounts: Sequence[int]) -> Steps[Funding]:
        """Returns the first swap that brings one of the amounts, which are tried in order."""
        context, mint, signal = self.context, self.offer.mint, self.signal
        reasons: list[ExactChangeError] = []
        queue = CandidateQueue(context, candidates, signal)
        unsellable: set[Address] = set()
        for amount in amounts:
            offer = self.offer if self.options.to_swap else None
            if isinstance(offer, Offer) and context.transport.is_distant:
                first = yield from queue.first()
                planned = yield from self._plan_at_service(offer, first, amount)
                if planned is not None:
                    return planned
            comparable = queue.comparable if is_pinned(context, mint) else ()
            searches = [self._try(candidate, amount) for candidate in comparable]
            tried = yield from find_together(searches, signal)
            found_first = found_in(tried)
            if found_first:
                search_later = functools.partial(self._search_later, queue, amount)
                return (yield from cheapest_of_all(context, found_first, search_later, signal))
            known = {entry.candidate.mint: entry.found for entry in tried}
            compared, place = 0, -1
            while True:
                place += 1
                candidate = yield from queue.at(place)
                if candidate is None:
                    break
                if candidate.mint in unsellable:
                    continue
                if compared >= MAX_CANDIDATES or len(unsellable) >= MAX_UNSELLABLE:
                    break
                found = known.get(candidate.mint)
                if found is None:
                    found = (yield from self._try(candidate, amount)).found
                if isinstance(found, Funding):
                    return found
                reasons.append(found)
                # A token without a market does not count as tried: wallets get worthless tokens by
                # the trillion.
                if found.code in ("no_route", "price_unknown"):
                    unsellable.add(candidate.mint)
                # A candidate that is worth too little does not count as tried either: that may show
                # only here, because its price was not known yet.
                elif found.code != "insufficient_funds" or not is_pinned(context, mint):
                    compared += 1
            if not any(reason.code == "insufficient_funds" for reason in reasons):
                break
        # The best candidate's error says the most, unless it is worth too little.
        best = next((error for error in reasons if error.code != "insufficient_funds"), None)
        raise self._short() if best is None else best

    def _search_later(
        self, queue: CandidateQueue, amount: int, signal: Signal
    ) -> Steps[Sequence[Funding]]:
        search = self._replace(signal=signal)
        later = (yield from queue.others(signal))[:MAX_COMPARED]
        return found_in((yield from all_of([search._try(token, amount) for token in later])))

    def _try(self, candidate: Candidate, amount: int) -> Steps[Tried]:
        context, mint, signal = self.context, self.offer.mint, self.signal
        if is_pinned(context, mint) and not (
            yield from may_pay(context, candidate, mint, amount, signal)
        ):
            return Tried(candidate, self._short())
        try:
            quote = yield from self._quote_from(candidate, amount)
        except ExactChangeError as error:
            # An error of this candidate leads to the next. Any other error, such as a rate limit
            # or an outage, concerns all candidates and ends the search.
            if not _is_reason(error):
                raise
            return Tried(candidate, error)
        return Tried(candidate, funded_by(candidate, quote))

    def _wrap(self) -> Steps[Funding | None]:
        native = self.holdings.lamports - KEEP_LAMPORTS
        amounts: Sequence[int] = [self._missing]
        # A wrap needs no price.
        with contextlib.suppress(ExactChangeError):
            amounts = yield from self._amounts()
        wrap = next((amount for amount in amounts if native >= amount), None)
        return None if wrap is None else Funding(WSOL_MINT, wrap, wrap)

    def _plan_at_service(
        self, offer: Offer, candidates: Sequence[Candidate], amount: int
    ) -> Steps[Funding | None]:
        """Returns the swap of the first candidate that may hold enough, as a service plans it.

        The service quotes and builds it in one call. It must pass the checks of any other quote.
        None if it does not; then the quote and the transaction are separate requests.
        """
        context, mint, signal = self.context, offer.mint, self.signal
        candidate = yield from first_that_pays(context, candidates, mint, amount, signal)
        if candidate is None:
            return None
        planned = yield from ask_service_plan(context, offer, candidate.mint, amount, signal)
        if planned is None:
            return None
        try:
            quote = yield from self._quote_from(candidate, amount, planned.quote)
        except ExactChangeError as error:
            if _is_reason(error):
                return None
            raise
        return funded_by(candidate, quote)._replace(built=planned.transaction)

    def _quote_from(
        self, candidate: Candidate, wanted: int, given: SwapQuote | None = None
    ) -> Steps[SwapQuote]:
        config = self.context.config
        slippage = config.policy.max_slippage_bps
        request = ResolvedRequest(candidate.mint, self.offer.mint, wanted, "ExactOut", slippage)
        quote = yield from quote_for_payment(self.context, request, self.signal, given)
        check_available(config.network, quote, candidate.available)
        return quote

    def _amounts(self) -> Steps[Sequence[int]]:
        """Returns the amounts to try, in order: a larger ``policy.min_swap`` comes first.

        A candidate that can pay for the larger amount comes before candidates that can pay only for
        this payment.
        """
        context, mint, missing = self.context, self.offer.mint, self._missing
        if self.options.exact or not is_pinned(context, mint):
            return [missing]
        price = yield from usd_price_of(context, mint, self.signal, self.facts.decimals)
        min_swap = 0 if price is None else price.amount_of(context.config.policy.min_swap)
        return [min_swap, missing] if missing < min_swap <= U64_MAX else [missing]

    def _reserved(self) -> Steps[Mapping[Address, int]]:
        """Returns the base units that payments in flight hold, by mint."""
        ledger, wallet = self.context.ledger, self.holdings.wallet
        reserved: dict[Address, int] = {}
        for address, account in self.holdings.tokens:
            # Any wallet may create a second account of a token and give it to this wallet.
            held = yield from ledger.held(address)
            reserved[account.mint] = reserved.get(account.mint, 0) + held
        pinned = pinned_mint(self.context.config.network, WSOL_MINT)
        if pinned is not None:
            wrapped = associated_token_address(wallet, WSOL_MINT, pinned.token_program)
            reserved[WSOL_MINT] = yield from ledger.held(wrapped)
        return reserved

    def _short(self) -> ExactChangeError:
        return no_token_covers(self.context, self.offer.mint, self.needed, self.facts)


def is_pinned(context: PaymentContext, mint: Address) -> bool:
    """Returns whether a mint is pinned, so that no seller can invent its value."""
    return pinned_mint(context.config.network, mint) is not None


def ask_about(
    context: PaymentContext,
    mint: Address,
    signal: Signal | None,
    ask: Callable[[Signal | None], Steps[T]],
) -> Steps[T]:
    """Asks Jupiter about a swap into a mint; with low priority if the mint is not pinned."""
    if is_pinned(context, mint):
        return ask(signal)
    low_priority = follow(context.closing if signal is None else signal, is_low_priority=True)

    def end() -> Steps[None]:
        low_priority.end()
        return done(None)

    return ensure(ask(low_priority.signal), end)


def _is_reason(error: ExactChangeError) -> bool:
    """Returns whether an error concerns one candidate only."""
    return concerns_candidate(error) or is_code(error, "insufficient_funds")
