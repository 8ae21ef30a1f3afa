"""Reads accounts, rents and priority fees from nodes."""

from __future__ import annotations

from typing import Any, Callable, Sequence, TypeVar

from ..._base.json_types import record_of
from ..._base.network import TOKEN_PROGRAMS
from ..._base.runtime import since_then
from ..._kernel.signals import Signal
from ..._kernel.steps import all_of
from ..._kernel.task import Steps
from ..address import Address, is_address
from .failover import Failover
from .fault import Fault
from .node import Node
from .reply import read_account, slot_in, values_in, whole
from .types import Accounts, Commitment, OwnedToken, OwnedTokens

T = TypeVar("T")
CONFIRMED: Commitment = "confirmed"
# Rent follows from a constant of the cluster, which changes between epochs at most. A transaction
# that counts on an older rent fails in simulation.
_RENT_MS = 10 * 60_000
_MAX_RENTS = 64


class AccountReads:
    """Reads at ``confirmed``, unless a method says otherwise.

    ``min_slot``: the node answers from this slot or later, or fails.
    """

    def __init__(self, failover: Failover) -> None:
        self.failover = failover
        # Lamports by size of the account, and when they were asked for.
        self._rents: dict[int, tuple[int, int]] = {}

    def accounts(
        self,
        addresses: Sequence[Address],
        *,
        commitment: Commitment = CONFIRMED,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Accounts]:
        """Reads at most 100 accounts."""
        settings = {**settings_for(min_slot, commitment), "encoding": "base64"}

        def read(result: Any) -> Accounts:
            values = values_in(result, len(addresses))
            accounts = [None if value is None else read_account(value) for value in values]
            return Accounts(slot_in(result, min_slot), accounts)

        params = [checked(addresses), settings]
        return self.ask("getMultipleAccounts", params, read, signal)

    def token_accounts(self, owner: Address, *, signal: Signal | None = None) -> Steps[OwnedTokens]:
        """Reads the token accounts of an owner, of both token programs."""
        settings = {**settings_for(None), "encoding": "base64"}

        def read(result: Any) -> OwnedTokens:
            accounts = [
                OwnedToken(_address(entry["pubkey"]), read_account(entry["account"]))
                for entry in record_of(result)["value"]
            ]
            return OwnedTokens(slot_in(result, None), accounts)

        (address,) = checked([owner])
        parts = yield from all_of(
            [
                self.ask(
                    "getTokenAccountsByOwner",
                    [address, {"programId": program}, settings],
                    read,
                    signal,
                )
                for program in TOKEN_PROGRAMS
            ]
        )
        every = [account for part in parts for account in part.accounts]
        return OwnedTokens(min(part.slot for part in parts), every)

    def rent(self, size: int, *, signal: Signal | None = None) -> Steps[int]:
        """Returns the lamports that make an account of ``size`` bytes rent-exempt.

        They may be 10 minutes old.
        """
        runtime = self.failover.runtime
        known = self._rents.get(size)
        if known is not None and since_then(runtime, known[1]) < _RENT_MS:
            return known[0]

        def read(result: Any) -> int:
            lamports = whole(result)
            if lamports == 0:
                raise Fault("invalid", "rent is never zero")
            return lamports

        params = [size, {"commitment": CONFIRMED}]
        at = runtime.now()
        lamports = yield from self.ask("getMinimumBalanceForRentExemption", params, read, signal)
        # A token account has one of few sizes, whatever its mint.
        if len(self._rents) >= _MAX_RENTS:
            self._rents.clear()
        self._rents[size] = (lamports, at)
        return lamports

    def priority_fees(
        self, accounts: Sequence[Address], *, signal: Signal | None = None
    ) -> Steps[list[int]]:
        """Returns the prices that recent transactions paid for these writable accounts.

        In micro-lamports per compute unit.
        """

        def read(result: Any) -> list[int]:
            return [whole(entry["prioritizationFee"]) for entry in result]

        return self.ask("getRecentPrioritizationFees", [checked(accounts)], read, signal)

    def ask(
        self,
        method: str,
        params: Sequence[Any],
        read: Callable[[Any], T],
        signal: Signal | None,
    ) -> Steps[T]:
        """Returns the answer of the first node that gives a usable answer."""

        def ask(node: Node, stop: Signal) -> Steps[T]:
            return read((yield from node.ask(method, params, stop)))

        return self.failover.ask(method, ask, signal)


def settings_for(min_slot: int | None, commitment: Commitment = CONFIRMED) -> dict[str, Any]:
    settings: dict[str, Any] = {"commitment": commitment}
    return settings if min_slot is None else {**settings, "minContextSlot": min_slot}


def checked(addresses: Sequence[Address]) -> list[Address]:
    """Returns the addresses; raises ``TypeError`` if a value is no address."""
    return [_address(address) for address in addresses]


def _address(value: object) -> Address:
    if not is_address(value):
        raise TypeError("Not a Solana address.")
    return value
