"""The health of a node: whether its last call failed, and how long the node rests."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .fault import Fault

_FIRST_REST_MS = 5_000
_LONGEST_REST_MS = 30_000
# Longest rest that a node may ask for: it may be wrong, and the other nodes may fail.
_LONGEST_ASKED_MS = 60_000


class NodeHealth(NamedTuple):
    """The result of the last call of a node, whichever call that was."""

    # Failures in a row.
    failures: int = 0
    # Time of the last failure. Milliseconds since the epoch.
    at: int = 0
    # Milliseconds that the node rests from then.
    rest_ms: float = 0
    # The fault by which the node itself asked for the rest; until its end, no call asks the node.
    asked: Fault | None = None
    # Whether a call probes the node now. Only one call does, so that no other call waits for it.
    probing: bool = False

    def rest_left(self, now: int) -> float:
        """Returns the milliseconds that are left of the rest; 0 if the clock was set back."""
        return 0 if now < self.at else max(0, self.at + self.rest_ms - now)

    def asked_rest(self, now: int) -> float:
        """Returns the milliseconds that are left of a rest that the node itself asked for."""
        return 0 if self.asked is None else self.rest_left(now)


HEALTHY = NodeHealth()


class Turn(NamedTuple):
    """A node to ask: its place in the list, and whether this call probes it."""

    place: int
    probe: bool


class Turns(NamedTuple):
    """The nodes to ask in a round, and the nodes that asked for a rest, with their faults."""

    turns: Sequence[Turn]
    left: Sequence[tuple[int, Fault]]


def take_turns(healths: Sequence[NodeHealth], now: int) -> Turns:
    """Returns the order in which to ask nodes.

    Nodes that answered last, and nodes with a rest that is over, come first. Resting nodes follow,
    the shortest rest first. If there is only one node, it is always asked.
    """
    if len(healths) == 1:
        return Turns([Turn(0, False)], [])
    ready: list[Turn] = []
    resting: list[tuple[float, Turn]] = []
    left: list[tuple[int, Fault]] = []
    for place, health in enumerate(healths):
        ms = health.rest_left(now)
        if ms == 0 and not health.probing:
            ready.append(Turn(place, health.failures > 0))
        elif health.asked is not None and ms > 0:
            left.append((place, health.asked.later(ms)))
        else:
            resting.append((ms, Turn(place, False)))
    resting.sort(key=lambda entry: entry[0])
    return Turns([*ready, *(turn for _, turn in resting)], left)


def after_fault(health: NodeHealth, fault: Fault, now: int) -> NodeHealth:
    if not _is_absence(fault):
        return HEALTHY
    asked = fault.retry_after_ms
    if asked is None:
        rest: float = min(_FIRST_REST_MS * 2 ** min(health.failures, 8), _LONGEST_REST_MS)
    else:
        rest = min(asked, _LONGEST_ASKED_MS)
    return NodeHealth(health.failures + 1, now, rest, None if asked is None else fault)


def _is_absence(fault: Fault) -> bool:
    """Returns whether a node gave no answer, or said "not now". Any other fault is an answer."""
    if fault.kind == "unavailable":
        return fault.code is None
    return fault.kind in ("timeout", "rate_limited")
