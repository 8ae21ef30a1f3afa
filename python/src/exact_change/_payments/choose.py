"""Chooses an offer of ``accepts``."""

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
from .affordable import find_affordable
from .context import PaymentContext
from .funding import FundingOptions, is_pinned
from .funds import Funding
from .nothing_payable import nothing_payable
from .offer_accounts import OfferFacts, read_offer_accounts
from .prices import usd_value_of
from .short import outdate_balance, too_little_held

# The most offers that need a swap and are compared, because quotes are scarce.
_MAX_COMPARED = 3
# Prices to ask for, for one 402, of offers in tokens that are not pinned. A seller may name any
# number of tokens.
_MAX_UNPINNED = 3
# Deadline for the comparison of a 402's offers. Milliseconds.
_COMPARE_MS = 30_000

# Returns the error for an offer that this call must not pay, or None.
Refuse = Callable[[Offer, "int | None"], "ExactChangeError | None"]


class Choice(NamedTuple):
    """The offer to pay, and the facts to pay it with."""

    # The terms that hold the offer.
    terms: PaymentRequired
    offer: Offer
    facts: OfferFacts
    # Millionths of a dollar; None if the mint has no price.
    micro_usd: int | None
    # The swap for the missing tokens, if the comparison of offers has found it.
    funding: Funding | None
    refused: Sequence[OfferRefusal]

    def spend(self, host: str) -> dict[str, Any]:
        """Returns the facts that caps use."""
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
    """Returns the best allowed offer: payable without a swap, then cheapest, then first.

    The cost includes the swap. ``host`` asked for the payment. ``quote``: find a swap even if the
    offer needs no comparison. ``refuse`` refuses more offers. Raises if no offer is payable; the
    error has the reason of every entry.
    """
    deadline = yield from start_deadline(_COMPARE_MS, signal)
    # Low priority: sellers may name any number of own tokens to price, at any number of hosts.
    low_priority = follow(deadline.signal, is_low_priority=True)
    comparison = _Comparison(context, host, deadline, low_priority.signal, quote, refuse)
    try:
        return (yield from comparison.run(terms))
    except Exception as error:
        named = comparison.in_time(error)
        if named is error:
            raise
        raise named from None
    finally:
        low_priority.end()
        deadline.end()


