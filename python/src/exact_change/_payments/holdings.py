"""All that the wallet holds."""

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

# For how long a read of all that the wallet holds is shared, in milliseconds.
_SHARED_MS = 1_000


def share_holdings(context: PaymentContext) -> Steps[Task[Holdings]]:
    """Calls within a second share one read of it, unless that is outdated."""
    shared = context.memory.holdings
    if shared is None or since_then(context.config.runtime, shared.at) >= _SHARED_MS:
        at = context.now()
        # No signal: one caller giving up must not end it for the others.
        read = yield from start(read_holdings(context, (), None))
        shared = context.memory.holdings = SharedHoldings(at, read)
        read.then(lambda: None if read.error is None else outdate_holdings(context))
    return shared.read


def shared_holdings(context: PaymentContext, signal: Signal | None) -> Steps[Holdings]:
    """The same, waited for."""
    read = yield from share_holdings(context)
    return (yield from join(read, signal))


def outdate_holdings(context: PaymentContext) -> None:
    """What was read may not be true any more: the next call reads anew."""
    context.memory.holdings = None


def read_holdings(
    context: PaymentContext, expected: Sequence[PinnedMint], signal: Signal | None
) -> Steps[Holdings]:
    """Reads all that the wallet holds, and remembers it.

    ``expected``: mints that are remembered as empty if the wallet has no account for them.
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
        # A frozen account is looked at again each time: it has a balance and cannot pay.
        if account.owner == wallet and account.state == "initialized":
            yield from ledger.see(address, account.amount, at, held.slot)
    addresses = {address for address, _ in held.accounts}
    for pinned in expected:
        address = associated_token_address(wallet, pinned.mint, pinned.token_program)
        if address not in addresses:
            yield from ledger.see(address, 0, at, held.slot)
    (own,) = native.accounts
    lamports = 0 if own is None else own.lamports
    return Holdings(context.config.network, wallet, lamports, tokens)
