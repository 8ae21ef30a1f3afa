"""The balances of accounts, and the holds that payments make on them."""

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
# Decides on a balance: returns its change, if there is any, and the result of the step.
Decide = Callable[[AccountBalance], "tuple[BalanceChange | None, T]"]


class BalanceStore(Protocol):
    """Keeps balances."""

    def read(self, account: str) -> Steps[AccountBalance]:
        """Returns the balance of an account."""
        ...

    def step(
        self, account: str, decide: Decide[T], *, of: str | None = None, is_on_record: bool = False
    ) -> Steps[T]:
        """Decides on the current balance; no other call changes the balance meanwhile.

        ``of`` is the id of an attempt. If it has ended, or ``is_on_record`` and the store no longer
        has it, the step decides on an empty balance, and changes nothing: no call would undo the
        change after that.
        """
        ...


class MemoryBalances:
    """Balances in memory: each change is one step, as nothing waits between read and write."""

    def __init__(self) -> None:
        self._balances: dict[str, AccountBalance] = {}

    def read(self, account: str) -> Steps[AccountBalance]:
        return self._balances.get(account, EMPTY)
        yield

    def step(
        self, account: str, decide: Decide[T], *, of: str | None = None, is_on_record: bool = False
    ) -> Steps[T]:
        balance = self._balances.get(account, EMPTY)
        change, result = decide(balance)
        if change is not None:
            self._balances[account] = changed(balance, change)
        return result
        yield


class Ledger:
    """Balances of a wallet's token accounts, less the holds of payments in flight.

    No attempt holds SOL.
    """

    def __init__(self, store: BalanceStore) -> None:
        self.store = store

    def available(self, account: str, fresh: Fresh) -> Steps[int | None]:
        """Returns the amount that can be spent; None if the balance was not read in ``fresh``."""
        return (yield from self.store.read(account)).available(fresh)

    def held(self, account: str) -> Steps[int]:
        """Returns the sum of holds of attempts in flight."""
        return (yield from self.store.read(account)).held

    def see(
        self, account: str, amount: int, at: int, slot: int | None = None, moved: int = 0
    ) -> Steps[None]:
        """Records a balance as the chain shows it.

        ``moved`` is the amount that is known to have come in since the last reading; negative if
        it left.
        """
        known = {"amount": str(amount), "at": at}
        seen = known if slot is None else {**known, "slot": slot}
        return self._make(account, {"see": seen, "moved": str(moved)})

    def forget(self, account: str) -> Steps[None]:
        return self._make(account, {"forget": True})

    def take(self, account: str, id_: str, amount: int, fresh: Fresh) -> Steps[Taken | None]:
        """Holds an amount for an attempt if the amount is free, as one step.

        Returns None if the attempt has no hold then.
        """

        def decide(balance: AccountBalance) -> tuple[BalanceChange | None, Taken | None]:
            decision = taking(balance, id_, amount, fresh)
            return decision.change, decision.taken

        return self.store.step(account, decide, of=id_, is_on_record=True)

    def hold(self, account: str, id_: str, amount: int) -> Steps[None]:
        """Holds an amount for an attempt that has signed already.

        Does nothing if the amount is held, if the chain shows that it was spent, or if the attempt
        has ended meanwhile.
        """
        change = holding(id_, amount)
        return self.store.step(account, lambda _: (change, None), of=id_)

    def spend(self, account: str, id_: str, slot: int | None = None) -> Steps[None]:
        """Ends a hold, if there is one: the tokens left, in ``slot`` if the chain shows it."""
        return self._make(account, spending(id_, slot))

    def release(self, account: str, id_: str) -> Steps[None]:
        """Ends a hold, if there is one: the tokens stayed."""
        return self._make(account, {"release": id_})

    def _make(self, account: str, change: BalanceChange) -> Steps[None]:
        return self.store.step(account, lambda _: (change, None))
