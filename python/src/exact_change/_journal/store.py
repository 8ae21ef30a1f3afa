"""The attempts of a journal that has them all at hand, and what they take of caps.

Those that something may still happen to, and the last of the others; of all that there ever were,
what they took of caps, and which keys are spent. It knows no effects. It says what may happen, and
changes only by ``keep`` and ``remove``. What it is given belongs to it, and what it gives too.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, Sequence

from .._base.js import stringify
from .._policy.caps import Cap, counts
from .ages import Ages
from .attempts import (
    Entry,
    entry_of,
    is_closed,
    is_of,
    key_name,
    request_name,
    takes_the_same,
)
from .name_index import NameIndex
from .spending import Spending
from .spent_keys import (
    Remembered,
    SpentKeys,
    brief_of,
    lean_of,
    of_brief,
    spent_key_of,
)
from .states import (
    OPEN_STATES,
    STATES,
    UNDECIDED_MS,
    Counted,
    cost_in,
    counts_longer,
    drops_swap,
    first_full,
    is_counted,
    may_follow,
    may_release,
)
from .store_types import Archive, Made, StoreContent
from .types import Attempt, CapBlock, KeyTaken, Owner, State

# Closed attempts are kept as long as there are no more than this, and the ids of as many.
_MOST_CLOSED = 10_000
# The last of them as they are; of older ones no bytes that no call will present again.
_MOST_WHOLE = 1_000
_NEVER = float("-inf")


class AttemptStore:
    """``archive``: with one, closed attempts stay until their content was taken."""

    def __init__(self, archive: Archive | None = None) -> None:
        self._archive = archive
        self._open: dict[str, tuple[int, Entry]] = {}
        # What the chain has decided, or came to nothing, as JSON: few are looked at again.
        self._over: dict[str, tuple[int, str]] = {}
        # Of those, the ones that nothing more happens to, in the order in which that came about.
        self._whole: dict[str, None] = {}
        self._lean: dict[str, None] = {}
        self._past = dict.fromkeys(() if archive is None else archive.past)
        self._keys = SpentKeys()
        # What left, as far as the chain has said so.
        self.spending = Spending()
        # What is open counts whatever the time is, but for what is in no window any more.
        self._pending = Spending()
        # Ids by what a repeated call is found by: its fingerprint, or its key.
        self._index = NameIndex()
        self._ages = Ages(self._open)
        self._made = 0

    def refusal(self, attempt: Attempt, caps: Sequence[Cap]) -> CapBlock | KeyTaken | None:
        """As the journal's: why an attempt cannot be made.

        Raises ``TypeError`` if its id is there.
        """
        if self.get(attempt["id"]) is not None:
            raise TypeError(f"An attempt with the id {attempt['id']} is there.")
        key = attempt.get("idempotencyKey")
        owner = Owner(attempt["wallet"], attempt["network"])
        for bearer in () if key is None else self._bearing(owner, key):
            if is_counted(bearer["state"]) and bearer["id"] != attempt.get("resigns"):
                return KeyTaken(bearer)
        return self._blocked(attempt, caps, None)

    def replacing(self, attempt: Attempt, caps: Sequence[Cap] = ()) -> Attempt | CapBlock | None:
        """As the journal's ``put``, and with caps its ``raise_``: what it would replace.

        None if that is left as it is. Raises if the attempt must not go on.
        """
        id_ = attempt["id"]
        before = self.get(id_)
        if before is None:
            if id_ in self._past:
                return None
            raise RuntimeError(f"The attempt {id_} was released: it must not go on.")
        if not may_follow(before["state"], attempt["state"]):
            if STATES[before["state"]]["decided"]:
                return None
            raise RuntimeError(f"The attempt {id_} is {before['state']} by now: it must not go on.")
        if drops_swap(before, attempt):
            raise RuntimeError(
                f"The attempt {id_} has signed a swap by now: it must not end without it."
            )
        return self._blocked(attempt, caps, before) or before

    def releasable(self, id_: str) -> Attempt | None:
        """The attempt of an id if it may be released."""
        attempt = self.get(id_)
        return attempt if attempt is not None and may_release(attempt) else None

    def keep(self, attempt: Attempt) -> None:
        """Takes down an attempt as it is from now on; no rule is asked."""
        id_, one = attempt["id"], entry_of(attempt)
        is_open, before = attempt["state"] in OPEN_STATES, self._open.get(id_)
        if before is not None and is_open and takes_the_same(before[1], one):
            self._index.discard(id_, before[1].names)
            self._index.add(id_, one.names)
            self._open[id_] = before[0], one
            if before[1].at != one.at:
                self._ages.add(one.at, id_)
            return
        made = self._made_of(id_)
        if made is None:
            made = self._made
            self._made += 1
        self.remove(id_)
        self._index.add(id_, one.names)
        sums, at = self._sums_of(one)
        sums.add(one.owner, one.place, at, one.cost)
        if is_open:
            self._open[id_] = made, one
            self._ages.add(one.at, id_)
            return
        self._over[id_] = made, stringify(attempt)
        if is_closed(attempt):
            self._whole[id_] = None
            self._prune()

    def remove(self, id_: str) -> None:
        """Takes down that an attempt was released."""
        attempt, there = self.get(id_), self._open.get(id_)
        if attempt is None:
            return
        one = entry_of(attempt) if there is None else there[1]
        self._forget(id_, one.names)
        sums, at = self._sums_of(one)
        sums.subtract(one.owner, one.place, at, one.cost)

    def similar(self, owner: Owner, fingerprint: str, idempotency_key: str | None) -> list[Attempt]:
        """As the journal's."""
        if idempotency_key is None:
            return self._named(owner, request_name(fingerprint))
        return self._bearing(owner, idempotency_key)

    def attempts(
        self, owner: Owner, state: State | None = None, since: int | None = None
    ) -> list[Made]:
        """As the journal's, each with how many were made before it."""
        is_open = state is not None and state in OPEN_STATES
        kept = [(made, id_) for id_, (made, _) in self._open.items()]
        if not is_open:
            kept += [(made, id_) for id_, (made, _) in self._over.items()]
        found: list[Made] = []
        for made, id_ in sorted(kept):
            one = self.get(id_)
            if one is None or not is_of(one, owner) or (state or one["state"]) != one["state"]:
                continue
            if since is None or one["at"] >= since:
                found.append(Made(made, one))
        return found

    def used(self, owner: Owner, caps: Sequence[Cap], now: float) -> list[int]:
        """As the journal's."""
        return [self._used(owner, cap, now) for cap in caps]

    def get(self, id_: str) -> Attempt | None:
        """An attempt by its id."""
        there = self._open.get(id_)
        if there is not None:
            return there[1].attempt
        gone = self._over.get(id_)
        return None if gone is None else _attempt_in(gone[1])

    def count(self, made: int) -> None:
        """So many attempts were made before the next one that is kept."""
        self._made = made

    def spend(self, owner: Owner, key: str, one: Remembered, at: float) -> None:
        """A purchase under a key was over at a time: in brief, or where it stands."""
        self._keys.add(owner, key, one, at)

    def content(self) -> StoreContent:
        """All that it knows, but for what is spent."""
        every = [Made(made, one.attempt) for made, one in self._open.values()]
        every += [Made(made, _attempt_in(text)) for made, text in self._over.values()]
        every.sort(key=lambda one: one.made)
        gone: set[str] = set() if self._archive is None else set(self._lean)
        kept = [one for one in every if one.attempt["id"] not in gone]
        closed = [one for one in every if one.attempt["id"] in gone]
        return StoreContent(self._made, kept, closed, self._keys.content())

    def past(self) -> list[str]:
        """Ids of some that were closed last, the oldest first."""
        return [*self._past, *self._whole, *self._lean][-_MOST_CLOSED:]

    def _sums_of(self, one: Entry) -> tuple[Spending, float]:
        """Where it counts, and at what time: what is open counts whatever the time is."""
        is_open = one.attempt["state"] in OPEN_STATES
        return (self._pending, 0) if is_open else (self.spending, one.at)

    def _made_of(self, id_: str) -> int | None:
        there: tuple[int, Any] | None = self._open.get(id_) or self._over.get(id_)
        return None if there is None else there[0]

    def _forget(self, id_: str, names: Sequence[str]) -> None:
        for kept in (self._open, self._over, self._whole, self._lean):
            kept.pop(id_, None)
        self._index.discard(id_, names)

    def _prune(self) -> None:
        """Makes room: of what is closed for longest, its bytes go first, then all but its key."""
        recent = _MOST_WHOLE if self._archive is None else self._archive.recent
        while len(self._whole) > recent:
            id_ = next(iter(self._whole))
            del self._whole[id_]
            self._lean[id_] = None
            if self._archive is None:
                made, text = self._over[id_]
                self._over[id_] = made, stringify(lean_of(_attempt_in(text)))
        if self._archive is not None:
            return
        while len(self._whole) + len(self._lean) > _MOST_CLOSED:
            id_ = next(iter(self._lean))
            attempt = _attempt_in(self._over[id_][1])
            one = entry_of(attempt)
            self._forget(id_, one.names)
            self._past[id_] = None
            key, brief = spent_key_of(attempt), brief_of(attempt)
            if key is not None and brief is not None:
                self._keys.add(one.owner, key, brief, one.at)
        while len(self._past) > _MOST_CLOSED:
            del self._past[next(iter(self._past))]

    def _used(self, owner: Owner, cap: Cap, now: float) -> int:
        since = _NEVER if cap.window_ms is None else now - cap.window_ms
        total = self.spending.since(owner, cap, since) + self._pending.since(owner, cap, _NEVER)
        for one in self._lapsed(since):
            if one.owner == owner and counts(cap, one.attempt):
                total -= one.cost.get(cap.unit, 0)
        return total

    def _lapsed(self, since: float) -> Iterator[Entry]:
        """What is open and counts no more in a window that begins then: mostly nothing."""
        if self._ages.oldest() > since - UNDECIDED_MS:
            return
        for _, one in self._open.values():
            if one.at <= since and not counts_longer(one.attempt, since):
                yield one

    def _blocked(
        self, attempt: Attempt, caps: Sequence[Cap], before: Attempt | None
    ) -> CapBlock | None:
        if not caps:
            return None
        used = self.used(Owner(attempt["wallet"], attempt["network"]), caps, attempt["at"])
        own = None if before is None else Counted(before, cost_in(before))
        return first_full(caps, used, Counted(attempt, cost_in(attempt)), own)

    def _named(self, owner: Owner, name: str) -> list[Attempt]:
        ids = sorted(self._index.find(name), key=lambda id_: self._made_of(id_) or 0)
        found = (self.get(id_) for id_ in ids)
        return [one for one in found if one is not None and is_of(one, owner)]

    def _bearing(self, owner: Owner, key: str) -> list[Attempt]:
        spent: list[Attempt] = []
        for one in self._keys.find(owner, key):
            if isinstance(one, str):
                spent.append(of_brief(owner, key, one))
            elif self._archive is not None:
                spent.append(self._archive.recall(one))
        return [*spent, *self._named(owner, key_name(key))]


def _attempt_in(text: str) -> Attempt:
    attempt: Attempt = json.loads(text)
    return attempt
