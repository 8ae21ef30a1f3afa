"""What a wallet's accounts hold, less what is promised to payments and swaps in flight."""

from __future__ import annotations

from typing import Callable, NamedTuple, TypeVar

from typing_extensions import Protocol

from .._kernel.task import Steps

T = TypeVar("T")
# Whether a balance that was seen then (milliseconds since the epoch) is still taken for true.
IsFresh = Callable[[int], bool]
# More than leave while one balance is read.
_REMEMBERED = 32


class Reading(NamedTuple):
    """What the chain showed of an account, and the slot as of which it did."""

    amount: int
    slot: int


class Known(NamedTuple):
    """A balance as it was last known."""

    amount: int
    # Milliseconds since the epoch.
    at: int
    # As of which it was read, if that is known.
    slot: int | None = None
    # How many holds had been made when it was read and those that were open may have been in it
    # or not; 0 if they were not.
    doubtful: int = 0


class Held(NamedTuple):
    """What an attempt will take of the account; ``ordinal``: how many were made before it."""

    id: str
    amount: int
    ordinal: int


class Spent(NamedTuple):
    """What an attempt took, and where the chain shows it."""

    id: str
    amount: int
    slot: int | None


class AccountBalance(NamedTuple):
    """One account. Plain data; each change makes a new one."""

    known: Known | None = None
    # What was read last, whatever is known to have left since.
    reading: Reading | None = None
    made: int = 0
    holds: tuple[Held, ...] = ()
    # What left last, oldest first.
    spent: tuple[Spent, ...] = ()

    @property
    def held(self) -> int:
        """What is promised."""
        return sum(one.amount for one in self.holds)

    def available(self, is_fresh: IsFresh) -> int | None:
        """What can be spent, None if it was not seen lately."""
        if self.known is None or not is_fresh(self.known.at):
            return None
        return max(0, self.known.amount - self.held)

    def see(self, amount: int, at: int, slot: int | None, moved: int) -> AccountBalance:
        """Takes down a balance as the chain shows it.

        Payments in flight are in it or not, which cannot be told: if they explain the difference
        to what was known, they count as not, because their end takes them off. If nothing explains
        it, their end forgets the balance, unless slots tell. ``moved``: what is known to have come
        in, or gone out, since the last time.
        """
        is_news = slot is not None and slot >= (self.reading.slot if self.reading else 0)
        balance = (
            self._replace(reading=Reading(amount, slot)) if is_news and slot is not None else self
        )
        known, held = balance.known, balance.held
        if known is not None:
            expected = known.amount + moved
            if expected - held <= amount <= expected:
                return balance._replace(known=known._replace(amount=expected, at=at))
        # It may have been read before a payment that is known to have left.
        missed = 0
        if slot is not None:
            later = (one for one in balance.spent if one.slot is not None and one.slot > slot)
            missed = sum(one.amount for one in later)
        doubtful = balance.made if held > 0 else 0
        return balance._replace(known=Known(max(0, amount - missed), at, slot, doubtful))

    def forget(self) -> AccountBalance:
        """What it holds is not known any more."""
        return self._replace(known=None)

    def hold(self, id_: str, amount: int) -> AccountBalance:
        """Promises an amount to an attempt; nothing if it has its promise, or has spent it."""
        gone = next((one for one in self.spent if one.id == id_), None)
        if gone is not None and gone.slot is None:
            # Spent only because its client closed: whether it has left is open again.
            spent = tuple(one for one in self.spent if one is not gone)
            return self._replace(spent=spent).forget().hold(id_, amount)
        if gone is not None or self.is_held(id_):
            return self
        held = Held(id_, amount, self.made)
        return self._replace(made=self.made + 1, holds=(*self.holds, held))

    def release(self, id_: str) -> AccountBalance:
        """The tokens stayed."""
        return self._replace(holds=tuple(one for one in self.holds if one.id != id_))

    def spend(self, id_: str, slot: int | None) -> AccountBalance:
        """The tokens left: they are gone from the known balance too."""
        held = next((one for one in self.holds if one.id == id_), None)
        if held is None:
            return self
        spent = (*self.spent, Spent(id_, held.amount, slot))[-_REMEMBERED:]
        after = self.release(id_)._replace(spent=spent)
        known = after.known
        if known is None:
            return after
        rest = known._replace(amount=max(0, known.amount - held.amount))
        left = after._replace(known=rest)
        if held.ordinal >= known.doubtful:
            return left
        if slot is None or known.slot is None:
            return after.forget()
        return left if slot > known.slot else after

    def is_spent(self, id_: str) -> bool:
        """Whether an attempt lately spent what it was promised."""
        return any(one.id == id_ for one in self.spent)

    def is_held(self, id_: str) -> bool:
        """Whether an attempt has its promise."""
        return any(one.id == id_ for one in self.holds)


