"""Chooses among ``accepts``."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

from .._kernel.deadline import Deadline, start_deadline
from .._kernel.signals import Signal, follow
from .._kernel.task import Steps
from .._policy.caps import check_payment
from .._policy.lists import check_offer, check_place
from .._solana.address import Address
from .._x402.offers import OfferRefusal, RefusedOffer, judge_offers
from .._x402.types import Offer, PaymentRequired
from ..errors import (
    ExactChangeError,
    FundsError,
    PolicyError,
    QuoteError,
    TransportError,
    failure,
)
from .context import PaymentContext
from .funding import FundingOptions, find_funding, is_pinned
from .funds import Funding
from .nothing_payable import nothing_payable
from .offer_accounts import OfferFacts, read_offer_accounts
from .prices import usd_value_of
from .short import short_of

# Quotes are scarce: of several offers that all need a swap, so many are compared.
_MAX_COMPARED = 3
# Offers in tokens that are not pinned whose price is asked for, for one 402: a seller may name any
# number of tokens.
_MAX_UNPINNED = 3
# For all that is asked to compare the offers of one 402, in milliseconds.
_COMPARE_MS = 30_000

# Refuses offers for a reason of the call's own.
Refuse = Callable[[Offer, "int | None"], "ExactChangeError | None"]


class Choice(NamedTuple):
    """The offer to pay, and how."""

    # The envelope that the offer is from.
    terms: PaymentRequired
    offer: Offer
    facts: OfferFacts
    # Millionths of a dollar; None if the mint has no price.
    micro_usd: int | None
    # The swap that gets what is missing, if one had to be compared already.
    funding: Funding | None
    refused: Sequence[OfferRefusal]

    def spend(self, host: str) -> dict[str, Any]:
        """What the caps look at."""
        return _spend_of(self.offer, self.micro_usd, host)


def _spend_of(offer: Offer, micro_usd: int | None, host: str) -> dict[str, Any]:
    spend = {
        "host": host,
        "payTo": offer.pay_to,
        "mint": offer.mint,
        "amount": str(offer.amount),
    }
    return spend if micro_usd is None else {**spend, "microUsd": str(micro_usd)}


def choose(
    context: PaymentContext,
    terms: PaymentRequired,
    host: str,
    signal: Signal | None,
    *,
    quote: bool = False,
    refuse: Refuse | None = None,
) -> Steps[Choice]:
    """Allowed, payable without a swap, then cheapest including the swap, then the seller's order.

    ``host``: of the place that asks. ``quote``: find the swap even if there is nothing to compare
    it with. Raises if nothing is payable, with every entry's reason.
    """
    deadline = yield from start_deadline(_COMPARE_MS, signal)
    # A seller that names its own tokens may have any number of them priced, at any number of hosts.
    giving_way = follow(deadline.signal, is_low_priority=True)
    comparison = _Comparison(context, host, deadline, giving_way.signal, quote, refuse)
    try:
        return (yield from comparison.run(terms))
    except Exception as error:
        late = comparison.in_time(error)
        if late is error:
            raise
        raise late from None
    finally:
        giving_way.end()
        deadline.end()


class _Priced(NamedTuple):
    offer: Offer
    facts: OfferFacts
    micro_usd: int | None = None

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The cheapest first; what has no price last."""
        return self.micro_usd is None, self.micro_usd or 0, self.offer.position


