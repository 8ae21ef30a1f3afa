"""The attempts of a journal: open attempts, and the attempts that closed last.

Of all attempts that were ever made, the store knows what they took of caps, and which keys are
spent. It yields no effects. It says what may happen, and changes only by ``keep`` and ``remove``.
It does not copy: the objects that it is given and that it returns belong to it.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, Sequence

from .._base.js import stringify
from .._policy.caps import Cap, cap_counts
from .ages import Ages
from .attempts import (
    Entry,
    belongs_to,
    entry_of,
    is_closed,
    is_same_entry,
    key_name,
    owner_of,
    request_name,
)
from .name_index import NameIndex
from .spending import Spending
from .spent_keys import Remembered, SpentKeys, brief_of, lean_of, of_brief, spent_key_of
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

# Number of closed attempts that are kept, and of ids of dropped attempts.
_MOST_CLOSED = 10_000
# Number of closed attempts that keep all their bytes; older attempts lose unneeded bytes.
_MOST_WHOLE = 1_000
_NEVER = float("-inf")


class AttemptStore:
    """If ``archive`` is given, closed attempts stay until it took them by :meth:`content`."""

    def __init__(self, archive: Archive | None = None, keys: SpentKeys | None = None) -> None:
        self._archive = archive
        self._open: dict[str, tuple[int, Entry]] = {}
        # Attempts that the chain has decided, or that ended unpaid, as JSON: few are read again.
        self._over: dict[str, tuple[int, str]] = {}
        # Ids of closed attempts in `_over`, in the order in which they closed: new, then older.
        self._whole: dict[str, None] = {}
        self._lean: dict[str, None] = {}
        # Ids of closed attempts that the store dropped, or that the archive has.
        self._past = dict.fromkeys(() if archive is None else archive.past)
        self._keys = SpentKeys() if keys is None else keys
        # Sums of the costs of attempts that are no longer open.
        self.spending = Spending()
        # Open attempts are summed apart, because they count at any time until they lapse.
        self._pending = Spending()
        # Ids by the names that a repeated call looks up: its fingerprint, or its key.
        self._index = NameIndex()
        self._ages = Ages(self._open)
        self._made = 0

    def refusal(self, attempt: Attempt, caps: Sequence[Cap]) -> CapBlock | KeyTaken | None:
        """Returns why an attempt cannot be made, as :meth:`Journal.reserve` does.

        Raises ``TypeError`` if its id is used.
        """
        if self.get(attempt["id"]) is not None:
            raise TypeError(f"An attempt with the id {attempt['id']} is there.")
        key = attempt.get("idempotencyKey")
        owner = owner_of(attempt)
        for earlier in () if key is None else self._found(owner, key_name(key), key):
            if is_counted(earlier["state"]) and earlier["id"] != attempt.get("resigns"):
                return KeyTaken(earlier)
        return self._blocked(attempt, caps, None)

    def replacing(self, attempt: Attempt, caps: Sequence[Cap]) -> Attempt | CapBlock | None:
        """Returns the attempt that a ``put``, or with caps a ``raise_``, would replace.

        None if that attempt stays as it is. Raises if the attempt must not go on.
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
        attempt = self.get(id_)
        return attempt if attempt is not None and may_release(attempt) else None

    def keep(self, attempt: Attempt) -> None:
        """Records an attempt in its new state, without any check."""
        id_, entry = attempt["id"], entry_of(attempt)
        is_open, before = attempt["state"] in OPEN_STATES, self._open.get(id_)
        if before is not None and is_open and is_same_entry(before[1], entry):
            self._index.discard(id_, before[1].names)
            self._index.add(id_, entry.names)
            self._open[id_] = before[0], entry
            if before[1].at != entry.at:
                self._ages.add(entry.at, id_)
            return
        made = self._made_of(id_)
        if made is None:
            made, self._made = self._made, self._made + 1
        self.remove(id_)
        self._index.add(id_, entry.names)
        sums, at = self._sums_of(entry)
        sums.add(entry.owner, entry.place, at, entry.cost)
        if is_open:
            self._open[id_] = made, entry
            self._ages.add(entry.at, id_)
            return
        self._over[id_] = made, stringify(attempt)
        if is_closed(attempt):
            self._whole[id_] = None
            self._prune()

    def remove(self, id_: str) -> None:
        """Records that an attempt was released."""
        attempt, open_ = self.get(id_), self._open.get(id_)
        if attempt is None:
            return
        entry = entry_of(attempt) if open_ is None else open_[1]
        self._forget(id_, entry.names)
        sums, at = self._sums_of(entry)
        sums.subtract(entry.owner, entry.place, at, entry.cost)

    def similar(self, owner: Owner, fingerprint: str, idempotency_key: str | None) -> list[Attempt]:
        """Returns the attempts as :meth:`Journal.similar` does."""
        if idempotency_key is None:
            name = request_name(fingerprint)
            return self._found(owner, name, name)
        return self._found(owner, key_name(idempotency_key), idempotency_key)

    def attempts(
        self, owner: Owner, state: State | None = None, since: int | None = None
    ) -> list[Made]:
        """Returns the attempts as :meth:`Journal.attempts` does, with their numbers."""
        kept = [(made, id_) for id_, (made, _) in self._open.items()]
        if state not in OPEN_STATES:
            kept += [(made, id_) for id_, (made, _) in self._over.items()]
        found: list[Made] = []
        for made, id_ in sorted(kept):
            attempt = self.get(id_)
            if (
                attempt is None
                or not belongs_to(attempt, owner)
                or (state or attempt["state"]) != attempt["state"]
            ):
                continue
            if since is None or attempt["at"] >= since:
                found.append(Made(made, attempt))
        return found

    def used(self, owner: Owner, caps: Sequence[Cap], now: float) -> list[int]:
        """Returns the used amounts as :meth:`Journal.used` does."""
        return [self._used(owner, cap, now) for cap in caps]

    def get(self, id_: str) -> Attempt | None:
        open_ = self._open.get(id_)
        if open_ is not None:
            return open_[1].attempt
        over = self._over.get(id_)
        return None if over is None else _attempt_in(over[1])

    def has_ended(self, id_: str) -> bool:
        """Returns whether an attempt has ended, as far back as ids are kept."""
        return id_ in self._over or id_ in self._past

    def is_open(self, id_: str) -> bool:
        return id_ in self._open

    def count(self, made: int) -> None:
        """Sets the number of attempts that were made before the next new attempt."""
        self._made = made

    def spend(self, owner: Owner, key: str, purchase: Remembered, at: float) -> None:
        """Records when a purchase under a key was over."""
        self._keys.add(owner, key, purchase, at)

    def content(self) -> StoreContent:
        """Returns the content of the store, without the sums of what is spent."""
        every = [Made(made, entry.attempt) for made, entry in self._open.values()]
        every += [Made(made, _attempt_in(text)) for made, text in self._over.values()]
        every.sort(key=lambda made: made.made)
        over: set[str] = set() if self._archive is None else set(self._lean)
        kept = [made for made in every if made.attempt["id"] not in over]
        closed = [made for made in every if made.attempt["id"] in over]
        return StoreContent(self._made, kept, closed, self._keys.content())

    def past(self) -> list[str]:
        """Returns ids of attempts that closed last, the oldest first."""
        return [*self._past, *self._whole, *self._lean][-_MOST_CLOSED:]

    def _sums_of(self, entry: Entry) -> tuple[Spending, float]:
        """Returns the sums and the time for an entry: an open attempt counts at any time."""
        is_open = entry.attempt["state"] in OPEN_STATES
        return (self._pending, 0) if is_open else (self.spending, entry.at)

    def _made_of(self, id_: str) -> int | None:
        known: tuple[int, Any] | None = self._open.get(id_) or self._over.get(id_)
        return None if known is None else known[0]

    def _forget(self, id_: str, names: Sequence[str]) -> None:
        for kept in (self._open, self._over, self._whole, self._lean):
            kept.pop(id_, None)
        self._index.discard(id_, names)

    def _prune(self) -> None:
        """Makes room: attempts that closed first lose their bytes, and later all but their keys."""
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
            entry = entry_of(attempt)
            self._forget(id_, entry.names)
            self._past[id_] = None
            key, brief = spent_key_of(attempt), brief_of(attempt)
            if key is not None and brief is not None:
                self._keys.add(entry.owner, key, brief, entry.at)
        while len(self._past) > _MOST_CLOSED:
            del self._past[next(iter(self._past))]

    def _used(self, owner: Owner, cap: Cap, now: float) -> int:
        since = _NEVER if cap.window_ms is None else now - cap.window_ms
        total = self.spending.since(owner, cap, since) + self._pending.since(owner, cap, _NEVER)
        for entry in self._lapsed(since):
            if entry.owner == owner and cap_counts(cap, entry.attempt):
                total -= entry.cost.get(cap.unit, 0)
        return total

    def _lapsed(self, since: float) -> Iterator[Entry]:
        """Yields open attempts that no longer count in a window from ``since``: mostly none."""
        if self._ages.oldest() > since - UNDECIDED_MS:
            return
        for _, entry in self._open.values():
            if entry.at <= since and not counts_longer(entry.attempt, since):
                yield entry

    def _blocked(
        self, attempt: Attempt, caps: Sequence[Cap], before: Attempt | None
    ) -> CapBlock | None:
        if not caps:
            return None
        used = self.used(owner_of(attempt), caps, attempt["at"])
        counted = None if before is None else Counted(before, cost_in(before))
        return first_full(caps, used, Counted(attempt, cost_in(attempt)), counted)

    def _named(self, owner: Owner, name: str) -> list[Attempt]:
        ids = sorted(self._index.find(name), key=lambda id_: self._made_of(id_) or 0)
        found = (self.get(id_) for id_ in ids)
        return [attempt for attempt in found if attempt is not None and belongs_to(attempt, owner)]

    def _found(self, owner: Owner, name: str, key: str) -> list[Attempt]:
        """``key`` names purchases that are over: they keep idempotency keys as they are."""
        spent: list[Attempt] = []
        for purchase in self._keys.find(owner, key):
            if isinstance(purchase, str):
                spent.append(of_brief(owner, key, purchase))
            elif self._archive is not None:
                spent.append(self._archive.recall(purchase))
        return [*spent, *self._named(owner, name)]


def _attempt_in(text: str) -> Attempt:
    attempt: Attempt = json.loads(text)
    return attempt
