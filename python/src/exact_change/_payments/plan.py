"""Plans of payments: everything that a payment for a call would take."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from .._base.amounts import format_ui_amount, format_usd
from .._base.token_text import symbol_of
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._policy.caps import Cap, CapUse, cap_use, caps_for, caps_for_spends, parts_of, taken_of
from .._receipt import Cost
from .._swap.read_facts import new_account_rent
from .._swap.types import SwapQuote
from .._x402.offers import OfferRefusal
from .._x402.types import PaymentRequired
from .check_caps import check_caps
from .choose import Choice, choose
from .context import PaymentContext
from .costs import cost_for
from .funds import Funding
from .once_topped_up import work_once_topped_up
from .request_checks import check_request
from .swap_cost import SwapTaking, swap_bound


class Place(NamedTuple):
    url: str
    method: str
    # Status of the unpaid answer.
    status: int
    # Host of the URL, with its port unless it is the scheme's default.
    host: str
    is_redirected: bool = False


class PlannedPayment(NamedTuple):
    """The payment that would be signed."""

    x402_version: int
    network: str
    mint: str
    amount: str
    decimals: int
    ui_amount: str
    pay_to: str
    fee_payer: str
    # Base units of the mint that the wallet can spend now.
    available: str
    # None unless the mint is pinned, because any other token may have any name.
    symbol: str | None = None
    # US dollars as decimal text; None if the mint has no price.
    usd: str | None = None


class PlannedRelayer(NamedTuple):
    """The relayer that may pay a swap's fees and rents if the wallet has too little SOL."""

    fee_payer: str
    # Owner of the token account that receives the relayer's fee.
    pay_to: str
    # Mint of the relayer's fee.
    mint: str
    # Highest fee of the relayer. Base units of `mint`.
    max_amount: str


class Plan(NamedTuple):
    """The plan of a payment for a call, or of a top-up's swap.

    Amounts are decimal strings of base units.
    """

    url: str
    method: str
    # Status of the unpaid answer; 0 for a top-up. The `url` of a top-up is `top-up:` and its mint.
    status: int
    # None if the call asks for no payment, and for a top-up.
    payment: PlannedPayment | None
    # The swap before the payment, if the wallet holds too little.
    swap: SwapQuote | None
    # Lamports of SOL to wrap before a payment in wrapped SOL.
    wrap: str | None
    # The highest cost, as caps count it; None if the call asks for no payment. A swap that lands
    # and fails also costs its network fee, before the next try.
    cost: Cost | None
    # The entries of `accepts` that would not be paid, and why.
    refused: Sequence[OfferRefusal]
    # Highest network fee of the swap in lamports; the facilitator pays the payment's own fee.
    max_fee_lamports: str
    # The use of the rolling caps before this payment.
    caps: Sequence[CapUse]
    # The relayer that may pay the swap's fees and rents; None if the wallet pays.
    relayer: PlannedRelayer | None = None


def make_plan(
    context: PaymentContext, place: Place, terms: PaymentRequired | None, signal: Signal | None
) -> Steps[Plan]:
    """Plans a call without changing anything: chooses an offer and quotes its swap.

    Raises the errors that the real call would raise, except for what shows only once its swap is
    built (see ``check_caps``), and for an equal call that was paid and not answered.
    """
    if terms is None:
        caps = yield from uses_of(context, caps_for_spends(context.config.policy.caps.caps, []))
        return Plan(*place[:3], None, None, None, None, (), "0", caps)
    lists, is_redirected = context.config.policy.lists, place.is_redirected
    check_request(lists, place.method, place.url, is_redirected=is_redirected)
    yield from context.ready(signal)

    def choose_within_caps() -> Steps[Choice]:
        choice = yield from choose(context, terms, place.host, signal, quote=True)
        yield from check_caps(context, choice.spend(place.host), choice.funding, signal)
        return choice

    # Choose again after a top-up, because it may have brought the tokens of a planned swap.
    choice = yield from work_once_topped_up(context, choose_within_caps, signal)
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
    """Returns the plan of a chosen payment and of the swap that funds it.

    ``is_reserved``: the caps count the payment already, so the plan subtracts it.
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
    """Returns the plan of the swap that funds a spend, without the payment."""
    policy = context.config.policy
    swap, wrap, relayer = None, None, None
    cost, max_fee = cost_for(spend, 0), 0
    if funding is not None:
        max_fee = policy.max_fee_lamports
        cost = yield from _highest_cost(context, spend, funding, signal)
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


def _highest_cost(
    context: PaymentContext, spend: Mapping[str, Any], funding: Funding, signal: Signal | None
) -> Steps[Cost]:
    """Returns the highest cost of a payment and the swap before it."""
    config, mint = context.config, spend["mint"]
    rent = yield from new_account_rent(context.rpc, config.wallet, mint, signal)
    max_fee = config.policy.max_fee_lamports
    taking = SwapTaking(funding.input_mint, mint, funding.max_in, funding.brings, max_fee + rent)
    bound = yield from swap_bound(context, taking, spend, signal)
    return cost_for({**spend, "swapping": bound}, max_fee)


def uses_of(
    context: PaymentContext, caps: Sequence[Cap], excepted: Mapping[str, Any] | None = None
) -> Steps[list[CapUse]]:
    """Returns how much of each cap is used now, without the spend ``excepted``."""
    caps_and_parts = [part for cap in caps for part in (cap, *parts_of(cap))]
    used = yield from context.journal.used(context.owner, caps_and_parts, context.now())
    amounts = iter(used)

    def next_use(cap: Cap) -> int:
        taken = 0 if excepted is None else taken_of(cap, excepted)
        return max(0, next(amounts) - taken)

    return [cap_use(cap, next_use(cap), [next_use(part) for part in parts_of(cap)]) for cap in caps]