class _Comparison:
    def __init__(
        self,
        context: PaymentContext,
        host: str,
        deadline: Deadline,
        giving_way: Signal,
        quote: bool,
        refuse: Refuse | None,
    ) -> None:
        self._context = context
        self._host = host
        self._deadline = deadline
        self._giving_way = giving_way
        self._quote = quote
        self._refuse = refuse
        self._refused: dict[int, ExactChangeError] = {}
        # With the seller's own strings.
        self._read: dict[int, OfferRefusal] = {}
        self._unpriced: ExactChangeError | None = None

    def run(self, terms: PaymentRequired) -> Steps[Choice]:
        config = self._context.config
        misplaced = check_place(config.policy.lists, self._host)
        if misplaced is not None:
            raise misplaced
        judged = judge_offers(terms, config.network, config.wallet)
        welcome: list[Offer] = []
        for reading in judged.readings:
            if isinstance(reading, RefusedOffer):
                self._refused[reading.refusal.position] = reading.error
                self._read[reading.refusal.position] = reading.refusal
                continue
            refusal = check_offer(
                config.policy.lists, reading.pay_to, reading.mint, reading.network
            )
            if refusal is None:
                welcome.append(reading)
            else:
                self._refused[reading.position] = refusal
        priced = yield from self._priced(welcome)
        held = [one for one in priced if one.facts.available >= one.offer.amount]
        payable = yield from self._allowed(held)
        if payable:
            return self._choice(judged.terms, payable[0], None)
        short = yield from self._allowed([one for one in priced if one not in held])
        if not config.auto_swap:
            for one in short:
                error = short_of(self._context.owner, one.offer, one.facts)
                self._refused[one.offer.position] = error
        elif len(short) == 1 and not self._quote:
            return self._choice(judged.terms, short[0], None)
        else:
            best = yield from self._cheapest(short)
            if best is not None:
                return self._choice(judged.terms, *best)
        # If Jupiter is away, that is the reason, and trying again helps.
        if self._unpriced is not None:
            raise self._unpriced
        raise nothing_payable(self._refused, self._refusals())

    def in_time(self, error: Exception) -> Exception:
        """What a step failed with, in words of ours if it was its deadline."""
        if not self._deadline.has_passed or error is not self._deadline.signal.reason:
            return error
        return failure(
            "timeout",
            f"The offers could not be compared within {_COMPARE_MS} ms, for Jupiter or the RPC "
            "node is slow. Nothing was signed; try again.",
            {"step": "choose", "timeout_ms": _COMPARE_MS},
        )

    def _signal_for(self, mint: Address) -> Signal:
        return self._deadline.signal if is_pinned(self._context, mint) else self._giving_way

    def _priced(self, welcome: Sequence[Offer]) -> Steps[list[_Priced]]:
        """Those that the chain has nothing against, and that are few enough to be priced."""
        read = yield from read_offer_accounts(self._context, welcome, self._deadline.signal)
        priced: list[_Priced] = []
        unpinned = 0
        for offer, facts in read:
            if isinstance(facts, ExactChangeError):
                self._refused[offer.position] = facts
                continue
            unpinned += 0 if is_pinned(self._context, offer.mint) else 1
            if unpinned > _MAX_UNPINNED and not is_pinned(self._context, offer.mint):
                self._refused[offer.position] = _not_priced(offer)
            else:
                priced.append(_Priced(offer, facts))
        return priced

    def _allowed(self, priced: Sequence[_Priced]) -> Steps[list[_Priced]]:
        """Those within the caps, the cheapest first."""
        kept: list[_Priced] = []
        for one in priced:
            offer, decimals = one.offer, one.facts.decimals
            signal = self._signal_for(offer.mint)
            try:
                micro_usd = yield from usd_value_of(
                    self._context, offer.mint, offer.amount, decimals, signal
                )
            except Exception as raised:
                # A price that could not be asked for refuses its offer, also if a cap in base units
                # would hold: without it the dollar caps count nothing.
                error = self.in_time(raised)
                if not isinstance(error, (TransportError, QuoteError)):
                    raise
                self._refused[offer.position] = error
                if isinstance(error, TransportError) and self._unpriced is None:
                    self._unpriced = error
                continue
            spend = _spend_of(offer, micro_usd, self._host)
            refusal = check_payment(self._context.config.policy.caps, spend)
            if refusal is None and self._refuse is not None:
                refusal = self._refuse(offer, micro_usd)
            if refusal is None:
                kept.append(one._replace(micro_usd=micro_usd))
            else:
                self._refused[offer.position] = refusal
        return sorted(kept, key=lambda one: one.rank)

    def _cheapest(self, short: Sequence[_Priced]) -> Steps[tuple[_Priced, Funding] | None]:
        """Swaps out of the same token compare by what they take for the payment itself.

        Others keep the order of their prices.
        """
        best: tuple[_Priced, Funding] | None = None
        for at, one in enumerate(short[:_MAX_COMPARED]):
            # The cheapest as it stands is mostly the one that is paid.
            options = FundingOptions(to_swap=not self._quote and at == 0)
            try:
                funding = yield from find_funding(
                    self._context,
                    one.offer,
                    one.facts,
                    one.offer.amount,
                    options,
                    self._signal_for(one.offer.mint),
                )
            except Exception as raised:
                # What concerns one offer refuses that offer; what concerns everything (a node that
                # is down, say) ends the call.
                error = self.in_time(raised)
                if not isinstance(error, (QuoteError, FundsError, PolicyError)):
                    raise
                self._refused[one.offer.position] = error
                continue
            if best is None or _costs_less((one, funding), best):
                best = one, funding
        return best

    def _choice(self, terms: PaymentRequired, one: _Priced, funding: Funding | None) -> Choice:
        return Choice(terms, one.offer, one.facts, one.micro_usd, funding, self._refusals())

    def _refusals(self) -> list[OfferRefusal]:
        return [
            self._read.get(position) or OfferRefusal(position, error.code, error.message)
            for position, error in sorted(self._refused.items())
        ]


def _costs_less(one: tuple[_Priced, Funding], best: tuple[_Priced, Funding]) -> bool:
    """A swap may bring more than the payment takes, and what is left over is no cost.

    Both are compared at the rate of their swap.
    """
    if one[1].input_mint != best[1].input_mint:
        return False
    cost = one[0].offer.amount * one[1].max_in * best[1].brings
    return cost < best[0].offer.amount * best[1].max_in * one[1].brings


def _not_priced(offer: Offer) -> ExactChangeError:
    return failure(
        "price_unknown",
        f"Of one 402, at most {_MAX_UNPINNED} offers in tokens that are not pinned are priced, and "
        f"the offer in {offer.mint} comes after them. The seller has to offer fewer.",
        {"mint": offer.mint},
    )
