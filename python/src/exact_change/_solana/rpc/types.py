"""The answers of nodes, in plain data."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from typing_extensions import Literal, Protocol

from ..._kernel.signals import Signal
from ..._kernel.task import Steps
from ..address import Address

Commitment = Literal["processed", "confirmed", "finalized"]


class Account(NamedTuple):
    """An account as the node returns it."""

    owner: Address
    lamports: int
    data: bytes
    executable: bool = False


class Accounts(NamedTuple):
    """Accounts in the order of the request; None if an account does not exist."""

    slot: int
    accounts: Sequence[Account | None]


class OwnedToken(NamedTuple):
    address: Address
    account: Account


class OwnedTokens(NamedTuple):
    """Token accounts of an owner, of both programs."""

    slot: int
    accounts: Sequence[OwnedToken]


class SignatureStatus(NamedTuple):
    """The status of a signature; ``error`` is the node's text."""

    slot: int
    commitment: Commitment
    error: str | None


class InnerInstruction(NamedTuple):
    """A call between programs while a transaction ran, at any depth."""

    # The position of the top-level instruction that made the call.
    outer: int
    program: Address
    # The name that nodes give to calls of the System and both token programs; else None.
    name: str | None
    # Every address that the call names.
    addresses: Sequence[Address]
    # The account that a System instruction creates.
    creates: Address | None


class Simulation(NamedTuple):
    """A transaction that was run without landing."""

    slot: int
    # The node's own text, unchanged: code judges it, and does not show it.
    error: str | None
    logs: Sequence[str]
    units_consumed: int
    # The watched accounts after the run, in order; None if an account does not exist.
    accounts: Sequence[Account | None]
    # Calls in the order in which they ran; None if the node does not show them.
    inner: Sequence[InnerInstruction] | None


class TokenBalanceChange(NamedTuple):
    """The balance of a token account before and after a transaction."""

    account: Address
    mint: Address
    before: int
    after: int


class LandedTransaction(NamedTuple):
    slot: int
    error: str | None
    # All signatures, the fee payer's first; base58.
    signatures: Sequence[str]
    fee_lamports: int
    token_changes: Sequence[TokenBalanceChange]
    # Whether the node tells token balances.
    tells_tokens: bool
    # Lamports before and after, by account.
    lamports: Mapping[Address, tuple[int, int]]


class Tip(NamedTuple):
    """A block's slot, and the number of blocks up to it."""

    slot: int
    height: int


class SignatureInfo(NamedTuple):
    """A transaction in the history of an account."""

    signature: str
    slot: int
    error: str | None
    memo: str | None


class Reads(Protocol):
    """The calls of a node that the judgement of a swap needs; see :class:`Rpc`."""

    def accounts(
        self,
        addresses: Sequence[Address],
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Accounts]: ...

    def rent(self, size: int, *, signal: Signal | None = None) -> Steps[int]: ...

    def simulate(
        self,
        transaction: bytes,
        watch: Sequence[Address],
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Simulation]: ...
