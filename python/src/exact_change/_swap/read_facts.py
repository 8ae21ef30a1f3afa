"""Reads the wallet and its own accounts for the tokens of a swap, in one request."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import (
    SOLANA_MAINNET,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
    TOKEN_PROGRAMS,
    WSOL_MINT,
)
from .._base.token_text import amount_text, funding_link
from .._firewall.exposure import account_exists
from .._firewall.guard import OwnAccount
from .._firewall.own_accounts import OWN_ACCOUNT_RULES, OwnAccountSubject
from .._firewall.rule import broken_by
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.rpc.types import Account, Reads
from .._solana.tokens import (
    Mint,
    TokenAccount,
    associated_token_address,
    decode_mint,
    decode_token_account,
    uncounted_lamports,
)
from ..errors import ExactChangeError, failure


class RawLeg(NamedTuple):
    """One side of a swap, before the wallet's account is judged."""

    mint_address: Address
    mint: Mint
    # The wallet's associated token account.
    address: Address
    account: Account | None

    @property
    def held(self) -> TokenAccount | None:
        """The decoded token account; None if it is no account of the mint's program."""
        return decode_held_account(self.account, self.mint.token_program)

    @property
    def rented_bytes(self) -> int | None:
        """The bytes of an account, or of the new account at its address.

        None if its lamports are not for its rent alone, but its tokens too.
        """
        account, held = self.account, self.held
        if account is None or not account_exists(account):
            return None if self.mint_address == WSOL_MINT else account_bytes(self.mint)
        return None if held is None or held.is_native else len(account.data)


class RawWallet(NamedTuple):
    """The wallet and both sides of a swap, from one read."""

    slot: int
    lamports: int
    legs: Sequence[RawLeg]


class Leg(NamedTuple):
    """The account and the mint of one side of a swap, as the chain has them."""

    account: OwnAccount
    mint: Mint
    # See `RawLeg`.
    rented_bytes: int | None


# Bytes of an account of the older token program.
TOKEN_ACCOUNT_BYTES = 165
# Bytes that each extension of a mint adds to its new accounts: type, length and value.
_ACCOUNT_EXTENSION_BYTES = {"transferFeeConfig": 12, "transferHook": 5, "pausable": 4}


def read_raw_wallet(
    rpc: Reads,
    wallet: Address,
    mints: Sequence[Address],
    signal: Signal | None,
) -> Steps[RawWallet]:
    """Reads the wallet and its own accounts for these mints in one request.

    It asks for the associated accounts of both token programs, and the mint's owner tells which of
    them counts. It does not judge the token accounts. Raises ``unknown_mint``,
    ``mint_not_supported``, or ``account_unusable`` for the wallet itself.
    """
    wanted = [wallet]
    for mint in mints:
        own = (associated_token_address(wallet, mint, program) for program in TOKEN_PROGRAMS)
        wanted += [mint, *own]
    addresses = list(dict.fromkeys(wanted))
    slot, accounts = yield from rpc.accounts(addresses, signal=signal)
    account_at = dict(zip(addresses, accounts))
    lamports = _wallet_lamports(wallet, account_at[wallet])
    legs: list[RawLeg] = []
    for mint_address in mints:
        decoded = _read_mint(mint_address, account_at[mint_address])
        address = associated_token_address(wallet, mint_address, decoded.token_program)
        legs.append(RawLeg(mint_address, decoded, address, account_at[address]))
    return RawWallet(slot, lamports, legs)


def read_leg(wallet: Address, leg: RawLeg) -> Leg:
    """Judges the wallet's own account of one side. Raises ``account_unusable``."""
    return Leg(own_account_of(wallet, leg), leg.mint, leg.rented_bytes)


def own_account_of(wallet: Address, leg: RawLeg) -> OwnAccount:
    """Returns the wallet's own account of one side.

    Raises ``account_unusable`` if it is frozen, belongs to another wallet, or another key may spend
    from it or close it: the guard could not protect it.
    """
    account, mint = leg.account, leg.mint
    missing = OwnAccount(
        leg.address,
        leg.mint_address,
        mint.token_program,
        mint.decimals,
        False,
        0,
        0,
        0 if account is None else account.lamports,
    )
    if account is None or not account_exists(account):
        return missing
    held = leg.held
    broken = broken_by(OWN_ACCOUNT_RULES, OwnAccountSubject(wallet, leg.mint_address, held))
    if broken is not None or held is None:
        reason = "it cannot be read" if broken is None else broken.text.refuses
        rule = "" if broken is None else f" (rule {broken.id})"
        raise failure(
            "account_unusable",
            f"The token account {leg.address} cannot take part in a swap: {reason}{rule}. Repair "
            "it, or use another token.",
            {"account": leg.address, "reason": reason},
        )
    uncounted = uncounted_lamports(account, held)
    return missing._replace(exists=True, balance=held.amount, uncounted=uncounted)


