"""Balances of a wallet's accounts, less the holds of payments and swaps in flight."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, NamedTuple

# A change of a balance, as journals of both languages write it: amounts are decimal strings.
BalanceChange = Mapping[str, Any]
# More amounts than can leave while a balance is read.
_REMEMBERED = 32
# Milliseconds for which a known balance wins over a reading of an earlier slot.
_LATE_MS = 30_000


class Fresh(NamedTuple):
    """Time range of readings that still count as true. Milliseconds since the epoch."""

    begin: int
    end: int


class Reading(NamedTuple):
    """The amount of an account that the chain showed, and the slot as of which it did."""

    amount: int
    slot: int


class Known(NamedTuple):
    amount: int
    # Milliseconds since the epoch.
    at: int
    # The slot as of which the balance was read, if it is known.
    slot: int | None = None
    # Number of holds that had been made on the account when it was read. The reading may already
    # lack the amounts of these holds. 0 if it lacks none of them.
    doubtful: int = 0


class Held(NamedTuple):
    """An amount that an attempt will take of the account.

    ``ordinal`` is the number of holds that were made on the account before this hold.
    """

    amount: int
    ordinal: int


class Spent(NamedTuple):
    """An amount of the account that an attempt took.

    ``slot`` is the slot in which the chain shows the transaction, None if it has not decided.
    """

    id: str
    amount: int
    slot: int | None


class AccountBalance(NamedTuple):
    """The balance of one account, and its holds. Plain data; each change makes a new object."""

    known: Known | None = None
    # The last reading from the chain; amounts that left since then are not subtracted.
    reading: Reading | None = None
    # Number of holds that were ever made on the account.
    made: int = 0
    # By the id of the attempt, oldest first.
    holds: Mapping[str, Held] = MappingProxyType({})
    # The sum of all holds, because a thousand holds may be open at once.
    held: int = 0
    # The amounts that left last, oldest first.
    spent: tuple[Spent, ...] = ()

    def available(self, fresh: Fresh) -> int | None:
        """Returns the balance less all holds; None if it was not read within ``fresh``."""
        if self.known is None or not fresh.begin <= self.known.at <= fresh.end:
            return None
        return max(0, self.known.amount - self.held)

    def see(self, amount: int, at: int, slot: int | None, moved: int) -> AccountBalance:
        """Records a balance as the chain shows it.

        A held amount may have left before the reading, or not. If holds explain the difference to
        the expected amount, none counts as left, because the end of each hold subtracts it. If they
        do not, the end of a hold forgets the balance, unless slots tell. ``moved`` is the amount
        that is known to have come in since the last reading; negative if it left.
        """
        is_news = slot is not None and slot >= (self.reading.slot if self.reading else 0)
        balance = (
            self._replace(reading=Reading(amount, slot)) if is_news and slot is not None else self
        )
        known, held = balance.known, balance.held
        if known is not None:
            # A reading that comes late lacks what came in or left since its slot. A balance that is
            # no longer recent is replaced all the same, because a node may have given a wrong slot.
            is_late = slot is not None and known.slot is not None and slot < known.slot
            if is_late and abs(at - known.at) <= _LATE_MS:
                return balance
            expected = known.amount + moved
            if expected - held <= amount <= expected:
                # The end of a doubtful hold asks for the slot of the first reading. Holds are in
                # order.
                first = next(iter(balance.holds.values()), None)
                is_doubtful = first is not None and first.ordinal < known.doubtful
                as_of = known.slot if slot is None or is_doubtful else slot
                known = known._replace(amount=expected, at=at, slot=as_of)
                return balance._replace(known=known)
        # A reading may be older than amounts that are known to have left.
        missed = 0
        if slot is not None:
            later = (left for left in balance.spent if left.slot is not None and left.slot > slot)
            missed = sum(left.amount for left in later)
        doubtful = balance.made if held > 0 else 0
        return balance._replace(known=Known(max(0, amount - missed), at, slot, doubtful))

    def forget(self) -> AccountBalance:
        return self._replace(known=None)

    def hold(self, id_: str, amount: int) -> AccountBalance:
        """Holds an amount for an attempt.

        Does nothing if the attempt has its hold, or if the chain shows that it spent the amount.
        """
        left = next((spent for spent in self.spent if spent.id == id_), None)
        if left is not None and left.slot is None:
            # Without a slot, the hold ended only because its client closed. The amount may not have
            # left, so the balance is unknown again.
            others = tuple(spent for spent in self.spent if spent is not left)
            return self._replace(spent=others).forget().hold(id_, amount)
        if left is not None or self.is_held(id_):
            return self
        holds = {**self.holds, id_: Held(amount, self.made)}
        return self._replace(made=self.made + 1, holds=holds, held=self.held + amount)

    def release(self, id_: str) -> AccountBalance:
        """Ends a hold if the tokens stayed."""
        if id_ not in self.holds:
            return self
        holds = dict(self.holds)
        return self._replace(held=self.held - holds.pop(id_).amount, holds=holds)

    def spend(self, id_: str, slot: int | None) -> AccountBalance:
        """Ends a hold if the tokens left, and subtracts them from the known balance."""
        held = self.holds.get(id_)
        if held is None:
            return self
        spent = (*self.spent, Spent(id_, held.amount, slot))[-_REMEMBERED:]
        after = self.release(id_)._replace(spent=spent)
        known = after.known
        if known is None:
            return after
        reduced_known = known._replace(amount=max(0, known.amount - held.amount))
        reduced = after._replace(known=reduced_known)
        # The balance was read before the tokens could leave.
        if held.ordinal >= known.doubtful:
            return reduced
        if slot is None or known.slot is None:
            return after.forget()
        return reduced if slot > known.slot else after

    def is_spent(self, id_: str) -> bool:
        """Returns whether an attempt lately spent its hold."""
        return id_ in [spent.id for spent in self.spent]

    def is_held(self, id_: str) -> bool:
        return id_ in self.holds


class Taken(NamedTuple):
    """An amount that is held for an attempt."""

    # The account's last reading from the chain, before the attempt takes from it; None if the
    # account was never read.
    before: Reading | None


class Taking(NamedTuple):
    """The decision whether an attempt may take an amount. ``taken`` is None if it may not."""

    taken: Taken | None
    # The new hold to make; None if the attempt has its hold already.
    change: BalanceChange | None = None


def changed(balance: AccountBalance, change: BalanceChange) -> AccountBalance:
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
    return {"hold": id_, "amount": str(amount)}


def spending(id_: str, slot: int | None) -> BalanceChange:
    """Returns the change that ends an attempt's hold because the tokens left."""
    return {"spend": id_} if slot is None else {"spend": id_, "slot": slot}


