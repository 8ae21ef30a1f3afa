"""Reads the wallet's lamports and token accounts."""

from __future__ import annotations

from typing import Sequence

from .._base.network import PinnedMint
from .._base.runtime import since_then
from .._kernel.signals import Signal
from .._kernel.steps import both, join, start
from .._kernel.task import Steps, Task
from .._solana.tokens import associated_token_address, decode_token_account
from .._swap.candidates import Holding, Holdings
from .context import PaymentContext
from .memory import SharedHoldings

# How long calls share one read of the wallet. Milliseconds.
_SHARED_MS = 1_000


def start_holdings_read(context: PaymentContext) -> Steps[Task[Holdings]]:
    """Starts a read of the wallet, or returns the read of another call within a second."""
    shared = context.memory.holdings
    if shared is None or since_then(context.config.runtime, shared.at) >= _SHARED_MS:
        at = context.now()
        # No signal, because a caller that gives up must not end the read of other calls.
        read = yield from start(read_holdings(context, (), None))
        shared = context.memory.holdings = SharedHoldings(at, read)
        read.then(lambda: None if read.error is None else outdate_holdings(context))
    return shared.read


def read_all_holdings(context: PaymentContext, signal: Signal | None) -> Steps[Holdings]:
    """Returns the holdings of a shared read; see :func:`start_holdings_read`."""
    read = yield from start_holdings_read(context)
    return (yield from join(read, signal))


def outdate_holdings(context: PaymentContext) -> None:
    """Forgets the shared read, because balances may have changed; the next call reads again."""
    context.memory.holdings = None


def read_holdings(
    context: PaymentContext, expected: Sequence[PinnedMint], signal: Signal | None
) -> Steps[Holdings]:
    """Reads everything that the wallet holds, and notes the balances in the ledger.

    ``expected``: mints that the ledger notes as empty if the wallet has no account for them.
    """
    wallet, ledger = context.config.wallet, context.ledger
    native, held = yield from both(
        context.rpc.accounts([wallet], signal=signal),
        context.rpc.token_accounts(wallet, signal=signal),
    )
    at = context.now()
    tokens: list[Holding] = []
    for address, raw in held.accounts:
        account = decode_token_account(raw)
        if account is None:
            continue
        tokens.append(Holding(address, account))
        # Do not note a frozen account: it has a balance, but it cannot pay.
        if account.owner == wallet and account.state == "initialized":
            yield from ledger.see(address, account.amount, at, held.slot)
    addresses = {address for address, _ in held.accounts}
    for pinned in expected:
        address = associated_token_address(wallet, pinned.mint, pinned.token_program)
        if address not in addresses:
            yield from ledger.see(address, 0, at, held.slot)
    (wallet_account,) = native.accounts
    lamports = 0 if wallet_account is None else wallet_account.lamports
    return Holdings(context.config.network, wallet, lamports, tokens)
