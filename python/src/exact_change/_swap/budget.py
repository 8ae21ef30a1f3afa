"""Lamports that a transaction takes from the wallet and returns to it, and their limits."""

from __future__ import annotations

from typing import NamedTuple

from .._base.amounts import ceil_div
from .._base.network import WSOL_MINT
from .._base.token_text import funding_link, sol_text
from .._solana.address import Address
from ..errors import failure

# Lamports of one signature; the wallet is the only signer of a swap.
SIGNATURE_LAMPORTS = 5_000
_MICRO = 1_000_000


class SwapLimits(NamedTuple):
    """Limits on the costs of our transaction besides the swapped amounts, in lamports."""

    max_priority_fee: int
    # Rent of the wallet's token accounts that are created and stay.
    max_rent: int


class ComputeBudget(NamedTuple):
    """Limit of compute units and price per unit of a transaction."""

    unit_limit: int
    # Micro-lamports per unit.
    unit_price: int

    @property
    def priority_fee(self) -> int:
        """Lamports that the compute budget costs on top of the signature."""
        return ceil_div(self.unit_limit * self.unit_price, _MICRO)


class LamportBudget(NamedTuple):
    """Lamports that a transaction takes from the wallet and returns to it."""

    network_fee: int
    priority_fee: int
    # Rent of accounts that stay.
    rent: int
    # Rent of a wrapped SOL account that is closed again in the same transaction.
    temporary_rent: int
    # SOL that is wrapped for the swap.
    wrapped: int
    # The least that closing a wrapped SOL account brings, besides `temporary_rent`, and that is
    # withdrawn from token accounts.
    returned: int

    def required(self, wallet_minimum: int) -> int:
        """Returns the lamports that the wallet needs to run it and to stay rent-exempt."""
        return sum(self[:5]) + wallet_minimum

    def least(self, available: int) -> int:
        """Returns the least lamports that the wallet has after the transaction."""
        spent = self.network_fee + self.priority_fee + self.rent + self.wrapped
        return available - spent + self.returned


def swap_limits(max_fee_lamports: int, max_rent_lamports: int) -> SwapLimits:
    """Returns the limits of a policy, which counts the signature among the fees.

    Raises ``fees_over_limit`` if the signature alone is above the policy's limit.
    """
    if max_fee_lamports >= SIGNATURE_LAMPORTS:
        return SwapLimits(max_fee_lamports - SIGNATURE_LAMPORTS, max_rent_lamports)
    raise failure(
        "fees_over_limit",
        f"A transaction costs {SIGNATURE_LAMPORTS} lamports at least; policy.max_fee_lamports is "
        f"{max_fee_lamports}. Raise it.",
        {"lamports": str(SIGNATURE_LAMPORTS), "limit_lamports": str(max_fee_lamports)},
    )


def bounded_unit_price(wanted: int, unit_limit: int, max_lamports: int) -> int:
    """Returns the highest price, up to ``wanted``, with a priority fee within ``max_lamports``."""
    return min(wanted, max_lamports * _MICRO // unit_limit)


def check_budget(
    wallet: Address, budget: LamportBudget, available: int, wallet_minimum: int, max_rent: int
) -> None:
    """Raises ``insufficient_sol``, or ``fees_over_limit`` if the rent is above ``max_rent``."""
    if budget.rent > max_rent:
        raise failure(
            "fees_over_limit",
            f"The swap creates token accounts for {sol_text(budget.rent)} of rent; the limit is "
            f"{sol_text(max_rent)}.",
            {"lamports": str(budget.rent), "limit_lamports": str(max_rent)},
        )
    required = budget.required(wallet_minimum)
    if available < required:
        link = funding_link(wallet, WSOL_MINT, required - available, 9)
        needs = "network fees" + (", rent and what it sells" if budget.wrapped else " and rent")
        raise failure(
            "insufficient_sol",
            f"The swap needs {sol_text(required)} for {needs}; the wallet {wallet} "
            f"can spend {sol_text(available)}. Send it at least "
            f"{sol_text(required - available)} ({link}).",
            {
                "required_lamports": str(required),
                "available_lamports": str(available),
                "link": link,
            },
        )
