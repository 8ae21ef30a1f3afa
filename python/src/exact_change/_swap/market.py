"""Reads rents, the market's price of compute units, and the accounts that a venue could reach."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

from .._firewall.exposure import Exposed, check_exposure, foreign_accounts
from .._kernel.signals import Signal, check
from .._kernel.steps import all_of, both, done
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.rpc.rpc import Rpc
from .._solana.rpc.types import Reads
from .._solana.types import AccountMeta, Instruction
from .excess import read_excess
from .read_facts import Leg, account_bytes

_READ_AT_ONCE = 100
# The most accounts that the node takes in one request.
_MAX_FEE_ACCOUNTS = 128
# Percentage of the recent races that the price would have won.
_PERCENTILE = 75


class Rents(NamedTuple):
    """Rents of the accounts of a swap, in lamports."""

    # Keeps the wallet itself rent-exempt.
    wallet_minimum: int
    # 0 if the account exists. Lamports at the address of a missing account are not deducted.
    source: int
    output: int
    # Lamports of the account beyond its rent; 0 if the wallet cannot withdraw them.
    source_excess: int
    output_excess: int


def read_rents(
    rpc: Reads, wallet: Address, legs: Sequence[Leg], slot: int, signal: Signal | None
) -> Steps[Rents]:
    """Reads the rents of both accounts of a swap."""

    def rent_of(leg: Leg) -> Steps[int]:
        if leg.account.exists:
            return done(0)
        return rpc.rent(account_bytes(leg.mint), signal=signal)

    def excess(leg: Leg) -> Steps[int]:
        return read_excess(rpc, wallet, leg.account, leg.rented_bytes, slot, signal)

    rents = yield from all_of([rpc.rent(0, signal=signal), *map(rent_of, legs), *map(excess, legs)])
    return Rents._make(rents)


def read_market(
    rpc: Rpc,
    wallet: Address,
    instruction: Instruction,
    legs: Sequence[Leg],
    slot: int,
    signal: Signal | None,
) -> Steps[int]:
    """Reads the accounts that the venue could reach, and returns the market's price.

    The price is in micro-lamports per compute unit. Raises ``unsafe_swap`` if the venue could reach
    another account of the wallet.
    """
    own = [wallet, *(leg.account.address for leg in legs)]
    foreign = foreign_accounts(instruction, own)
    # The wallet's own accounts set no price, because no other wallet competes for them.
    writable = [account.address for account in foreign if account.writable]
    exposed, price = yield from both(
        read_exposed(rpc, foreign, slot, signal), _market_price(rpc, writable, signal)
    )
    check_exposure(wallet, exposed)
    return price


def _market_price(rpc: Rpc, writable: Sequence[Address], signal: Signal | None) -> Steps[int]:
    """Returns a price in micro-lamports per compute unit; at least 1.

    It would have won three quarters of the recent races for these writable accounts. If the node
    cannot tell, returns the least price, because that is no reason not to swap.
    """
    try:
        fees = sorted((yield from rpc.priority_fees(writable[:_MAX_FEE_ACCOUNTS], signal=signal)))
    except Exception:
        check(signal)
        return 1
    at = math.ceil(len(fees) * _PERCENTILE / 100) - 1
    return max(1, fees[at]) if fees else 1


def read_exposed(
    rpc: Reads, foreign: Sequence[AccountMeta], slot: int | None, signal: Signal | None
) -> Steps[list[Exposed]]:
    """Reads any number of accounts, in batches of the most that a node returns at once."""
    addresses = [meta.address for meta in foreign]
    pages = [
        rpc.accounts(addresses[at : at + _READ_AT_ONCE], min_slot=slot, signal=signal)
        for at in range(0, len(addresses), _READ_AT_ONCE)
    ]
    read = yield from all_of(pages)
    accounts = [account for page in read for account in page.accounts]
    return [
        Exposed(meta.address, meta.writable, account) for meta, account in zip(foreign, accounts)
    ]
