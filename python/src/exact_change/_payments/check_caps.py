"""Checks a plan against the caps."""

from __future__ import annotations

import contextlib
from typing import Any, Mapping

from .._base.network import WSOL_MINT
from .._journal.types import CapBlock
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._policy.caps import caps_for, check_payment, over_budget, taken_of
from .._policy.cost import NO_SWAP_COST, SwapCost
from .._swap.budget import SIGNATURE_LAMPORTS, swap_limits
from .._swap.read_facts import new_account_rent
from ..errors import ExactChangeError
from .context import PaymentContext
from .funds import Funding
from .prices import PRICE_MEMORY_MS, usd_price_of
from .reconcile.resume import free_orphaned_budget


def check_caps(
    context: PaymentContext,
    spend: Mapping[str, Any],
    funding: Funding | None,
    signal: Signal | None,
) -> Steps[None]:
    """Raises what the call would raise if the sure part of a spend does not fit the caps.

    That is its price, and of its swap the count, one signature and the rent of the wallet's new
    account. What else the swap takes shows only once it is built: a smaller swap may fit.
    """
    policy = context.config.policy
    yield from _check_room(context, spend)
    if funding is None:
        return
    swap_limits(policy.max_fee_lamports, policy.max_rent_lamports)
    planned = {**spend, "swapping": (yield from _least_of(context, spend["mint"], signal))}
    refusal = check_payment(policy.caps, planned)
    if refusal is not None:
        raise refusal
    yield from _check_room(context, planned)


def _check_room(context: PaymentContext, spend: Mapping[str, Any]) -> Steps[None]:
    block = yield from _block_of(context, spend)
    # As the call does: orphaned attempts must not consume budget.
    if block is not None and (yield from free_orphaned_budget(context)):
        block = yield from _block_of(context, spend)
    if block is not None:
        raise over_budget(block.cap, block.used, taken_of(block.cap, spend))


def _block_of(context: PaymentContext, spend: Mapping[str, Any]) -> Steps[CapBlock | None]:
    caps = caps_for(context.config.policy.caps.caps, spend)
    uses = yield from context.journal.used(context.owner, caps, context.now())
    for cap, used in zip(caps, uses):
        taken = taken_of(cap, spend)
        if taken > 0 and used + taken > cap.limit:
            return CapBlock(cap, used)
    return None


def _least_of(context: PaymentContext, mint: str, signal: Signal | None) -> Steps[SwapCost]:
    """Returns the least that a swap into a mint counts.

    Without a price of SOL, its lamports count no dollars.
    """
    config = context.config
    # A relayer may pay the lamports.
    if config.relayer is not None:
        return {**NO_SWAP_COST, "swaps": 1}
    rent = yield from new_account_rent(context.rpc, config.wallet, mint, signal)
    sol = None
    with contextlib.suppress(ExactChangeError):
        sol = yield from usd_price_of(context, WSOL_MINT, signal, None, PRICE_MEMORY_MS)
    lamports = SIGNATURE_LAMPORTS + rent
    fee = 0 if sol is None else sol.most(lamports)
    least: SwapCost = {**NO_SWAP_COST, "swaps": 1}
    return {**least, "lamports": str(lamports), "feeMicroUsd": str(fee)}
