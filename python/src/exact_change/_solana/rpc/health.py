"""What is remembered of a node: whether it failed when last asked, and for how long it rests."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .fault import Fault

_FIRST_REST_MS = 5_000
_LONGEST_REST_MS = 30_000
# No longer is a node left alone on its own word: it may be wrong, and the others may fail.
_LONGEST_ASKED_MS = 60_000


class NodeHealth(NamedTuple):
    """How a node did when it was asked last, by whichever call."""

    # In a row.
    failures: int = 0
    # When it failed last; milliseconds since the epoch.
    at: int = 0
    # How long it rests from then.
    rest_ms: float = 0
    # How it asked for that rest itself: until then it is not even the last resort.
    asked: Fault | None = None
    # A call tries whether it is back. One at a time, so that no other has to wait for it.
    probing: bool = False

    def rest_left(self, now: int) -> float:
        """Milliseconds for which it rests yet. A clock that is set back ends each rest."""
        return 0 if now < self.at else max(0, self.at + self.rest_ms - now)

    def asked_rest(self, now: int) -> float:
        """Milliseconds that are left of a rest that the node asked for itself."""
        return 0 if self.asked is None else self.rest_left(now)


HEALTHY = NodeHealth()


class Turn(NamedTuple):
    """A node that is asked: its place in the list, and whether this decides if it is back."""

    place: int
    probe: bool


class Turns(NamedTuple):
    """Which nodes to ask in one round, and why others are left alone."""

    turns: Sequence[Turn]
    left: Sequence[tuple[int, Fault]]


def take_turns(standings: Sequence[NodeHealth], now: int) -> Turns:
    """First the nodes that answered when last asked, and those whose rest is over.

    Then those that rest, the one whose rest ends soonest first. A node that is alone is always
    asked.
    """
    if len(standings) == 1:
        return Turns([Turn(0, False)], [])
    ready: list[Turn] = []
    resting: list[tuple[float, Turn]] = []
    left: list[tuple[int, Fault]] = []
    for place, one in enumerate(standings):
        ms = one.rest_left(now)
        if ms == 0 and not one.probing:
            ready.append(Turn(place, one.failures > 0))
        elif one.asked is not None and ms > 0:
            left.append((place, one.asked.later(ms)))
        else:
            resting.append((ms, Turn(place, False)))
    resting.sort(key=lambda one: one[0])
    return Turns([*ready, *(turn for _, turn in resting)], left)


def after_fault(health: NodeHealth, fault: Fault, now: int) -> NodeHealth:
    """The same node once it has failed."""
    if not _is_absence(fault):
        return HEALTHY
    asked = fault.retry_after_ms
    if asked is None:
        rest: float = min(_FIRST_REST_MS * 2 ** min(health.failures, 8), _LONGEST_REST_MS)
    else:
        rest = min(asked, _LONGEST_ASKED_MS)
    return NodeHealth(health.failures + 1, now, rest, None if asked is None else fault)


def _is_absence(fault: Fault) -> bool:
    """It did not answer, or said "not now". All else is an answer, if a bad one."""
    if fault.kind == "unavailable":
        return fault.code is None
    return fault.kind in ("timeout", "rate_limited")
