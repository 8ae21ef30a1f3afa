"""The SOL that stays in the wallet when SOL is swapped or wrapped."""

from __future__ import annotations

from typing import NamedTuple

from .._base.amounts import WHOLE_BPS, ceil_div
from .._base.network import WSOL_MINT
from .._base.token_text import sol_text
from .._kernel.deadline import start_deadline
from .._kernel.signals import Signal
from .._kernel.steps import all_of
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.budget import too_little_sol
from ..errors import ExactChangeError
from .candidates import price_of
from .context import PaymentContext

# Lamports kept for fees and the rent of accounts that a swap may create. The real amounts are
# checked against the wallet before the signature.
KEEP_LAMPORTS = 8_000_000
# The most milliseconds to wait for a price that only an error needs.
_PRICE_WAIT_MS = 1_000


class Sol(NamedTuple):
    """The SOL of a wallet in lamports."""

    native: int
    # Native and wrapped SOL that no other call has reserved.
    spendable: int


def may_spend_sol(context: PaymentContext) -> bool:
    """Returns whether ``swap_from`` allows to spend SOL."""
    swap_from = context.config.swap_from
    return swap_from is None or WSOL_MINT in swap_from


def kept_sol(
    context: PaymentContext, mint: Address, missing: int, held: Sol, signal: Signal | None
) -> Steps[ExactChangeError | None]:
    """Returns ``insufficient_sol`` if only the SOL that stays in the wallet is in the way.

    None if all of the SOL is worth too little, or has no known price. ``missing``: base units of
    the mint.
    """
    if held.spendable <= 0:
        return None
    taken: int | None = missing
    if mint != WSOL_MINT:
        taken = yield from _input_for(context, mint, missing, signal)
    if taken is None or held.spendable < taken:
        return None
    required = KEEP_LAMPORTS + taken - (held.spendable - held.native)
    if required <= held.native:
        return None
    wallet = context.config.wallet
    return too_little_sol(
        wallet,
        required,
        held.native,
        f"To pay out of SOL, the wallet {wallet} needs {sol_text(required)}: "
        f"{sol_text(KEEP_LAMPORTS)} stay in it for fees and rent. It holds "
        f"{sol_text(held.native)}.",
    )


def _input_for(
    context: PaymentContext, mint: Address, missing: int, signal: Signal | None
) -> Steps[int | None]:
    """Returns the most lamports that a swap may take, by the prices; None if they are unknown."""
    policy = context.config.policy
    deadline = yield from start_deadline(_PRICE_WAIT_MS, signal)
    try:
        sol, output = yield from all_of(
            [price_of(context, token, deadline.signal) for token in (WSOL_MINT, mint)]
        )
    except Exception:
        if not deadline.has_passed:
            raise
        return None
    finally:
        deadline.end()
    if sol is None or output is None:
        return None
    worth = sol.amount_of(output.most(missing)) + 1
    return ceil_div(
        worth * (WHOLE_BPS + policy.max_slippage_bps + policy.max_swap_loss_bps), WHOLE_BPS
    )
