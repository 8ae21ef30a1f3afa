"""The life of an attempt to pay, by the table of ``spec/``, and what it takes of caps."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from .._policy.caps import Cap, counts
from .._policy.cost import Cost, cost_of
from .._spec import table
from .types import Attempt, CapBlock

STATES: dict[str, Any] = table("states")["attempts"]
# States that something is still to follow: a payment to sign, or the chain's word.
OPEN_STATES = ("reserved", "abandoned", "signed")
# How much longer than its window an undecided attempt counts: far more than any blockhash lives.
UNDECIDED_MS = 24 * 60 * 60 * 1000


def may_follow(before: str, after: str) -> bool:
    """Whether a journal lets one state follow another."""
    return after in STATES[before]["next"]


def is_counted(state: str) -> bool:
    """Whether its price counts against caps."""
    return bool(STATES[state]["counts"])


def cost_in(attempt: Attempt) -> Cost:
    """What an attempt takes of caps as it stands, by unit."""
    return cost_of(attempt, is_counted(attempt["state"]))


def counted_at(attempt: Attempt) -> int:
    """When it counts as spent."""
    return attempt.get("leftAt", attempt["at"])


def counts_longer(attempt: Attempt, since: float) -> bool:
    """Whether an undecided attempt counts in a window that begins after it.

    What is only reserved is yet to be spent, however long it has waited; and what was signed may
    leave later than it was signed.
    """
    at = counted_at(attempt)
    return at <= since and (attempt["state"] == "reserved" or at > since - UNDECIDED_MS)


def keeps_swap(attempt: Attempt) -> bool:
    """Whether it has to stay on record for its swaps: one may land, or they have cost."""
    swap = attempt.get("swap")
    return "swapped" in attempt or (swap is not None and "outcome" not in swap)


def may_release(attempt: Attempt) -> bool:
    """Whether a journal may forget an attempt."""
    return bool(STATES[attempt["state"]]["release"]) and not keeps_swap(attempt)


def drops_swap(before: Attempt, after: Attempt) -> bool:
    """Whether an end without a payment would drop a swap that may still land."""
    swap, later = before.get("swap"), after.get("swap")
    if after["state"] not in ("abandoned", "unpaid") or swap is None or "outcome" in swap:
        return False
    if later is None or later["signature"] != swap["signature"]:
        return True
    return after["state"] == "unpaid" and "outcome" not in later


class Counted(NamedTuple):
    """An attempt with what it takes as it stands, by unit."""

    attempt: Attempt
    cost: Cost


def first_full(
    caps: Sequence[Cap], used: Sequence[int], one: Counted, before: Counted | None
) -> CapBlock | None:
    """The first cap that lacks room for an attempt.

    ``used``: of each cap, ``before`` among it: the attempt as it is on record. An attempt that
    takes no more than that is never refused.
    """

    def takes(cap: Cap, counted: Counted) -> int:
        return counted.cost.get(cap.unit, 0) if counts(cap, counted.attempt) else 0

    for cap, already in zip(caps, used):
        taking = takes(cap, one)
        own = 0 if before is None else takes(cap, before)
        if taking > own and already - own + taking > cap.limit:
            return CapBlock(cap, already - own)
    return None
