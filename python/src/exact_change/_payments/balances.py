"""Checks balances that a node or a service returned."""

from __future__ import annotations

from typing import Sequence

from .._base.amounts import format_ui_amount
from .._base.network import TOKEN_PROGRAMS, WSOL_MINT, pinned_mint
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.tokens import associated_token_address, decode_mint
from .._transport.types import TokenBalance
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .offer_accounts import read_all


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


def check_claims(
    context: PaymentContext, balances: Sequence[TokenBalance], signal: Signal | None
) -> Steps[None]:
    """Raises ``invalid_response`` unless what a service claims is true.

    The token accounts are the wallet's own, because a person may send tokens there. The client's
    own node shows the decimals of mints that are not pinned, because a person judges amounts by
    them.
    """
    # The client's own transport has derived and read them itself.
    if context.transport is context.prices:
        return
    if not all(_is_own_account(context.config.wallet, balance) for balance in balances):
        raise _unusable("a token account in it is not the one of the wallet")
    network = context.config.network
    claimed = [each for each in balances if pinned_mint(network, each.mint) is None]
    mints = dict.fromkeys(each.mint for each in claimed)
    read = yield from read_all(context, [*mints], signal)
    for balance in claimed:
        account, _ = read[balance.mint]
        mint = None if account is None else decode_mint(account)
        if mint is None or mint.decimals != balance.decimals:
            raise _unusable("it counts a token in other decimals than its mint")


def _is_own_account(wallet: Address, balance: TokenBalance) -> bool:
    mint, program, account = balance.mint, balance.token_program, balance.token_account
    if program not in TOKEN_PROGRAMS:
        return False
    is_sol = mint == WSOL_MINT and account == wallet
    return is_sol or account == associated_token_address(wallet, mint, program)


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