class Taken(NamedTuple):
    """An amount that is held for an attempt."""

    # What the chain showed of the account last, before the attempt takes from it.
    before: Reading | None


class BalanceStore(Protocol):
    """Where balances are kept. A change is made to the balance as it stands, as one step."""

    def read(self, account: str) -> Steps[AccountBalance]:
        """A balance."""
        ...

    def change(
        self, account: str, change: Callable[[AccountBalance], tuple[AccountBalance, T]]
    ) -> Steps[T]:
        """Makes a change; returns what it returns."""
        ...


class MemoryBalances:
    """Balances in memory: nothing waits between a read and its write."""

    def __init__(self) -> None:
        self._balances: dict[str, AccountBalance] = {}

    def read(self, account: str) -> Steps[AccountBalance]:
        """A balance."""
        return self._balances.get(account, _EMPTY)
        yield

    def change(
        self, account: str, change: Callable[[AccountBalance], tuple[AccountBalance, T]]
    ) -> Steps[T]:
        """Makes a change."""
        self._balances[account], result = change(self._balances.get(account, _EMPTY))
        return result
        yield


_EMPTY = AccountBalance()


class Ledger:
    """Accounts are token account addresses, and the wallet's own for lamports."""

    def __init__(self, store: BalanceStore) -> None:
        self.store = store

    def available(self, account: str, is_fresh: IsFresh) -> Steps[int | None]:
        """What can be spent; None if the balance was not seen lately and has to be read."""
        return (yield from self.store.read(account)).available(is_fresh)

    def held(self, account: str) -> Steps[int]:
        """What is promised to attempts in flight."""
        return (yield from self.store.read(account)).held

    def see(
        self, account: str, amount: int, at: int, slot: int | None = None, moved: int = 0
    ) -> Steps[None]:
        """Takes down a balance as the chain shows it."""
        return self._to(account, lambda balance: balance.see(amount, at, slot, moved))

    def forget(self, account: str) -> Steps[None]:
        """What it holds is not known any more."""
        return self._to(account, lambda balance: balance.forget())

    def take(self, account: str, id_: str, amount: int, is_fresh: IsFresh) -> Steps[Taken | None]:
        """Holds an amount for an attempt if it is there, as one step; None unless it is held."""

        def change(balance: AccountBalance) -> tuple[AccountBalance, Taken | None]:
            there = balance.available(is_fresh) or 0
            taken = Taken(balance.reading)
            if not balance.is_spent(id_) and there >= amount:
                return balance.hold(id_, amount), taken
            return balance, taken if balance.is_held(id_) else None

        return self.store.change(account, change)

    def hold(self, account: str, id_: str, amount: int) -> Steps[None]:
        """Holds an amount for an attempt that has signed it already."""
        return self._to(account, lambda balance: balance.hold(id_, amount))

    def spend(self, account: str, id_: str, slot: int | None = None) -> Steps[None]:
        """Ends a hold: the tokens left, in ``slot`` if the chain shows it."""
        return self._to(account, lambda balance: balance.spend(id_, slot))

    def release(self, account: str, id_: str) -> Steps[None]:
        """Ends a hold: the tokens stayed."""
        return self._to(account, lambda balance: balance.release(id_))

    def _to(self, account: str, after: Callable[[AccountBalance], AccountBalance]) -> Steps[None]:
        return self.store.change(account, lambda balance: (after(balance), None))
