"""What paying for a call would take."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from .._base.amounts import format_ui_amount, format_usd
from .._base.token_text import symbol_of
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._policy.caps import Cap, CapUse, cap_use, caps_for, caps_seen, parts_of, taken_of
from .._receipt import Cost
from .._swap.read_facts import new_account_rent
from .._swap.types import SwapQuote
from .._x402.offers import OfferRefusal
from .._x402.types import PaymentRequired
from .choose import Choice, choose
from .context import PaymentContext
from .costs import cost_for
from .funds import Funding
from .swap_cost import SwapTaking, swap_bound


class Place(NamedTuple):
    """The call that a plan is for."""

    url: str
    method: str
    # Of the unpaid answer.
    status: int
    # Of the URL, with its port if that is not the scheme's own.
    host: str


class PlannedPayment(NamedTuple):
    """What would be paid."""

    x402_version: int
    network: str
    mint: str
    amount: str
    decimals: int
    ui_amount: str
    pay_to: str
    fee_payer: str
    # What the wallet can spend of the mint now.
    available: str
    # Of a pinned mint alone: other tokens may call themselves anything.
    symbol: str | None = None
    # US dollars as decimal text; None if the mint has no price.
    usd: str | None = None


class PlannedRelayer(NamedTuple):
    """What may pay a swap's fees and rents, as the wallet has too little SOL or just enough."""

    fee_payer: str
    # It takes so much of a token at most, to the account of `pay_to`. Base units.
    pay_to: str
    mint: str
    max_amount: str


class Plan(NamedTuple):
    """What paying for a call would take, or the swap of a top-up.

    Amounts are decimal strings of base units.
    """

    url: str
    method: str
    # Of the unpaid answer; 0 for a top-up, which has `top-up:` and its mint as its `url`.
    status: int
    # None if the call asks for no payment, and for a top-up.
    payment: PlannedPayment | None
    # The swap that would come first, if the wallet holds too little.
    swap: SwapQuote | None
    # Lamports of SOL that would be wrapped first, for a payment in wrapped SOL.
    wrap: str | None
    # What it takes at most, as caps count it; None if the call asks for no payment. A swap that
    # lands and fails costs its network fee besides, before it is tried again.
    cost: Cost | None
    # The entries of `accepts` that would not be paid, and why.
    refused: Sequence[OfferRefusal]
    # The most lamports that the swap's network fee may take; the payment's own is the
    # facilitator's.
    max_fee_lamports: str
    # The rolling caps as they stand before it.
    caps: Sequence[CapUse]
    # What may pay the swap's fees and rents; None if the wallet does.
    relayer: PlannedRelayer | None = None


def make_plan(
    context: PaymentContext, place: Place, terms: PaymentRequired | None, signal: Signal | None
) -> Steps[Plan]:
    """Chooses and quotes, and leaves everything as it was.

    Raises what the real call would raise.
    """
    if terms is None:
        caps = yield from uses_of(context, caps_seen(context.config.policy.caps.caps, []))
        return Plan(*place[:3], None, None, None, None, (), "0", caps)
    yield from context.ready(signal)
    choice = yield from choose(context, terms, place.host, signal, quote=True)
    return (yield from plan_of(context, place, choice, choice.funding, signal))


def plan_of(
    context: PaymentContext,
    place: Place,
    choice: Choice,
    funding: Funding | None,
    signal: Signal | None,
    *,
    is_reserved: bool = False,
) -> Steps[Plan]:
    """What paying by a choice signs: the payment, and the swap that funds it.

    ``is_reserved``: the caps count the payment already; the plan shows them as they stand before
    it.
    """
    spend = choice.spend(place.host)
    offer, facts = choice.offer, choice.facts
    payment = PlannedPayment(
        offer.version,
        offer.network,
        offer.mint,
        str(offer.amount),
        facts.decimals,
        format_ui_amount(offer.amount, facts.decimals),
        offer.pay_to,
        offer.fee_payer,
        str(facts.available),
        symbol_of(offer.network, offer.mint),
        None if choice.micro_usd is None else format_usd(choice.micro_usd),
    )
    plan = yield from plan_of_swap(context, place, spend, funding, signal, is_reserved=is_reserved)
    return plan._replace(payment=payment, refused=choice.refused)


def plan_of_swap(
    context: PaymentContext,
    place: Place,
    spend: Mapping[str, Any],
    funding: Funding | None,
    signal: Signal | None,
    *,
    is_reserved: bool,
) -> Steps[Plan]:
    """What a spend signs besides its payment, if it has one: the swap that funds it."""
    policy = context.config.policy
    swap, wrap, relayer = None, None, None
    cost, max_fee = cost_for(spend, 0), 0
    if funding is not None:
        max_fee = policy.max_fee_lamports
        cost = yield from _most_for(context, spend, funding, signal)
        if funding.quote is None:
            wrap = str(funding.max_in)
        else:
            swap = funding.quote._replace(raw=None)
        if funding.relay is not None:
            _, fee_payer, pay_to, mint, most = funding.relay
            relayer = PlannedRelayer(fee_payer, pay_to, mint, str(most))
    caps = yield from uses_of(
        context, caps_for(policy.caps.caps, spend), spend if is_reserved else None
    )
    return Plan(*place[:3], None, swap, wrap, cost, (), str(max_fee), caps, relayer)


def _most_for(
    context: PaymentContext, spend: Mapping[str, Any], funding: Funding, signal: Signal | None
) -> Steps[Cost]:
    """What a payment and the swap before it take at most."""
    config, mint = context.config, spend["mint"]
    rent = yield from new_account_rent(context.rpc, config.wallet, mint, signal)
    max_fee = config.policy.max_fee_lamports
    relay, brings = funding.relay, funding.brings
    if relay is not None and relay.mint == mint:
        brings -= relay.max_fee
    taking = SwapTaking(funding.input_mint, mint, funding.max_in, brings, max_fee + rent)
    bound = yield from swap_bound(context, taking, spend, signal)
    return cost_for({**spend, "swapping": bound}, max_fee)


def uses_of(
    context: PaymentContext, caps: Sequence[Cap], excepted: Mapping[str, Any] | None = None
) -> Steps[list[CapUse]]:
    """How much of each cap is used now, a spend left out that is among it."""
    asked = [one for cap in caps for one in (cap, *parts_of(cap))]
    used = yield from context.journal.used(context.owner, asked, context.now())
    amounts = iter(used)

    def rest(cap: Cap) -> int:
        taken = 0 if excepted is None else taken_of(cap, excepted)
        return max(0, next(amounts) - taken)

    return [cap_use(cap, rest(cap), [rest(part) for part in parts_of(cap)]) for cap in caps]
