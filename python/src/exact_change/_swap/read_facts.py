"""The wallet and its own accounts for the tokens of a swap, in one read."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from typing_extensions import Protocol

from .._base.network import (
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
    TOKEN_PROGRAMS,
    WSOL_MINT,
)
from .._firewall.exposure import is_there
from .._firewall.guard import OwnAccount
from .._firewall.own_accounts import OWN_ACCOUNT_RULES, OwnAccountSubject
from .._firewall.rule import broken_by
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.rpc.types import Account, Accounts
from .._solana.tokens import (
    Mint,
    TokenAccount,
    associated_token_address,
    decode_mint,
    decode_token_account,
    uncounted_lamports,
)
from ..errors import failure


class RawLeg(NamedTuple):
    """One side of a swap before the wallet's account for it was judged."""

    mint_address: Address
    mint: Mint
    # The wallet's associated token account, and what lies there.
    address: Address
    account: Account | None

    @property
    def held(self) -> TokenAccount | None:
        """What it is, if it is a token account of its program."""
        return held_in(self.account, self.mint.token_program)


class RawWallet(NamedTuple):
    """The wallet as one read has it."""

    slot: int
    lamports: int
    legs: Sequence[RawLeg]


class Leg(NamedTuple):
    """One side of a swap as the chain has it."""

    account: OwnAccount
    mint: Mint


class Reads(Protocol):
    """What a node is asked for."""

    def accounts(
        self,
        addresses: Sequence[Address],
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Accounts]:
        """Accounts at ``confirmed``."""
        ...

    def rent(self, size: int, *, signal: Signal | None = None) -> Steps[int]:
        """Lamports that make an account rent-exempt."""
        ...


# Of the older token program.
TOKEN_ACCOUNT_BYTES = 165
# What each extension of a mint adds to a new account of it: type and length, then the value.
_ACCOUNT_EXTENSION_BYTES = {"transferFeeConfig": 12, "transferHook": 5, "pausable": 4}


def read_raw_wallet(
    rpc: Reads,
    wallet: Address,
    mints: Sequence[Address],
    *,
    min_slot: int | None = None,
    signal: Signal | None = None,
) -> Steps[RawWallet]:
    """The associated account of either program is asked for; the mint's owner says which counts.

    Raises ``unknown_mint``, ``mint_not_supported``, or ``account_unusable`` of the wallet itself.
    """
    addresses = list(
        dict.fromkeys(
            (
                wallet,
                *(
                    address
                    for mint in mints
                    for address in (
                        mint,
                        *(associated_token_address(wallet, mint, one) for one in TOKEN_PROGRAMS),
                    )
                ),
            )
        )
    )
    slot, accounts = yield from rpc.accounts(addresses, min_slot=min_slot, signal=signal)
    at = dict(zip(addresses, accounts))
    legs: list[RawLeg] = []
    for name in mints:
        mint = _read_mint(name, at[name])
        address = associated_token_address(wallet, name, mint.token_program)
        legs.append(RawLeg(name, mint, address, at[address]))
    return RawWallet(slot, _wallet_lamports(wallet, at[wallet]), legs)


def read_leg(wallet: Address, leg: RawLeg) -> Leg:
    """A side with the wallet's own account judged. Raises ``account_unusable``."""
    return Leg(own_account_of(wallet, leg), leg.mint)


def own_account_of(wallet: Address, leg: RawLeg) -> OwnAccount:
    """The wallet's own account of one side.

    One that is frozen, belongs to another wallet, or that another may spend from or close is
    refused (``account_unusable``): a swap into or out of it could not be guarded.
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
    if account is None or not is_there(account):
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


def held_in(account: Account | None, token_program: Address) -> TokenAccount | None:
    """What a token account of this program holds; None if it is none."""
    if account is None or account.owner != token_program:
        return None
    return decode_token_account(account)


class Making(NamedTuple):
    """Lamports that making a missing account takes, and that count as wrapped once it is made."""

    takes: int
    uncounted: int


def once_made(missing: OwnAccount, rent: int) -> Making:
    """Of wrapped SOL, what lies at its address beyond the rent counts as soon as it is made."""
    beyond = max(0, missing.lamports - rent)
    return Making(max(0, rent - missing.lamports), beyond if missing.mint == WSOL_MINT else 0)


def account_bytes(mint: Mint) -> int:
    """Bytes of a new associated token account.

    Token-2022 adds its kind and the mark of an immutable owner to every one.
    """
    if mint.token_program == TOKEN_PROGRAM:
        return TOKEN_ACCOUNT_BYTES
    return 170 + sum(_ACCOUNT_EXTENSION_BYTES.get(name, 0) for name in mint.extensions)


def new_account_rent(
    rpc: Reads, wallet: Address, mint: Address, signal: Signal | None
) -> Steps[int]:
    """Rent of the wallet's own account for a mint, if there is none yet."""
    (leg,) = (yield from read_raw_wallet(rpc, wallet, [mint], signal=signal)).legs
    if is_there(leg.account):
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


def _read_mint(address: Address, account: Account | None) -> Mint:
    mint = None if account is None else decode_mint(account)
    if mint is None:
        raise failure(
            "unknown_mint",
            f"There is no token mint at {address} on this network. Check the mint, and the network "
            "of the client.",
            {"mint": address},
        )
    reason = _unsupported(mint)
    if reason is None:
        return mint
    raise failure(
        "mint_not_supported",
        f"The token {address} cannot be swapped: {reason}. Use another token.",
        {"mint": address, "reason": reason},
    )


def _unsupported(mint: Mint) -> str | None:
    # Its transfers need accounts that only the hook knows, so the guard could not be built.
    if mint.transfer_hook_program is not None:
        return "its transfers call another program"
    if mint.paused:
        return "its transfers are paused"
    if "nonTransferable" in mint.extensions:
        return "it cannot be transferred"
    if any(name.startswith("unknown:") for name in mint.extensions):
        return "it has an extension that is not known"
    return None
