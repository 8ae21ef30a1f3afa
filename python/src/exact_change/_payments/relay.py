"""A relayer for the swap of a wallet with too little SOL."""

from __future__ import annotations

from typing import Sequence

from .._base.network import WSOL_MINT
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.steps import both
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.read_facts import new_account_rent
from .._swap.relayer import Relayer
from .._swap.sign_relayed import RelayOffer
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .funds import Funding
from .holdings import shared_holdings
from .prices import usd_price_of
from .swap_quote import check_available, quote_for_payment


def relay_offer(
    context: PaymentContext, mints: Sequence[Address], signal: Signal | None
) -> Steps[RelayOffer | None]:
    """What the configured relayer takes at most for paying a swap's fees and rents.

    In the first of these tokens that it takes. None if none is configured; raises the reason if it
    will not do.
    """
    config = context.config
    settings = config.relayer
    if settings is None:
        return None
    timeout_ms = config.timeouts.service
    relayer = Relayer(settings.url, settings.api_key, context.http, timeout_ms, config.runtime)
    facts = yield from relayer.facts(signal)
    taken = mints if facts.mints is None else facts.mints
    mint = next((one for one in mints if one != WSOL_MINT and one in taken), None)
    if mint is None:
        raise failure(
            "mint_not_supported",
            f"The relayer takes no fee in the tokens of this swap ({', '.join(mints)}). Hold a "
            "token that it takes, or send the wallet SOL.",
            {"mint": mints[0], "reason": "the relayer takes no fee in it"},
        )
    price = yield from usd_price_of(context, mint, signal)
    if price is None:
        raise failure(
            "price_unknown",
            f"No price is known for mint {mint}, so relayer.max_fee cannot hold the fee. Send the "
            "wallet SOL.",
            {"mint": mint},
        )
    max_fee = price.amount_of(settings.max_fee)
    return RelayOffer(relayer, facts.fee_payer, facts.pay_to, mint, max_fee)


def with_relay(
    context: PaymentContext, funding: Funding, output_mint: Address, signal: Signal | None
) -> Steps[Funding]:
    """A swap that funds a payment, with what a relayer may take at most.

    If the wallet may have too little SOL for fees and rents: what is shown and approved has it in.
    A relayer that fails is asked again when it is needed, and says why then.
    """
    quote, input_mint = funding.quote, funding.input_mint
    if context.config.relayer is None or quote is None or input_mint == WSOL_MINT:
        return funding
    if (yield from _has_sol(context, output_mint, signal)):
        return funding
    try:
        relay = yield from relay_offer(context, [input_mint, output_mint], signal)
    except ExactChangeError:
        return funding
    if relay is None:
        return funding
    if relay.mint == input_mint:
        max_fee = min(relay.max_fee, funding.available - funding.max_in)
        relay = relay._replace(max_fee=max_fee)
        return funding._replace(max_in=funding.max_in + max_fee, relay=relay)
    # It brings so much more; what the relayer does not take of it stays.
    amount = quote.min_out + relay.max_fee
    request = ResolvedRequest(input_mint, output_mint, amount, "ExactOut", quote.slippage_bps)
    dearer = yield from quote_for_payment(context, request, signal)
    check_available(context.config.network, dearer, funding.available)
    # What was built is for the smaller one.
    return funding._replace(
        max_in=dearer.max_in, brings=dearer.min_out, quote=dearer, built=None, relay=relay
    )


def _has_sol(context: PaymentContext, output_mint: Address, signal: Signal | None) -> Steps[bool]:
    """Whether SOL is there for the most that a swap into a token may take."""
    holdings = yield from shared_holdings(context, signal)
    wallet = holdings.wallet
    held = yield from context.ledger.held(wallet)
    minimum, rent = yield from both(
        context.rpc.rent(0, signal=signal),
        new_account_rent(context.rpc, wallet, output_mint, signal),
    )
    return holdings.lamports - held >= minimum + context.config.policy.max_fee_lamports + rent


def not_relayed(short: ExactChangeError, cause: ExactChangeError) -> ExactChangeError:
    """The error of a swap that a relayer was to pay for, with the reason why it did not."""
    return failure(
        "insufficient_sol",
        f"{short.message} The relayer did not pay for it: {cause.message}",
        short.details,
        cause=cause,
        untrusted=cause.untrusted,
    )
