"""Signs a swap; the wallet or a relayer pays its fees and rents."""

from __future__ import annotations

from .._kernel.task import Steps
from .._swap.finish import SwapDeps
from .._swap.prepare import SwapOrder
from .._swap.sign import SwapSigned, Wallet, sign_swap
from .._swap.sign_relayed import RelayOffer, sign_relayed
from ..errors import ExactChangeError, is_code
from .context import PaymentContext
from .relay import not_relayed, relay_offer


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
            return not_relayed(short, cause)
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
