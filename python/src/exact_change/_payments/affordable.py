"""Finds the swap for an offer, and checks that the wallet can make it."""

from __future__ import annotations

from .._base.network import WSOL_MINT
from .._kernel.signals import Signal
from .._kernel.steps import both
from .._kernel.task import Steps
from .._swap.budget import SIGNATURE_LAMPORTS, LamportBudget, check_budget
from .._swap.read_facts import (
    RawWallet,
    account_bytes,
    creation_cost,
    own_account_of,
    read_raw_wallet,
)
from .._x402.types import Offer
from .context import PaymentContext
from .funding import FundingOptions, find_funding
from .funds import Funding
from .offer_accounts import OfferFacts


def find_affordable(
    context: PaymentContext,
    offer: Offer,
    facts: OfferFacts,
    options: FundingOptions,
    signal: Signal | None,
) -> Steps[Funding]:
    """Finds the swap for an offer.

    Raises if the wallet's own account cannot take the tokens, or if the wallet has too little SOL
    for the swap: a different offer may need no such account.
    """
    config = context.config
    funding, wallet = yield from both(
        find_funding(context, offer, facts, offer.amount, options, signal),
        read_raw_wallet(context.rpc, config.wallet, [offer.mint], signal),
    )
    is_relayed = config.relayer is not None and funding.input_mint != WSOL_MINT
    yield from _check(context, wallet, funding.quote is not None and not is_relayed, signal)
    return funding


def _check(
    context: PaymentContext, wallet: RawWallet, needs_sol: bool, signal: Signal | None
) -> Steps[None]:
    """Raises ``insufficient_sol`` if the SOL is too little even without a priority fee."""
    config, (leg,) = context.config, wallet.legs
    account = own_account_of(config.wallet, leg)
    if not needs_sol:
        return
    minimum = yield from context.rpc.rent(0, signal=signal)
    rent = 0
    if not account.exists:
        full = yield from context.rpc.rent(account_bytes(leg.mint), signal=signal)
        rent = creation_cost(account, full).takes
    available, policy = wallet.lamports, config.policy
    # If it is too little, say what is enough for any priority fee.
    is_short = available < SIGNATURE_LAMPORTS + rent + minimum
    network_fee = policy.max_fee_lamports if is_short else SIGNATURE_LAMPORTS
    budget = LamportBudget(network_fee, 0, rent, 0, 0, 0)
    check_budget(config.wallet, budget, available, minimum, policy.max_rent_lamports)
