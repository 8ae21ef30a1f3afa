"""What nodes are asked, and what they answer, in plain data."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from typing_extensions import Literal

from ..address import Address

Commitment = Literal["processed", "confirmed", "finalized"]


class Account(NamedTuple):
    """An account as the node returns it."""

    owner: Address
    lamports: int
    data: bytes
    executable: bool = False


class Accounts(NamedTuple):
    """Accounts, in the order asked for; None if they do not exist."""

    slot: int
    accounts: Sequence[Account | None]


class OwnedToken(NamedTuple):
    """A token account of an owner."""

    address: Address
    account: Account


class OwnedTokens(NamedTuple):
    """Token accounts of an owner, of both programs."""

    slot: int
    accounts: Sequence[OwnedToken]


class SignatureStatus(NamedTuple):
    """What became of a signature; ``error`` is as the node words it."""

    slot: int
    commitment: Commitment
    error: str | None


class InnerInstruction(NamedTuple):
    """What one program called in another while a transaction ran, at any depth."""

    # The position of the top-level instruction that it ran under.
    outer: int
    program: Address
    # Of the System and both token programs, as nodes name it; None for what has no name.
    name: str | None
    # Every address that it names.
    addresses: Sequence[Address]
    # The account that a System instruction creates.
    creates: Address | None


class Simulation(NamedTuple):
    """A transaction that was run without landing."""

    slot: int
    # In the node's own words, as they came: to be judged, not shown.
    error: str | None
    logs: Sequence[str]
    units_consumed: int
    # The watched accounts afterwards, in order; None if they do not exist.
    accounts: Sequence[Account | None]
    # In the order in which they ran; None if the node does not show them.
    inner: Sequence[InnerInstruction] | None


class TokenBalanceChange(NamedTuple):
    """What a transaction did to a token account."""

    account: Address
    mint: Address
    owner: Address
    before: int
    after: int


class LandedTransaction(NamedTuple):
    """A transaction that landed."""

    slot: int
    error: str | None
    # All signatures, fee payer's first; base58.
    signatures: Sequence[str]
    fee_lamports: int
    token_changes: Sequence[TokenBalanceChange]
    # Whether the node keeps token balances at all.
    tells_tokens: bool
    # Lamports before and after, by account.
    lamports: Mapping[Address, tuple[int, int]]


class Tip(NamedTuple):
    """A slot and the number of blocks up to it, of one and the same block."""

    slot: int
    height: int


class SignatureInfo(NamedTuple):
    """A transaction in the history of an account."""

    signature: str
    slot: int
    error: str | None
    memo: str | None
