"""What a swap costs on today's chain, and what a venue could reach."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

from .._firewall.exposure import Exposed, check_exposure, foreign_accounts
from .._kernel.signals import Signal
from .._kernel.steps import all_of, both, done
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.rpc.rpc import Rpc
from .._solana.types import AccountMeta, Instruction
from .read_facts import Leg, Reads, account_bytes

_READ_AT_ONCE = 100
# The most accounts that the node takes in one question, and the share of races to win.
_MAX_FEE_ACCOUNTS = 128
_PERCENTILE = 75


class Rents(NamedTuple):
    """What accounts cost, in lamports. Of a missing one, what lies at its address counts too."""

    wallet_minimum: int
    source: int
    output: int


def read_rents(rpc: Reads, legs: Sequence[Leg], signal: Signal | None) -> Steps[Rents]:
    """What both accounts of a swap cost, if they are missing."""

    def rent_of(leg: Leg) -> Steps[int]:
        if leg.account.exists:
            return done(0)
        return rpc.rent(account_bytes(leg.mint), signal=signal)

    rents = yield from all_of([rpc.rent(0, signal=signal), *map(rent_of, legs)])
    return Rents._make(rents)


def read_market(
    rpc: Rpc,
    wallet: Address,
    instruction: Instruction,
    legs: Sequence[Leg],
    slot: int,
    signal: Signal | None,
) -> Steps[int]:
    """What else the chain must be asked before signing: the price, and what is in reach.

    Micro-lamports per compute unit. Raises ``unsafe_swap`` if the venue could reach another account
    of the wallet.
    """
    own = [wallet, *(leg.account.address for leg in legs)]
    foreign = foreign_accounts(instruction, own)
    # No other wallet races for this one's own.
    writable = [one.address for one in foreign if one.writable]
    exposed, price = yield from both(
        read_exposed(rpc, foreign, slot, signal), _market_price(rpc, writable, signal)
    )
    check_exposure(wallet, exposed)
    return price


def _market_price(rpc: Rpc, writable: Sequence[Address], signal: Signal | None) -> Steps[int]:
    """Micro-lamports that win three quarters of the recent races for these accounts; at least 1.

    A node that cannot say is no reason not to swap.
    """
    try:
        fees = sorted((yield from rpc.priority_fees(writable[:_MAX_FEE_ACCOUNTS], signal=signal)))
    except Exception:
        if signal is not None:
            signal.check()
        return 1
    at = math.ceil(len(fees) * _PERCENTILE / 100) - 1
    return max(1, fees[at]) if fees else 1


def read_exposed(
    rpc: Reads, foreign: Sequence[AccountMeta], slot: int | None, signal: Signal | None
) -> Steps[list[Exposed]]:
    """What lies in accounts of any number, as many read at once as the network allows."""
    addresses = [one.address for one in foreign]
    pages = [
        rpc.accounts(addresses[at : at + _READ_AT_ONCE], min_slot=slot, signal=signal)
        for at in range(0, len(addresses), _READ_AT_ONCE)
    ]
    read = yield from all_of(pages)
    accounts = [account for page in read for account in page.accounts]
    return [Exposed(one.address, one.writable, account) for one, account in zip(foreign, accounts)]