def taking(balance: AccountBalance, id_: str, amount: int, fresh: Fresh) -> Taking:
    """Decides whether an attempt may take an amount: if it is free, or is held for it already."""
    taken = Taken(balance.reading)
    if not balance.is_spent(id_) and (balance.available(fresh) or 0) >= amount:
        return Taking(taken, holding(id_, amount))
    return Taking(taken if balance.is_held(id_) else None)


def balance_json(balance: AccountBalance) -> dict[str, Any]:
    """Returns a balance as JSON that journals of both languages read."""
    known, reading = balance.known, balance.reading
    written: dict[str, Any] = {"made": balance.made}
    written["holds"] = [
        {"id": id_, "amount": str(held.amount), "ordinal": held.ordinal}
        for id_, held in balance.holds.items()
    ]
    written["spent"] = [_amount_json(spent) for spent in balance.spent]
    if reading is not None:
        written["reading"] = _amount_json(reading)
    if known is not None:
        written["known"] = _amount_json(known)
    return written


def _amount_json(value: Known | Reading | Spent) -> dict[str, Any]:
    fields = {**value._asdict(), "amount": str(value.amount)}
    return {name: field for name, field in fields.items() if field is not None}


def balance_of(written: Mapping[str, Any]) -> AccountBalance:
    """Returns the balance that :func:`balance_json` wrote."""
    known, reading = written.get("known"), written.get("reading")
    holds = {held["id"]: Held(int(held["amount"]), held["ordinal"]) for held in written["holds"]}
    spent = (Spent(left["id"], int(left["amount"]), left.get("slot")) for left in written["spent"])
    return AccountBalance(
        None if known is None else Known(**{**known, "amount": int(known["amount"])}),
        None if reading is None else reading_of(reading),
        written["made"],
        holds,
        sum(held.amount for held in holds.values()),
        tuple(spent),
    )


def reading_of(written: Mapping[str, Any]) -> Reading:
    """Returns the reading that :func:`balance_json` wrote."""
    return Reading(int(written["amount"]), written["slot"])


EMPTY = AccountBalance()
