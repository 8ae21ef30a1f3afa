"""Stage 8: all other accounts that the swap names, as the caller's own node has them."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import EVERY_PINNED_MINT, SYSTEM_PROGRAM, TOKEN_PROGRAMS
from .._solana.address import Address, address_bytes
from .._solana.rpc.types import Account
from .._solana.tokens import MULTISIG_BYTES, associated_token_address, decode_mint
from .._solana.types import AccountMeta, Instruction
from .rule import Rule, enforce


class Exposed(NamedTuple):
    """An account in reach of the swap, as the chain has it."""

    address: Address
    writable: bool
    account: Account | None


class ExposureSubject(NamedTuple):
    """The wallet, and what is in reach."""

    wallet: Address
    exposed: Sequence[Exposed]


def foreign_accounts(instruction: Instruction, own: Sequence[Address]) -> list[AccountMeta]:
    """The accounts that the swap names besides the wallet's; each once, writable if anywhere."""
    found: dict[Address, AccountMeta] = {}
    for account in instruction.accounts:
        known = found.get(account.address)
        if account.address not in own and (known is None or not known.writable):
            found[account.address] = account
    return list(found.values())


def is_there(account: Account | None) -> bool:
    """Any wallet may send lamports to an address that is no account yet."""
    return account is not None and not (account.owner == SYSTEM_PROGRAM and not account.data)


def _names_no_other(subject: ExposureSubject) -> bool:
    """Of any program: which of them obey a key in their data is not for us to know."""
    key = address_bytes(subject.wallet)
    return all(
        not one.writable or one.account is None or key not in one.account.data
        for one in subject.exposed
    )


def _hands_no_vacancy(subject: ExposureSubject) -> bool:
    vacant = {one.address for one in subject.exposed if one.writable and not is_there(one.account)}
    # Deriving takes a while, and most swaps have none.
    return not vacant or vacant.isdisjoint(_own_accounts(subject))


def _names_no_multisig(subject: ExposureSubject) -> bool:
    key = address_bytes(subject.wallet)
    return all(
        one.account is None or not _may_be_multisig(one.account) or key not in one.account.data
        for one in subject.exposed
    )


EXPOSURE_RULES: Sequence[Rule[ExposureSubject]] = (
    Rule("exposed_account", _names_no_other),
    Rule("exposed_vacancy", _hands_no_vacancy),
    Rule("exposed_multisig", _names_no_multisig),
)


def check_exposure(wallet: Address, exposed: Sequence[Exposed]) -> None:
    """Refuses a swap that hands the venue another account of the wallet.

    A route over an intermediate account of the wallet is refused with it, on purpose, and so is a
    market that remembers it.
    """
    enforce(EXPOSURE_RULES, ExposureSubject(wallet, exposed))


def _own_accounts(subject: ExposureSubject) -> set[Address]:
    """The wallet's accounts for tokens that may well reach it: pinned, or named by the swap."""
    mints = {(one.mint, one.token_program) for one in EVERY_PINNED_MINT}
    for one in subject.exposed:
        mint = None if one.account is None else decode_mint(one.account)
        if mint is not None:
            mints.add((one.address, mint.token_program))
    return {associated_token_address(subject.wallet, *mint) for mint in mints}


def _may_be_multisig(account: Account) -> bool:
    """Token programs tell their multisigs by their length; of others we cannot tell."""
    return account.owner not in TOKEN_PROGRAMS or len(account.data) == MULTISIG_BYTES
