"""Checks balances that a node or a service returned."""

from __future__ import annotations

from typing import Sequence

from .._base.amounts import format_ui_amount
from .._base.network import pinned_mint
from .._solana.address import Address
from .._transport.types import TokenBalance
from ..errors import ExactChangeError, failure


def check_balances(
    balances: Sequence[TokenBalance], mints: Sequence[Address] | None, network: str
) -> None:
    """Raises ``invalid_response`` unless the balances are consistent and of the given mints.

    The transport has checked that there is one balance for each mint. The decimals of a pinned mint
    must be right. The amounts themselves are not checked: each payment asks the client's own node.
    """
    for at, balance in enumerate(balances):
        reason = _problem_of(balance, None if mints is None else mints[at], network)
        if reason is not None:
            raise _unusable(reason)


def _problem_of(balance: TokenBalance, mint: Address | None, network: str) -> str | None:
    if mint is not None and balance.mint != mint:
        return "it has the balance of another mint"
    decimals = balance.decimals
    if balance.ui_amount != format_ui_amount(int(balance.amount), decimals):
        return "an amount in it does not agree with itself"
    pinned = pinned_mint(network, balance.mint)
    if pinned is not None and pinned.decimals != decimals:
        return "it counts a known token in other decimals"
    return None


def _unusable(reason: str) -> ExactChangeError:
    return failure(
        "invalid_response",
        f"The balances cannot be used: {reason}. Try again, or use another service.",
        {"service": "service", "reason": reason},
    )
