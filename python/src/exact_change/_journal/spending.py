"""Sums of amounts that left, by period, so that no attempt has to be kept for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Dict, Mapping, NamedTuple, Sequence

from .._policy.caps import Cap, cap_counts
from .._policy.cost import Cost
from .._policy.hosts import plain_host, portless
from .types import Owner

_SHORTEST_MS = 1000
_MINUTE_MS = 60 * 1000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
# Lengths of periods by the least age of their end, in milliseconds, the oldest first. Each length
# is a multiple of the next.
_LENGTHS = (
    (64 * _DAY_MS, 8 * _DAY_MS),
    (2 * _DAY_MS, 6 * _HOUR_MS),
    (2 * _HOUR_MS, 15 * _MINUTE_MS),
    (2 * _MINUTE_MS, _MINUTE_MS),
)
# Periods are merged when there are more than this, and twice as many as the last merge left.
_FEWEST = 128


class Place(NamedTuple):
    """The fields of an owner's payment by which caps tell payments apart."""

    host: str
    payTo: str
    mint: str


class SpentPeriod(NamedTuple):
    """The amount that left after ``after`` and until ``until``. Milliseconds since the epoch."""

    after: int
    until: int
    value: int


class SpentSums:
    """Sums of amounts of one unit, by period: the older the period, the longer.

    An amount counts until its whole period is out of a window: up to a period longer, never
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
        """Whether the sum of all amounts is zero."""
        return self._total == 0

    def add(self, at: float, value: int) -> None:
        """Adds an amount that left at a time."""
        self._change(at, value)
        if len(self._untils) > self._most:
            self._coarsen(at)

    def subtract(self, at: float, value: int) -> None:
        """Takes back an amount that was added at the same time."""
        self._change(at, -value)

    def since(self, moment: float) -> int:
        """Returns the amount that counts in a window that begins after this moment."""
        place = bisect_right(self._untils, moment)
        # Sum the shorter side, because most windows begin near an end of the list.
        if place < len(self._untils) / 2:
            return self._total - sum(self._values[:place])
        return sum(self._values[place:])

    def periods(self) -> list[SpentPeriod]:
        """Returns the periods, the oldest first."""
        every = zip(self._afters, self._untils, self._values)
        return [SpentPeriod(*period) for period in every if period[2] != 0]

    def restore(self, period: SpentPeriod) -> None:
        """Adds a period that :meth:`periods` returned. Rounds to whole seconds, as `add` does."""
        after, until = _shortest(period.after + 1)[0], _shortest(period.until)[1]
        self._change(period.until, period.value, (after, until))

    def _change(self, at: float, by: int, ends: tuple[int, int] | None = None) -> None:
        """Adds to the period of a moment, or to a new period if the moment has none.

        ``ends`` are the ends of a new period; without them it is of the shortest length.
        """
        self._total += by
        place = bisect_left(self._untils, at)
        if place < len(self._untils) and self._afters[place] < at:
            self._values[place] += by
            return
        after, until = _shortest(at) if ends is None else ends
        # Cut the new period at its neighbours, so that periods never overlap.
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
            # A period may be longer already, if the clock was set back.
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
    """Returns the length of a moment's period.

    A whole period must be old enough, so that periods never overlap.
    """
    for age, length in _LENGTHS:
        if now - _up_to(moment, length) >= age:
            return length
    return _SHORTEST_MS


_Sums = Dict[str, SpentSums]


class SpentAt(NamedTuple):
    """Amounts that left at one place over time, by unit."""

    owner: Owner
    place: Place
    spent: Mapping[str, Sequence[SpentPeriod]]

    def to_json(self) -> dict[str, Any]:
        """Returns the amounts as JSON that journals of both languages read."""
        units = {
            unit: [[period.after, period.until, str(period.value)] for period in periods]
            for unit, periods in self.spent.items()
        }
        return {**self.owner._asdict(), **self.place._asdict(), "spent": units}


def spent_of(written: Mapping[str, Any]) -> SpentAt:
    """Returns the amounts that :meth:`SpentAt.to_json` wrote."""
    return SpentAt(
        Owner(written["wallet"], written["network"]),
        Place(written["host"], written["payTo"], written["mint"]),
        {
            unit: [SpentPeriod(after, until, int(value)) for after, until, value in periods]
            for unit, periods in written["spent"].items()
        },
    )


class _OwnerSpending:
    """Sums of the amounts that an owner spent."""

    def __init__(self) -> None:
        # Sums over all places.
        self.total: _Sums = {}
        self.places: dict[Place, _Sums] = {}
        # Places by host, with and without its port.
        self.hosts: dict[str, dict[Place, None]] = {}


class Spending:
    """Sums of the costs of all owners' attempts."""

    def __init__(self) -> None:
        self._owners: dict[Owner, _OwnerSpending] = {}

    def add(self, owner: Owner, place: Place, at: float, cost: Cost) -> None:
        for sums in self._total_and_place(owner, place) if cost else ():
            for unit, value in cost.items():
                if unit not in sums:
                    sums[unit] = SpentSums()
                sums[unit].add(at, value)

    def subtract(self, owner: Owner, place: Place, at: float, cost: Cost) -> None:
        """Takes back a cost that was added at the same place and time."""
        if not cost:
            return
        for sums in self._total_and_place(owner, place):
            for unit, value in cost.items():
                sums[unit].subtract(at, value)
                if sums[unit].is_empty:
                    del sums[unit]
        spent = self._owners[owner]
        if spent.places[place]:
            return
        del spent.places[place]
        for host in _hosts_of(place):
            spent.hosts.get(host, {}).pop(place, None)
            if not spent.hosts.get(host):
                spent.hosts.pop(host, None)

    def since(self, owner: Owner, cap: Cap, moment: float) -> int:
        """Returns the amount that counts in a cap's window that begins after a moment."""
        spent = self._owners.get(owner)
        if spent is None:
            return 0
        if cap.host is None and cap.pay_to is None and cap.mint in (None, cap.unit):
            return spent.total[cap.unit].since(moment) if cap.unit in spent.total else 0
        places = spent.places if cap.host is None else spent.hosts.get(cap.host, {})
        total = 0
        for place in places:
            sums = spent.places[place].get(cap.unit)
            if sums is not None and cap_counts(cap, place._asdict()):
                total += sums.since(moment)
        return total

    def content(self) -> list[SpentAt]:
        """Returns all amounts that left, by owner and place."""
        return [
            SpentAt(owner, place, {unit: of_unit.periods() for unit, of_unit in sums.items()})
            for owner, spent in self._owners.items()
            for place, sums in spent.places.items()
        ]

    def restore(self, written: SpentAt) -> None:
        """Adds amounts that :meth:`content` returned."""
        for sums in self._total_and_place(written.owner, written.place):
            for unit, periods in written.spent.items():
                for period in periods:
                    sums.setdefault(unit, SpentSums()).restore(period)

    def _total_and_place(self, owner: Owner, place: Place) -> tuple[_Sums, _Sums]:
        spent = self._owners.setdefault(owner, _OwnerSpending())
        if place not in spent.places:
            spent.places[place] = {}
            for host in _hosts_of(place):
                spent.hosts.setdefault(host, {})[place] = None
        return spent.total, spent.places[place]


def _hosts_of(place: Place) -> tuple[str, str]:
    return plain_host(place.host), portless(place.host)
