"""What left, as sums of periods: no attempt has to be kept for it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Dict, Mapping, NamedTuple, Sequence

from .._policy.caps import Cap, counts
from .._policy.cost import Cost
from .._policy.hosts import plain_host, portless
from .types import Owner

_SHORTEST_MS = 1000
_MINUTE_MS = 60 * 1000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
# How long the periods are that have been over for so long (ms), the oldest first. Each length is a
# multiple of the next.
_LENGTHS = (
    (64 * _DAY_MS, 8 * _DAY_MS),
    (2 * _DAY_MS, 6 * _HOUR_MS),
    (2 * _HOUR_MS, 15 * _MINUTE_MS),
    (2 * _MINUTE_MS, _MINUTE_MS),
)
# Periods are put together when there are so many, or twice as many as were left last time.
_FEWEST = 128


class Place(NamedTuple):
    """What caps tell payments apart by, within an owner."""

    host: str
    payTo: str
    mint: str


class SpentPeriod(NamedTuple):
    """What left after one moment, up to another. Milliseconds since the epoch."""

    after: int
    until: int
    value: int


class SpentSums:
    """Of one unit over time: the older a period, the longer.

    What has left counts until its whole period is out of a window: up to a period longer, never
    shorter.
    """

    def __init__(self) -> None:
        self._afters: list[int] = []
        self._untils: list[int] = []
        self._values: list[int] = []
        self._total = 0
        self._most = _FEWEST

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of what was added."""
        return self._total == 0

    def add(self, at: float, value: int) -> None:
        """Adds what left."""
        self._change(at, value)
        if len(self._untils) > self._most:
            self._coarsen(at)

    def subtract(self, at: float, value: int) -> None:
        """Takes back what was added at the same time."""
        self._change(at, -value)

    def since(self, moment: float) -> int:
        """What counts in a window that begins after this moment."""
        place = bisect_right(self._untils, moment)
        # Most windows begin near one of the ends.
        if place < len(self._untils) / 2:
            return self._total - sum(self._values[:place])
        return sum(self._values[place:])

    def periods(self) -> list[SpentPeriod]:
        """The oldest first."""
        every = zip(self._afters, self._untils, self._values)
        return [SpentPeriod(*one) for one in every if one[2] != 0]

    def restore(self, period: SpentPeriod) -> None:
        """Adds a period as it was; in whole seconds, as all that is added to it."""
        after, until = _shortest(period.after + 1)[0], _shortest(period.until)[1]
        self._change(period.until, period.value, (after, until))

    def _change(self, at: float, by: int, ends: tuple[int, int] | None = None) -> None:
        """Adds to the period that a moment is in; to a new one if there is none.

        ``ends``: of a new one; without them it is as short as any.
        """
        self._total += by
        place = bisect_left(self._untils, at)
        if place < len(self._untils) and self._afters[place] < at:
            self._values[place] += by
            return
        after, until = _shortest(at) if ends is None else ends
        # In the order of both ends, so that none overlap.
        if place > 0:
            after = max(after, self._untils[place - 1])
        if place < len(self._afters):
            until = min(until, self._afters[place])
        self._afters.insert(place, after)
        self._untils.insert(place, until)
        self._values.insert(place, by)

    def _coarsen(self, now: float) -> None:
        finer = self.periods()
        self._afters, self._untils, self._values, self._total = [], [], [], 0
        for after, until, value in finer:
            length = _length_at(until, now)
            end = _up_to(until, length)
            # After a clock was set back it may be longer already.
            is_longer = until - after > length
            ends = (after, until) if is_longer else (end - length, end)
            self._change(until, value, ends)
        self._most = max(_FEWEST, 2 * len(self._untils))


