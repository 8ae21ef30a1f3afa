"""The records of what happens in one step with the write of an attempt."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ..balances import BalanceChange, Taken, changed, spending, taking
from ..types import Along, Attempt, Hold, Owner
from .records import LogRecord
from .state import State, name_of


def owner_of(attempt: Attempt) -> Owner:
    """Whose attempt it is."""
    return Owner(attempt["wallet"], attempt["network"])


def balance_records(
    state: State, owner: Owner, account: str, change: BalanceChange
) -> list[LogRecord]:
    """What changes a balance, if it changes anything."""
    balance = state.balance(owner, account)
    if changed(balance, change) == balance:
        return []
    return [{"balance": [owner.wallet, owner.network, account, change]}]


def drop_records(state: State, me: str, ids: Sequence[str]) -> list[LogRecord]:
    """What a process no longer claims, of what it does."""
    own = [id_ for id_ in ids if me in state.claims.get(id_, ())]
    return [{"drop": own}] if own else []


def along_records(
    state: State, me: str, id_: str, owner: Owner | None, along: Along
) -> list[LogRecord]:
    """What goes along with the write of an attempt; of one that is gone, no owner is known."""
    records: list[LogRecord] = [{"claim": list(along.claim)}] if along.claim else []
    records += drop_records(state, me, along.drop)
    ends: list[tuple[str, BalanceChange]] = []
    if along.spend is not None:
        ends.append((along.spend[0], spending(id_, along.spend[1])))
    ends += [(account, {"release": id_}) for account in along.free]
    for account, change in ends:
        owners = [owner] if owner is not None else []
        if owner is None:
            owners = [one for one, name in state.balances if name == account]
        for one in owners:
            records += balance_records(state, one, account, change)
    return records


class HoldStep(NamedTuple):
    """Tokens that are held for an attempt."""

    taken: Taken
    records: Sequence[LogRecord]


def hold_step(state: State, attempt: Attempt, hold: Hold) -> HoldStep | None:
    """Holds tokens for an attempt, if they are there and may be taken."""
    owner = owner_of(attempt)
    if name_of(owner, hold.unless) in state.locks:
        return None
    balance = state.balance(owner, hold.account)
    one = taking(balance, attempt["id"], int(attempt["amount"]), hold.fresh)
    if one.taken is None:
        return None
    records = [] if one.change is None else balance_records(state, owner, hold.account, one.change)
    return HoldStep(one.taken, records)


def is_signed(before: Attempt | None, after: Attempt) -> bool:
    """Whether a change of an attempt puts something signed on record.

    That may leave next, and so has to be on the disk.
    """

    def signatures(attempt: Attempt | None) -> tuple[str | None, str | None]:
        payment = None if attempt is None else attempt.get("payment")
        swap = None if attempt is None else attempt.get("swap")
        return (
            None if payment is None else payment["payerSignature"],
            None if swap is None else swap["signature"],
        )

    return signatures(before) != signatures(after)


def inverse_of(change: LogRecord, told: Sequence[LogRecord]) -> list[LogRecord]:
    """What takes back a change, and what was to be told of it."""
    return [change, *({"jobDone": one["job"]["id"]} for one in told if "job" in one)]
