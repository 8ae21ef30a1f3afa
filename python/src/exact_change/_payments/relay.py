"""Uses a relayer for the swap of a wallet with too little SOL."""

from __future__ import annotations

from typing import Sequence

from .._base.network import WSOL_MINT
from .._config.swap_request import ResolvedRequest
from .._kernel.signals import Signal
from .._kernel.steps import both
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.finish import SwapDeps
from .._swap.prepare import SwapOrder
from .._swap.read_facts import new_account_rent
from .._swap.relayer import Relayer
from .._swap.sign import SwapSigned, Wallet, sign_swap
from .._swap.sign_relayed import RelayOffer, sign_relayed
from ..errors import ExactChangeError, failure, is_code
from .context import PaymentContext
from .funds import Funding
from .holdings import read_all_holdings
from .prices import usd_price_of
from .swap_quote import check_available, quote_for_payment


def relay_offer(
    context: PaymentContext, mints: Sequence[Address], signal: Signal | None
) -> Steps[RelayOffer | None]:
    """Returns the relayer of the options, with its highest fee for a swap's fees and rents.

    The fee is in the first of ``mints`` that the relayer takes. None if no relayer is configured.
    Raises if the relayer cannot be used.
    """
    config = context.config
    settings = config.relayer
    if settings is None:
        return None
    timeout_ms = config.timeouts.service
    relayer = Relayer(settings.url, settings.api_key, context.http, timeout_ms, config.runtime)
    facts = yield from relayer.facts(signal)
    fee_mints = mints if facts.mints is None else facts.mints
    mint = next((token for token in mints if token != WSOL_MINT and token in fee_mints), None)
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
    """Adds a relayer and its highest fee to a swap if the wallet may have too little SOL.

    So the plan that the caller approves includes the fee. If the relayer fails now, the swap is
    returned unchanged. The relayer is asked again if it is needed, and its error is raised then.
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
    # A relayer that may take less than one base unit is none to approve.
    if relay is None or relay.max_fee == 0:
        return funding
    if relay.mint == input_mint:
        max_fee = min(relay.max_fee, funding.available - funding.max_in)
        relay = relay._replace(max_fee=max_fee)
        return funding._replace(max_in=funding.max_in + max_fee, relay=relay)
    # The fee is in the output mint, so the swap must bring more. An unused part of it stays.
    amount = quote.min_out + relay.max_fee
    request = ResolvedRequest(input_mint, output_mint, amount, "ExactOut", quote.slippage_bps)
    dearer = yield from quote_for_payment(context, request, signal)
    check_available(context.config.network, dearer, funding.available)
    # The built transaction is for the smaller quote, so drop it.
    brings = dearer.min_out - relay.max_fee
    return funding._replace(
        max_in=dearer.max_in, brings=brings, quote=dearer, built=None, relay=relay
    )


def _has_sol(context: PaymentContext, output_mint: Address, signal: Signal | None) -> Steps[bool]:
    """Returns whether the wallet has the lamports that a swap into a token may take at most."""
    holdings = yield from read_all_holdings(context, signal)
    minimum, rent = yield from both(
        context.rpc.rent(0, signal=signal),
        new_account_rent(context.rpc, holdings.wallet, output_mint, signal),
    )
    return holdings.lamports >= minimum + context.config.policy.max_fee_lamports + rent


def sign_swap_paid(
    context: PaymentContext,
    deps: SwapDeps,
    wallet: Wallet,
    order: SwapOrder,
    relay: RelayOffer | None,
    *,
    is_approved: bool,
) -> Steps[SwapSigned]:
    """Signs a swap; if the wallet has too little SOL, the relayer of the options pays.

    Raises the errors of ``sign_swap`` and ``sign_relayed``. The cause of ``insufficient_sol`` is
    the relayer's error.
    """
    try:
        return (yield from sign_swap(deps, wallet, order))
    except ExactChangeError as error:
        if not is_code(error, "insufficient_sol"):
            raise
        short = error

    def with_cause(cause: Exception) -> Exception:
        is_aborted = order.signal is not None and order.signal.aborted
        if isinstance(cause, ExactChangeError) and not is_aborted:
            return _not_relayed(short, cause)
        return cause

    offer = relay
    # If the approved plan had no relayer's fee, do not use a relayer.
    if offer is None and not is_approved:
        try:
            offer = yield from relay_offer(context, [order.bounds.input_mint], order.signal)
        except Exception as cause:
            raise with_cause(cause)
    if offer is None:
        raise short
    return (yield from sign_relayed(deps, wallet, order, offer, with_cause))


def _not_relayed(short: ExactChangeError, cause: ExactChangeError) -> ExactChangeError:
    return failure(
        "insufficient_sol",
        f"{short.message} The relayer did not pay for it: {cause.message}",
        short.details,
        cause=cause,
        untrusted=cause.untrusted,
    )