def _up_to(at: float, length: int) -> int:
    return -int(-at // length) * length


def _shortest(at: float) -> tuple[int, int]:
    until = _up_to(at, _SHORTEST_MS)
    return until - _SHORTEST_MS, until


def _length_at(moment: float, now: float) -> int:
    """Of the period that a moment is put in.

    Whole periods alone are old enough, so none overlap.
    """
    for age, length in _LENGTHS:
        if now - _up_to(moment, length) >= age:
            return length
    return _SHORTEST_MS


_Sums = Dict[str, SpentSums]


class SpentAt(NamedTuple):
    """What left at a place over time, by unit."""

    owner: Owner
    place: Place
    spent: Mapping[str, Sequence[SpentPeriod]]

    def to_json(self) -> dict[str, Any]:
        """As journals of both languages have it."""
        units = {
            unit: [[one.after, one.until, str(one.value)] for one in periods]
            for unit, periods in self.spent.items()
        }
        return {**self.owner._asdict(), **self.place._asdict(), "spent": units}


def spent_of(written: Mapping[str, Any]) -> SpentAt:
    """The same again."""
    return SpentAt(
        Owner(written["wallet"], written["network"]),
        Place(written["host"], written["payTo"], written["mint"]),
        {
            unit: [SpentPeriod(after, until, int(value)) for after, until, value in periods]
            for unit, periods in written["spent"].items()
        },
    )


class _Own:
    """What an owner spent."""

    def __init__(self) -> None:
        # Of all places together.
        self.all: _Sums = {}
        self.places: dict[Place, _Sums] = {}
        # Places by host, with and without its port.
        self.hosts: dict[str, dict[Place, None]] = {}


class Spending:
    """What the attempts of all owners took."""

    def __init__(self) -> None:
        self._owners: dict[Owner, _Own] = {}

    def add(self, owner: Owner, place: Place, at: float, cost: Cost) -> None:
        """Adds a cost."""
        for sums in self._both(owner, place) if cost else ():
            for unit, value in cost.items():
                if unit not in sums:
                    sums[unit] = SpentSums()
                sums[unit].add(at, value)

    def subtract(self, owner: Owner, place: Place, at: float, cost: Cost) -> None:
        """Takes back what was added at the same place and time."""
        if not cost:
            return
        for sums in self._both(owner, place):
            for unit, value in cost.items():
                sums[unit].subtract(at, value)
                if sums[unit].is_empty:
                    del sums[unit]
        own = self._owners[owner]
        if own.places[place]:
            return
        del own.places[place]
        for host in _hosts_of(place):
            own.hosts.get(host, {}).pop(place, None)
            if not own.hosts.get(host):
                own.hosts.pop(host, None)

    def since(self, owner: Owner, cap: Cap, moment: float) -> int:
        """What counts in a cap's window that begins after a moment."""
        own = self._owners.get(owner)
        if own is None:
            return 0
        if cap.host is None and cap.pay_to is None and cap.mint in (None, cap.unit):
            return own.all[cap.unit].since(moment) if cap.unit in own.all else 0
        places = own.places if cap.host is None else own.hosts.get(cap.host, {})
        total = 0
        for place in places:
            sums = own.places[place].get(cap.unit)
            if sums is not None and counts(cap, place._asdict()):
                total += sums.since(moment)
        return total

    def content(self) -> list[SpentAt]:
        """All of it."""
        return [
            SpentAt(owner, place, {unit: one.periods() for unit, one in sums.items()})
            for owner, own in self._owners.items()
            for place, sums in own.places.items()
        ]

    def restore(self, given: SpentAt) -> None:
        """Adds what was written down."""
        for sums in self._both(given.owner, given.place):
            for unit, periods in given.spent.items():
                for period in periods:
                    sums.setdefault(unit, SpentSums()).restore(period)

    def _both(self, owner: Owner, place: Place) -> tuple[_Sums, _Sums]:
        own = self._owners.setdefault(owner, _Own())
        if place not in own.places:
            own.places[place] = {}
            for host in _hosts_of(place):
                own.hosts.setdefault(host, {})[place] = None
        return own.all, own.places[place]


def _hosts_of(place: Place) -> tuple[str, str]:
    return plain_host(place.host), portless(place.host)
