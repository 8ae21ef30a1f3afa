"""Where balances are kept, and what payments do with them."""

from __future__ import annotations

from typing import Callable, TypeVar

from typing_extensions import Protocol

from .._kernel.task import Steps
from .balances import (
    EMPTY,
    AccountBalance,
    BalanceChange,
    Fresh,
    Taken,
    changed,
    holding,
    spending,
    taking,
)

T = TypeVar("T")
# What is to happen to a balance, if anything, and what it leads to.
Decide = Callable[[AccountBalance], "tuple[BalanceChange | None, T]"]


class BalanceStore(Protocol):
    """Where balances are kept."""

    def read(self, account: str) -> Steps[AccountBalance]:
        """A balance."""
        ...

    def step(self, account: str, decide: Decide[T]) -> Steps[T]:
        """Decides at the balance as it stands; no other call changes that meanwhile."""
        ...


class MemoryBalances:
    """Balances in memory: nothing waits between a read and its write."""

    def __init__(self) -> None:
        self._balances: dict[str, AccountBalance] = {}

    def read(self, account: str) -> Steps[AccountBalance]:
        """A balance."""
        return self._balances.get(account, EMPTY)
        yield

    def step(self, account: str, decide: Decide[T]) -> Steps[T]:
        """Decides, and makes the change."""
        balance = self._balances.get(account, EMPTY)
        change, result = decide(balance)
        if change is not None:
            self._balances[account] = changed(balance, change)
        return result
        yield


class Ledger:
    """Accounts are token account addresses, and the wallet's own for lamports."""

    def __init__(self, store: BalanceStore) -> None:
        self.store = store

    def available(self, account: str, fresh: Fresh) -> Steps[int | None]:
        """What can be spent; None if the balance was not seen lately and has to be read."""
        return (yield from self.store.read(account)).available(fresh)

    def held(self, account: str) -> Steps[int]:
        """What is promised to attempts in flight."""
        return (yield from self.store.read(account)).held

    def see(
        self, account: str, amount: int, at: int, slot: int | None = None, moved: int = 0
    ) -> Steps[None]:
        """Takes down a balance as the chain shows it."""
        known = {"amount": str(amount), "at": at}
        seen = known if slot is None else {**known, "slot": slot}
        return self._make(account, {"see": seen, "moved": str(moved)})

    def forget(self, account: str) -> Steps[None]:
        """What it holds is not known any more."""
        return self._make(account, {"forget": True})

    def take(self, account: str, id_: str, amount: int, fresh: Fresh) -> Steps[Taken | None]:
        """Holds an amount for an attempt if it is there, as one step; None unless it is held."""

        def decide(balance: AccountBalance) -> tuple[BalanceChange | None, Taken | None]:
            one = taking(balance, id_, amount, fresh)
            return one.change, one.taken

        return self.store.step(account, decide)

    def hold(self, account: str, id_: str, amount: int) -> Steps[None]:
        """Holds an amount for an attempt that has signed it already."""
        return self._make(account, holding(id_, amount))

    def spend(self, account: str, id_: str, slot: int | None = None) -> Steps[None]:
        """Ends a hold: the tokens left, in ``slot`` if the chain shows it."""
        return self._make(account, spending(id_, slot))

    def release(self, account: str, id_: str) -> Steps[None]:
        """Ends a hold: the tokens stayed."""
        return self._make(account, {"release": id_})

    def _make(self, account: str, change: BalanceChange) -> Steps[None]:
        return self.store.step(account, lambda _: (change, None))
