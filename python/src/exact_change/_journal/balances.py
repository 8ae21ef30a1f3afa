"""What a wallet's accounts hold, less what is promised to payments and swaps in flight."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, NamedTuple

# What happens to a balance, as journals of both languages have it: amounts are decimal strings.
BalanceChange = Mapping[str, Any]
# More than leave while one balance is read.
_REMEMBERED = 32


class Fresh(NamedTuple):
    """Which balances are taken for true: those seen from then on, and until then (ms)."""

    begin: int
    end: int


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
    # By the id of the attempt, oldest first.
    holds: Mapping[str, Held] = MappingProxyType({})
    # What all of them are promised together: a thousand may be open at once.
    held: int = 0
    # What left last, oldest first.
    spent: tuple[Spent, ...] = ()

    def available(self, fresh: Fresh) -> int | None:
        """What can be spent, None if it was not seen lately."""
        if self.known is None or not fresh.begin <= self.known.at <= fresh.end:
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
        holds = {**self.holds, id_: Held(amount, self.made)}
        return self._replace(made=self.made + 1, holds=holds, held=self.held + amount)

    def release(self, id_: str) -> AccountBalance:
        """The tokens stayed."""
        if id_ not in self.holds:
            return self
        holds = dict(self.holds)
        return self._replace(held=self.held - holds.pop(id_).amount, holds=holds)

    def spend(self, id_: str, slot: int | None) -> AccountBalance:
        """The tokens left: they are gone from the known balance too."""
        held = self.holds.get(id_)
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
        return id_ in [one.id for one in self.spent]

    def is_held(self, id_: str) -> bool:
        """Whether an attempt has its promise."""
        return id_ in self.holds


class Taken(NamedTuple):
    """An amount that is held for an attempt."""

    # What the chain showed of the account last, before the attempt takes from it.
    before: Reading | None


class Taking(NamedTuple):
    """What taking an amount for an attempt comes to."""

    taken: Taken | None
    # What is to be held for it, if it is new.
    change: BalanceChange | None = None


def changed(balance: AccountBalance, change: BalanceChange) -> AccountBalance:
    """A balance after a change."""
    if "see" in change:
        known = change["see"]
        amount, moved = int(known["amount"]), int(change["moved"])
        return balance.see(amount, known["at"], known.get("slot"), moved)
    if "forget" in change:
        return balance.forget()
    if "hold" in change:
        return balance.hold(change["hold"], int(change["amount"]))
    if "spend" in change:
        return balance.spend(change["spend"], change.get("slot"))
    return balance.release(change["release"])


def holding(id_: str, amount: int) -> BalanceChange:
    """Promises an amount to an attempt."""
    return {"hold": id_, "amount": str(amount)}


def spending(id_: str, slot: int | None) -> BalanceChange:
    """The tokens of an attempt left."""
    return {"spend": id_} if slot is None else {"spend": id_, "slot": slot}


def taking(balance: AccountBalance, id_: str, amount: int, fresh: Fresh) -> Taking:
    """Takes an amount for an attempt if it is there."""
    taken = Taken(balance.reading)
    if not balance.is_spent(id_) and (balance.available(fresh) or 0) >= amount:
        return Taking(taken, holding(id_, amount))
    return Taking(taken if balance.is_held(id_) else None)


def balance_json(balance: AccountBalance) -> dict[str, Any]:
    """A balance as journals of both languages have it."""
    known, reading = balance.known, balance.reading
    written: dict[str, Any] = {"made": balance.made}
    written["holds"] = [
        {"id": id_, "amount": str(one.amount), "ordinal": one.ordinal}
        for id_, one in balance.holds.items()
    ]
    written["spent"] = [_amount_json(one) for one in balance.spent]
    if reading is not None:
        written["reading"] = _amount_json(reading)
    if known is not None:
        written["known"] = _amount_json(known)
    return written


def _amount_json(value: Known | Reading | Spent) -> dict[str, Any]:
    fields = {**value._asdict(), "amount": str(value.amount)}
    return {name: one for name, one in fields.items() if one is not None}


def balance_of(written: Mapping[str, Any]) -> AccountBalance:
    """The same again."""
    known, reading = written.get("known"), written.get("reading")
    holds = {one["id"]: Held(int(one["amount"]), one["ordinal"]) for one in written["holds"]}
    spent = (Spent(one["id"], int(one["amount"]), one.get("slot")) for one in written["spent"])
    return AccountBalance(
        None if known is None else Known(**{**known, "amount": int(known["amount"])}),
        None if reading is None else reading_of(reading),
        written["made"],
        holds,
        sum(one.amount for one in holds.values()),
        tuple(spent),
    )


def reading_of(written: Mapping[str, Any]) -> Reading:
    """A reading again."""
    return Reading(int(written["amount"]), written["slot"])


EMPTY = AccountBalance()