def decode_held_account(account: Account | None, token_program: Address) -> TokenAccount | None:
    """Decodes a token account of this program; None if it is none."""
    if account is None or account.owner != token_program:
        return None
    return decode_token_account(account)


class CreationCost(NamedTuple):
    """Lamports that creating a missing account takes, and lamports that then are wrapped SOL."""

    takes: int
    uncounted: int


def creation_cost(missing: OwnAccount, rent: int) -> CreationCost:
    """Returns the lamports that it takes to create a missing account.

    For wrapped SOL, also returns the lamports at its address beyond the rent, which count as soon
    as the account exists.
    """
    beyond = max(0, missing.lamports - rent)
    return CreationCost(max(0, rent - missing.lamports), beyond if missing.mint == WSOL_MINT else 0)


def account_bytes(mint: Mint) -> int:
    """Returns the bytes of a new associated token account.

    Token-2022 adds the account type and the immutable-owner extension to each account.
    """
    if mint.token_program == TOKEN_PROGRAM:
        return TOKEN_ACCOUNT_BYTES
    return 170 + sum(_ACCOUNT_EXTENSION_BYTES.get(name, 0) for name in mint.extensions)


def new_account_rent(
    rpc: Reads, wallet: Address, mint: Address, signal: Signal | None
) -> Steps[int]:
    """Returns the rent of the wallet's own account for a mint; 0 if the account exists."""
    (leg,) = (yield from read_raw_wallet(rpc, wallet, [mint], signal)).legs
    if account_exists(leg.account):
        return 0
    return (yield from rpc.rent(account_bytes(leg.mint), signal=signal))


def _wallet_lamports(wallet: Address, account: Account | None) -> int:
    if account is None:
        return 0
    if account.owner == SYSTEM_PROGRAM and not account.data:
        return account.lamports
    reason = "it is not a plain wallet"
    raise failure(
        "account_unusable",
        f"The wallet {wallet} cannot sign a swap: {reason}. Use a wallet that is one.",
        {"account": wallet, "reason": reason},
    )


def unknown_mint(mint: Address) -> ExactChangeError:
    """Returns the error for a mint that is not on the chain."""
    return failure(
        "unknown_mint",
        f"There is no token mint at {mint} on this network. Check the mint, and the network of the "
        "client.",
        {"mint": mint},
    )


def _read_mint(address: Address, account: Account | None) -> Mint:
    mint = None if account is None else decode_mint(account)
    if mint is None:
        raise unknown_mint(address)
    reason = _unsupported(mint)
    if reason is None:
        return mint
    raise failure(
        "mint_not_supported",
        f"The token {address} cannot be swapped: {reason}. Use another token.",
        {"mint": address, "reason": reason},
    )


def _unsupported(mint: Mint) -> str | None:
    """Returns why a mint cannot be swapped; None if it can."""
    # Transfers with a hook need accounts that only the hook knows, so we could not build the guard.
    if mint.transfer_hook_program is not None:
        return "its transfers call another program"
    if mint.paused:
        return "its transfers are paused"
    if "nonTransferable" in mint.extensions:
        return "it cannot be transferred"
    if any(name.startswith("unknown:") for name in mint.extensions):
        return "it has an extension that is not known"
    return None


def too_little_input(
    wallet: Address, source: OwnAccount, required: int, available: int
) -> ExactChangeError:
    """Returns the error for a swap that may take more than the wallet can spend."""
    mint, decimals = source.mint, source.decimals
    most, spendable = (
        amount_text(SOLANA_MAINNET, mint, amount, decimals) for amount in (required, available)
    )
    link = funding_link(wallet, mint, required - available, decimals)
    return failure(
        "insufficient_funds",
        f"The swap may take up to {most}, and the wallet {wallet} can spend {spendable}. "
        f"Fund it ({link}).",
        {
            "mint": mint,
            "required": str(required),
            "available": str(available),
            "link": link,
        },
    )
