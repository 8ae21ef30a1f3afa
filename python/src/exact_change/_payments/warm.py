"""Does in advance the reads that the first payment and the first swap would do."""

from __future__ import annotations

from typing import Any

from .._base.network import WSOL_MINT, pinned_mints
from .._config.swap_request import ResolvedRequest
from .._firewall.tables import fetch_lookup_tables
from .._kernel.steps import all_of, both
from .._kernel.task import Steps
from .._swap.read_facts import TOKEN_ACCOUNT_BYTES
from ..errors import ExactChangeError
from .context import PaymentContext
from .holdings import read_holdings
from .prices import usd_price_of
from .swap_build import build_for
from .swap_quote import quote_for_payment


def warm(context: PaymentContext) -> Steps[None]:
    """Checks the network, reads balances of pinned tokens, and fetches a blockhash."""
    config = context.config
    work: list[Steps[Any]] = [
        context.ready(None),
        context.blockhashes.recent(),
        read_holdings(context, pinned_mints(config.network), None),
    ]
    if config.auto_swap:
        work.append(_warm_swap(context))
    yield from all_of(work)


def _warm_swap(context: PaymentContext) -> Steps[None]:
    """Reads prices, rents and lookup tables by quoting a swap from SOL that is never made.

    Ignores errors, because a later swap asks again.
    """
    config = context.config
    output = next((mint for mint in pinned_mints(config.network) if mint.dollar), None)
    if output is None:
        return
    try:
        price = yield from usd_price_of(context, output.mint, None)
        amount = 0 if price is None else price.amount_of(config.policy.min_swap)
        slippage = config.policy.max_slippage_bps
        request = ResolvedRequest(WSOL_MINT, output.mint, amount, "ExactOut", slippage)
        rents = all_of([context.rpc.rent(size) for size in (0, TOKEN_ACCOUNT_BYTES)])
        quote, _ = yield from both(quote_for_payment(context, request, None), rents)
        build = yield from build_for(context, quote, None, None)
        yield from fetch_lookup_tables(context.tables, context.rpc, build.lookup_tables, None)
    except ExactChangeError:
        return