class _Priced(NamedTuple):
    offer: Offer
    facts: OfferFacts
    micro_usd: int | None = None

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Sort key: the cheapest offer first, offers without a price last."""
        return self.micro_usd is None, self.micro_usd or 0, self.offer.position


class _Comparison:
    def __init__(
        self,
        context: PaymentContext,
        host: str,
        deadline: Deadline,
        low_priority: Signal,
        quote: bool,
        refuse: Refuse | None,
    ) -> None:
        self._context = context
        self._host = host
        self._deadline = deadline
        self._low_priority = low_priority
        self._quote = quote
        self._refuse = refuse
        # Errors of refused offers, by position.
        self._refused: dict[int, ExactChangeError] = {}
        # Refusals of `judge_offers`, by position; they also have the seller's own strings.
        self._judged: dict[int, OfferRefusal] = {}
        # The first error of a price source that could not be reached.
        self._unpriced: ExactChangeError | None = None

    def run(self, terms: PaymentRequired) -> Steps[Choice]:
        config = self._context.config
        host_refusal = check_place(config.policy.lists, self._host)
        if host_refusal is not None:
            raise host_refusal
        judged = judge_offers(terms, config.network, config.wallet)
        listed: list[Offer] = []
        for reading in judged.readings:
            if isinstance(reading, RefusedOffer):
                self._refused[reading.refusal.position] = reading.error
                self._judged[reading.refusal.position] = reading.refusal
                continue
            refusal = check_offer(
                config.policy.lists, reading.pay_to, reading.mint, reading.network
            )
            if refusal is None:
                listed.append(reading)
            else:
                self._refused[reading.position] = refusal
        priceable = yield from self._priceable(listed)
        covered = [entry for entry in priceable if entry.facts.available >= entry.offer.amount]
        payable = yield from self._allowed(covered)
        if payable:
            return self._choice(judged.terms, payable[0], None)
        short = yield from self._allowed([entry for entry in priceable if entry not in covered])
        if not config.auto_swap:
            for entry in short:
                error = too_little_held(
                    self._context.owner, entry.offer, entry.facts, auto_swap=False
                )
                self._refused[entry.offer.position] = error
                yield from outdate_balance(self._context, entry.facts)
        elif len(short) == 1 and not self._quote:
            return self._choice(judged.terms, short[0], None)
        else:
            best = yield from self._cheapest(short)
            if best is not None:
                return self._choice(judged.terms, *best)
        # An unreachable price source is the reason to report, because another try helps.
        if self._unpriced is not None:
            raise self._unpriced
        raise nothing_payable(self._refused, self._refusals())

    def in_time(self, error: Exception) -> Exception:
        """Returns the error of a step, or ``timeout`` if the comparison's deadline ended it."""
        if not self._deadline.has_passed or error is not self._deadline.signal.reason:
            return error
        return failure(
            "timeout",
            "Jupiter or the RPC node is too slow to compare the offers within "
            f"{_COMPARE_MS} ms. Nothing was signed; try again.",
            {"step": "choose", "timeout_ms": _COMPARE_MS},
        )

    def _signal_for(self, mint: Address) -> Signal:
        return self._deadline.signal if is_pinned(self._context, mint) else self._low_priority

    def _priceable(self, listed: Sequence[Offer]) -> Steps[list[_Priced]]:
        """Returns the offers that pass the checks on the chain, within ``_MAX_UNPINNED``."""
        read = yield from read_offer_accounts(self._context, listed, self._deadline.signal)
        priceable: list[_Priced] = []
        unpinned = 0
        for offer, facts in read:
            if isinstance(facts, ExactChangeError):
                self._refused[offer.position] = facts
                continue
            unpinned += 0 if is_pinned(self._context, offer.mint) else 1
            if unpinned > _MAX_UNPINNED and not is_pinned(self._context, offer.mint):
                self._refused[offer.position] = _not_priced(offer)
            else:
                priceable.append(_Priced(offer, facts))
        return priceable

    def _allowed(self, entries: Sequence[_Priced]) -> Steps[list[_Priced]]:
        """Returns the offers within the caps, with their prices, the cheapest first."""
        allowed: list[_Priced] = []
        for entry in entries:
            offer, decimals = entry.offer, entry.facts.decimals
            signal = self._signal_for(offer.mint)
            try:
                micro_usd = yield from usd_value_of(
                    self._context, offer.mint, offer.amount, decimals, signal
                )
            except Exception as raised:
                # Refuse an offer if the price source fails, even if a cap in base units would hold.
                # Without the price, the dollar caps would count 0.
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
                allowed.append(entry._replace(micro_usd=micro_usd))
            else:
                self._refused[offer.position] = refusal
        return sorted(allowed, key=lambda entry: entry.rank)

    def _cheapest(self, short: Sequence[_Priced]) -> Steps[tuple[_Priced, Funding] | None]:
        """Returns the offer that costs least with its swap; see :func:`_costs_less`.

        If swaps cannot be compared, the order of the prices stays.
        """
        best: tuple[_Priced, Funding] | None = None
        for at, entry in enumerate(short[:_MAX_COMPARED]):
            # The payment mostly takes the first offer, so prepare its swap to be signed.
            options = FundingOptions(to_swap=not self._quote and at == 0)
            try:
                funding = yield from find_affordable(
                    self._context,
                    entry.offer,
                    entry.facts,
                    options,
                    self._signal_for(entry.offer.mint),
                )
            except Exception as raised:
                # These errors concern one offer, so they refuse it. Any other error, such as a node
                # that is down, concerns the whole call and ends it.
                error = self.in_time(raised)
                if not isinstance(error, (QuoteError, FundsError, PolicyError)):
                    raise
                self._refused[entry.offer.position] = error
                continue
            if best is None or _costs_less((entry, funding), best):
                best = entry, funding
        return best

    def _choice(self, terms: PaymentRequired, entry: _Priced, funding: Funding | None) -> Choice:
        return Choice(terms, entry.offer, entry.facts, entry.micro_usd, funding, self._refusals())

    def _refusals(self) -> list[OfferRefusal]:
        return [
            self._judged.get(position) or OfferRefusal(position, error.code, error.message)
            for position, error in sorted(self._refused.items())
        ]


def _costs_less(candidate: tuple[_Priced, Funding], best: tuple[_Priced, Funding]) -> bool:
    """Returns whether an offer costs less input than the best; False for another input token.

    It compares the offers' amounts at the rates of their swaps. A swap may bring more than the
    payment takes, and the surplus is no cost.
    """
    if candidate[1].input_mint != best[1].input_mint:
        return False
    cost = candidate[0].offer.amount * candidate[1].max_in * best[1].brings
    return cost < best[0].offer.amount * best[1].max_in * candidate[1].brings


def _not_priced(offer: Offer) -> ExactChangeError:
    return failure(
        "price_unknown",
        f"Of one 402, at most {_MAX_UNPINNED} offers in tokens that are not pinned are priced, and "
        f"the offer in {offer.mint} comes after them. The seller has to offer fewer.",
        {"mint": offer.mint},
    )
