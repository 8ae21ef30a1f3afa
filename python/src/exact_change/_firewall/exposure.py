"""Stage 8: rules on all other accounts that the swap names, as the caller's own node has them."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import COMPRESSION_PROGRAMS, EVERY_PINNED_MINT, SYSTEM_PROGRAM
from .._solana.address import Address, address_bytes, is_reserved
from .._solana.rpc.types import Account
from .._solana.tokens import associated_token_address, decode_mint
from .._solana.types import AccountMeta, Instruction
from .rule import Rule, enforce


class Exposed(NamedTuple):
    """An account that the swap can reach, as the chain has it."""

    address: Address
    writable: bool
    account: Account | None


class ExposureSubject(NamedTuple):
    """The wallet, and the accounts that the swap can reach."""

    wallet: Address
    exposed: Sequence[Exposed]


def foreign_accounts(instruction: Instruction, own: Sequence[Address]) -> list[AccountMeta]:
    """Returns the accounts that the swap names besides the wallet's ``own``.

    Each account comes once, writable if any mention of it is. Programs and sysvars that the swap
    only reads are left out: they are no multisigs and not the wallet's, and one token program is a
    tenth of a megabyte.
    """
    found: dict[Address, AccountMeta] = {}
    for account in instruction.accounts:
        address, known = account.address, found.get(account.address)
        if address in own or (known is not None and known.writable):
            continue
        if account.writable or not is_reserved(address):
            found[address] = account
    return list(found.values())


def account_exists(account: Account | None) -> bool:
    """Whether an account exists. Lamports alone do not count: any wallet may send them."""
    return account is not None and not (account.owner == SYSTEM_PROGRAM and not account.data)


def _names_no_other(subject: ExposureSubject) -> bool:
    """Whether no writable account has the wallet's key in its data.

    Accounts of every program count: we cannot know which programs obey a key in their data.
    """
    key = address_bytes(subject.wallet)
    return all(
        not exposed.writable or exposed.account is None or key not in exposed.account.data
        for exposed in subject.exposed
    )


def _writes_no_tree(subject: ExposureSubject) -> bool:
    """Whether the swap can write to no tree of compressed assets.

    A tree names owners only by hash, so the wallet may own a leaf of it.
    """
    return not any(
        exposed.writable
        and exposed.account is not None
        and exposed.account.owner in COMPRESSION_PROGRAMS
        for exposed in subject.exposed
    )


def _creates_no_own_account(subject: ExposureSubject) -> bool:
    """Whether the swap can create no account of the wallet."""
    vacant = {
        exposed.address
        for exposed in subject.exposed
        if exposed.writable and not account_exists(exposed.account)
    }
    # Skip the slow derivation of addresses for most swaps, because they name no vacant account.
    return not vacant or vacant.isdisjoint(_own_accounts(subject))


def _names_no_power(subject: ExposureSubject) -> bool:
    """Whether no account gives the wallet a power over other accounts, which need not name it.

    An account that is only read counts too: a position obeys the owner of the account with its NFT.
    """
    key = address_bytes(subject.wallet)
    return all(
        exposed.account is None or key not in _powers_in(exposed.account)
        for exposed in subject.exposed
    )


EXPOSURE_RULES: Sequence[Rule[ExposureSubject]] = (
    Rule("exposed_account", _names_no_other),
    Rule("exposed_tree", _writes_no_tree),
    Rule("exposed_vacancy", _creates_no_own_account),
    Rule("exposed_multisig", _names_no_power),
)


def check_exposure(wallet: Address, exposed: Sequence[Exposed]) -> None:
    """Raises ``unsafe_swap`` if the venue could reach another account of the wallet.

    This also refuses, on purpose, a route over an intermediate account of the wallet and a market
    that stores its key.
    """
    enforce(EXPOSURE_RULES, ExposureSubject(wallet, exposed))


def _own_accounts(subject: ExposureSubject) -> set[Address]:
    """Returns the wallet's accounts for pinned tokens, and for tokens with a mint in the swap.

    These tokens may well reach the wallet. Any other vacant address may be a market's.
    """
    mints = {(pinned.mint, pinned.token_program) for pinned in EVERY_PINNED_MINT}
    for exposed in subject.exposed:
        mint = None if exposed.account is None else decode_mint(exposed.account)
        if mint is not None:
            mints.add((exposed.address, mint.token_program))
    return {associated_token_address(subject.wallet, *mint) for mint in mints}


def _powers_in(account: Account) -> bytes:
    """Returns the part of an account that may name wallets with a power over other accounts.

    These are owners of NFTs, members of multisigs, and the wallets that a mint lets freeze, move or
    collect the tokens of others. Accounts of any program count: they may list members, voters or
    signers in forms that we do not know.
    """
    # The mint authority comes first in a mint. It can do nothing with a mint that is only read.
    return account.data if decode_mint(account) is None else account.data[36:]
