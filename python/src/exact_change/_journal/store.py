"""The attempts of a journal that has them all at hand, and what they take of caps.

It knows no effects: each call is one step. What it is given it copies; what it gives belongs to it.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from .._policy.caps import Cap, counts
from .attempts import Entry, Place, copy_of, entry_of, is_closed, is_of, key_name, request_name
from .states import (
    OPEN_STATES,
    STATES,
    Counted,
    counts_longer,
    drops_swap,
    first_full,
    is_counted,
    may_follow,
    may_release,
)
from .types import Attempt, CapBlock, KeyTaken, Owner, State
from .windows import SpendWindows

# Closed attempts that no window counts are kept only while there are no more than this in all.
_KEPT = 10_000
_DAY_MS = 24 * 60 * 60 * 1000


class Carried(NamedTuple):
    """What the forgotten attempts at a place took: caps without a window count it for ever."""

    owner: Owner
    place: Place
    cost: Mapping[str, int]
    # When the latest of it left.
    until: float


class Put(NamedTuple):
    """The attempt as kept; None if a decided one stands."""

    kept: Attempt | None


class _Spot:
    """One place: what its attempts take, over time."""

    def __init__(self) -> None:
        self.spending = SpendWindows()
        self.carried: dict[str, int] = {}
        self.carried_until = float("-inf")


class AttemptStore:
    """All that a journal knows."""

    def __init__(self) -> None:
        # With their places in the order in which they were made.
        self._kept: dict[str, tuple[Entry, int]] = {}
        # Ids by what a repeated call is found by.
        self._index: dict[str, dict[str, None]] = {}
        self._spots: dict[Owner, dict[Place, _Spot]] = {}
        # Ids of attempts that nothing more will happen to, in the order in which that came about.
        self._closed: dict[str, None] = {}
        # In flight: few, and counted longer than others.
        self._undecided: dict[str, Entry] = {}
        self._made = 0
        # A call that reserves without caps must not make the caps of others forget.
        self.widest_ms = _DAY_MS

    def reserve(self, given: Mapping[str, Any], caps: Sequence[Cap]) -> CapBlock | KeyTaken | None:
        """As the journal's. Raises ``TypeError`` for what is none, or has an id that is there."""
        one = entry_of(copy_of(given))
        attempt = one.attempt
        if attempt["id"] in self._kept:
            raise TypeError(f"An attempt with the id {attempt['id']} is there.")
        key = attempt.get("idempotencyKey")
        bearers = [] if key is None else self._named(one.owner, key_name(key))
        for bearer in bearers:
            if is_counted(bearer["state"]) and bearer["id"] != attempt.get("resigns"):
                return KeyTaken(bearer)
        block = self._blocked(one, caps, None)
        if block is not None:
            return block
        self._keep(one)
        self.widest_ms = max(self.widest_ms, *(cap.window_ms or 0 for cap in caps), 0)
        self._prune(attempt["at"] - self.widest_ms)
        return None

    def put(self, given: Mapping[str, Any], caps: Sequence[Cap] = ()) -> Put | CapBlock:
        """As the journal's, and with caps as its ``raise_``."""
        one = entry_of(copy_of(given))
        attempt = one.attempt
        there = self._kept.get(attempt["id"])
        if there is None:
            raise RuntimeError(f"The attempt {attempt['id']} was released: it must not go on.")
        before = there[0].attempt
        if not may_follow(before["state"], attempt["state"]):
            if STATES[before["state"]]["decided"]:
                return Put(None)
            raise RuntimeError(
                f"The attempt {attempt['id']} is {before['state']} by now: it must not go on."
            )
        if drops_swap(before, attempt):
            raise RuntimeError(
                f"The attempt {attempt['id']} has signed a swap by now: it must not end without it."
            )
        block = self._blocked(one, caps, there[0])
        if block is not None:
            return block
        self._keep(one)
        return Put(attempt)

    def release(self, id_: str) -> bool:
        """As the journal's; whether there was something to forget."""
        there = self._kept.get(id_)
        if there is None or not may_release(there[0].attempt):
            return False
        self.remove(id_)
        return True

    def similar(self, owner: Owner, fingerprint: str, idempotency_key: str | None) -> list[Attempt]:
        """As the journal's."""
        if idempotency_key is None:
            return self._named(owner, request_name(fingerprint))
        return self._named(owner, key_name(idempotency_key))

    def attempts(
        self, owner: Owner, state: State | None = None, since: int | None = None
    ) -> list[Attempt]:
        """As the journal's."""
        return [
            one.attempt
            for one, _ in self._kept.values()
            if is_of(one.attempt, owner)
            and (state is None or one.attempt["state"] == state)
            and (since is None or one.attempt["at"] >= since)
        ]

    def used(self, owner: Owner, caps: Sequence[Cap], now: int) -> list[int]:
        """As the journal's."""
        return [self._used(owner, cap, now) for cap in caps]

    def get(self, id_: str) -> Attempt | None:
        """An attempt by its id."""
        there = self._kept.get(id_)
        return None if there is None else there[0].attempt

    def restore(self, attempt: Attempt) -> None:
        """Takes an attempt as it was written down, in place of the one of its id."""
        self._keep(entry_of(attempt))

    def remove(self, id_: str) -> None:
        """Takes down that an attempt was released."""
        there = self._kept.get(id_)
        if there is not None:
            self._leave(there[0])
            del self._kept[id_]

    def carry(self, one: Carried) -> None:
        """Takes what forgotten attempts took."""
        if not one.cost:
            return
        spot = self._spot(one.owner, one.place)
        for unit, value in one.cost.items():
            spot.carried[unit] = spot.carried.get(unit, 0) + value
        spot.carried_until = max(spot.carried_until, one.until)

    def every(self) -> list[Attempt]:
        """All attempts, in the order in which they were made."""
        ordered = sorted(self._kept.values(), key=lambda one: one[1])
        return [one.attempt for one, _ in ordered]

    def all_carried(self) -> list[Carried]:
        """What the forgotten attempts took."""
        return [
            Carried(owner, place, dict(spot.carried), spot.carried_until)
            for owner, spots in self._spots.items()
            for place, spot in spots.items()
            if spot.carried
        ]

    def _spot(self, owner: Owner, place: Place) -> _Spot:
        return self._spots.setdefault(owner, {}).setdefault(place, _Spot())

    def _keep(self, one: Entry) -> None:
        id_ = one.attempt["id"]
        before = self._kept.get(id_)
        ordinal = self._made
        if before is None:
            self._made += 1
        else:
            ordinal = before[1]
            self._leave(before[0])
        self._kept[id_] = (one, ordinal)
        for name in one.names:
            self._index.setdefault(name, {})[id_] = None
        if one.cost:
            self._spot(one.owner, one.place).spending.add(one.at, one.cost)
        if is_closed(one.attempt):
            self._closed[id_] = None
        if one.attempt["state"] in OPEN_STATES:
            self._undecided[id_] = one

    def _leave(self, one: Entry) -> None:
        id_ = one.attempt["id"]
        self._undecided.pop(id_, None)
        self._closed.pop(id_, None)
        for name in one.names:
            ids = self._index.get(name, {})
            ids.pop(id_, None)
            if not ids:
                self._index.pop(name, None)
        if not one.cost:
            return
        spot = self._spot(one.owner, one.place)
        spot.spending.subtract(one.at, one.cost)
        if spot.spending.is_empty and not spot.carried:
            del self._spots[one.owner][one.place]

    def _prune(self, before: float) -> None:
        """Forgets the closed attempts that no window counts, as far as there are too many."""
        for id_ in list(self._closed):
            one = self._kept[id_][0]
            if len(self._kept) <= _KEPT or one.at >= before:
                return
            self.carry(Carried(one.owner, one.place, one.cost, one.at))
            self.remove(id_)

    def _used(self, owner: Owner, cap: Cap, now: int) -> int:
        since = float("-inf") if cap.window_ms is None else now - cap.window_ms
        total = 0
        for place, spot in self._spots.get(owner, {}).items():
            if not counts(cap, place._asdict()):
                continue
            total += spot.spending.after(since, cap.unit)
            # Of what is forgotten, a window wider than any before counts too much.
            if spot.carried_until > since:
                total += spot.carried.get(cap.unit, 0)
        for one in self._undecided.values():
            is_own = one.owner == owner and counts(cap, one.attempt)
            if is_own and counts_longer(one.attempt, since):
                total += one.cost.get(cap.unit, 0)
        return total

    def _blocked(self, one: Entry, caps: Sequence[Cap], before: Entry | None) -> CapBlock | None:
        used = self.used(one.owner, caps, one.attempt["at"])
        own = None if before is None else Counted(before.attempt, before.cost)
        return first_full(caps, used, Counted(one.attempt, one.cost), own)

    def _named(self, owner: Owner, name: str) -> list[Attempt]:
        found = [self._kept[id_] for id_ in self._index.get(name, ())]
        found.sort(key=lambda one: one[1])
        return [one.attempt for one, _ in found if one.owner == owner]
