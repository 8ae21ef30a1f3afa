"""The states of an attempt, by the table of ``spec/``, and what the attempt takes of caps."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from .._policy.caps import Cap, cap_counts
from .._policy.cost import Cost, cost_of
from .._spec import table
from .types import Attempt, CapBlock

STATES: dict[str, Any] = table("states")["attempts"]
# States of attempts that are not over: a payment, a swap or the chain still has to decide.
OPEN_STATES = ("reserved", "abandoned", "signed")
# Milliseconds that an undecided attempt counts beyond the window of a cap: far longer than any
# blockhash is valid.
UNDECIDED_MS = 24 * 60 * 60 * 1000


def may_follow(before: str, after: str) -> bool:
    """Returns whether a journal lets one state follow another."""
    return after in STATES[before]["next"]


def is_counted(state: str) -> bool:
    """Returns whether the price of an attempt in a state counts against caps."""
    return bool(STATES[state]["counts"])


def cost_in(attempt: Attempt) -> Cost:
    """Returns what an attempt takes of caps in its present state, by unit."""
    return cost_of(attempt, is_counted(attempt["state"]))


def counted_at(attempt: Attempt) -> int:
    """Returns the time at which an attempt counts as spent. Milliseconds since the epoch."""
    return attempt.get("leftAt", attempt["at"])


def counts_longer(attempt: Attempt, since: float) -> bool:
    """Returns whether an undecided attempt counts in a window that begins after it.

    A reservation always does, because it is still to be spent. A signed attempt counts a day
    longer, because its tokens may leave later than it was signed.
    """
    at = counted_at(attempt)
    return at <= since and (attempt["state"] == "reserved" or at > since - UNDECIDED_MS)


def keeps_swap(attempt: Attempt) -> bool:
    """Returns whether an attempt has to stay on record for its swaps.

    It does if a swap may still land, or if swaps have cost something.
    """
    swap = attempt.get("swap")
    return "swapped" in attempt or (swap is not None and "outcome" not in swap)


def may_release(attempt: Attempt) -> bool:
    """Returns whether a journal may forget an attempt: no payment is signed, no swap needs it."""
    return bool(STATES[attempt["state"]]["release"]) and not keeps_swap(attempt)


def drops_swap(before: Attempt, after: Attempt) -> bool:
    """Returns whether an end without a payment would drop a swap that may still land."""
    swap, later = before.get("swap"), after.get("swap")
    if after["state"] not in ("abandoned", "unpaid") or swap is None or "outcome" in swap:
        return False
    if later is None or later["signature"] != swap["signature"]:
        return True
    return after["state"] == "unpaid" and "outcome" not in later


class Counted(NamedTuple):
    """An attempt, and what it takes of caps in its present state, by unit."""

    attempt: Attempt
    cost: Cost


def first_full(
    caps: Sequence[Cap], used: Sequence[int], after: Counted, before: Counted | None
) -> CapBlock | None:
    """Returns the first cap that lacks room for an attempt.

    ``used`` is the used amount of each cap, with the cost of ``before``: the attempt as it is on
    record. An attempt that takes no more than ``before`` is never refused.
    """

    def takes(cap: Cap, counted: Counted) -> int:
        return counted.cost.get(cap.unit, 0) if cap_counts(cap, counted.attempt) else 0

    for cap, already in zip(caps, used):
        taking = takes(cap, after)
        taken = 0 if before is None else takes(cap, before)
        if taking > taken and already - taken + taking > cap.limit:
            return CapBlock(cap, already - taken)
    return None
