"""Does in advance the reads that the first payment and the first swap would do."""

from __future__ import annotations

from .._base.network import WSOL_MINT, pinned_mints
from .._config.swap_request import ResolvedRequest
from .._firewall.tables import fetch_lookup_tables
from .._kernel.steps import all_of
from .._kernel.task import Steps
from .._swap.read_facts import TOKEN_ACCOUNT_BYTES
from .._swap.types import SwapQuote
from ..errors import ExactChangeError
from .context import PaymentContext
from .holdings import read_holdings
from .prices import usd_price_of
from .swap_build import build_for
from .swap_quote import quote_for_payment


def warm(context: PaymentContext) -> Steps[None]:
    """Checks the network, reads balances of pinned tokens, and fetches a blockhash."""
    config = context.config
    work = [
        context.ready(None),
        _blockhash(context),
        _holdings(context),
        *([_warm_swap(context)] if config.auto_swap else []),
    ]
    yield from all_of(work)


def _blockhash(context: PaymentContext) -> Steps[None]:
    yield from context.blockhashes.recent()


def _holdings(context: PaymentContext) -> Steps[None]:
    yield from read_holdings(context, pinned_mints(context.config.network), None)


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
        quotes: list[SwapQuote] = []

        def quote() -> Steps[None]:
            quotes.append((yield from quote_for_payment(context, request, None)))

        def rent(size: int) -> Steps[None]:
            yield from context.rpc.rent(size)

        yield from all_of([quote(), rent(0), rent(TOKEN_ACCOUNT_BYTES)])
        build = yield from build_for(context, quotes[0], None, None)
        yield from fetch_lookup_tables(context.tables, context.rpc, build.lookup_tables, None)
    except ExactChangeError:
        return
