"""Attempts that no call is at any more."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ..._base.network import TOKEN_PROGRAMS
from ..._journal.types import ALONE, Along, Attempt, State, SwapOutcome
from ..._kernel.steps import quiet
from ..._kernel.task import Steps
from ..._solana.tokens import associated_token_address
from ..claims import body_claim, drop_gone
from ..context import PaymentContext
from ..swap_cost import with_swap_cost, without_bound
from .changes import note_freed, note_resumed


class ReleasedOrphans(NamedTuple):
    """What was freed."""

    freed: int
    # Those of them whose swap may still land.
    abandoned: Sequence[Attempt]


def orphaned_attempts(context: PaymentContext, state: State) -> Steps[list[Attempt]]:
    """Attempts in a state that no call is at, in this process or another."""
    yield from drop_gone(context)
    ids = [one["id"] for one in (yield from listed(context, state))]
    if not ids:
        return []
    live = yield from context.claims.live([name for id_ in ids for name in (id_, body_claim(id_))])
    # One whose answer is still being read is its reader's: two that write of it would undo each
    # other.
    dead = {id_ for id_ in ids if id_ not in live and body_claim(id_) not in live}
    if not dead:
        return []
    # Again: one that was alive when it was listed may have gone on, and been let go, before its
    # claim was asked about.
    return [one for one in (yield from listed(context, state)) if one["id"] in dead]


def release_orphans(context: PaymentContext) -> Steps[ReleasedOrphans]:
    """Gives back what orphaned attempts reserved and held.

    A swap that they signed stays on record until it can land no more, and what swaps cost stays.
    """
    dead = yield from orphaned_attempts(context, "reserved")
    abandoned: list[Attempt] = []
    for attempt in dead:
        note_resumed(context, attempt)
        along = Along(free=_accounts_of(context, attempt))
        swap = attempt.get("swap")
        # If it goes on after all, it is left alone.
        if swap is not None and "outcome" not in swap:
            one = yield from quiet(put_abandoned(context, attempt, along))
            if one is not None:
                abandoned.append(one)
        else:
            yield from quiet(end_unpaid(context, without_bound(attempt), along))
    return ReleasedOrphans(len(dead), abandoned)


def put_abandoned(context: PaymentContext, attempt: Attempt, along: Along) -> Steps[Attempt]:
    """Frees the price and the key of an attempt that signed no payment, and keeps its swap."""
    abandoned = _without_key(attempt, "abandoned")
    yield from context.journal.put(abandoned, along)
    note_freed(context, abandoned, "abandoned")
    return abandoned


def end_decided(context: PaymentContext, attempt: Attempt, outcome: SwapOutcome) -> Steps[None]:
    """Puts on record what became of the swap of an attempt that signed no payment, and ends it."""
    swap = attempt.get("swap")
    is_decided = swap is None or "outcome" in swap
    ended = without_bound(attempt) if is_decided else with_swap_cost(attempt, outcome)
    return end_unpaid(context, ended)


def end_unpaid(context: PaymentContext, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
    """Ends an attempt that signed no payment and whose swap is decided.

    What its swaps cost stays on record; if that is nothing, it is forgotten.
    """
    swap = attempt.get("swap")
    if "swapped" in attempt:
        unpaid = _without_key(attempt, "unpaid")
        unpaid["leftAt"] = max(attempt["at"], context.now())
        yield from _put(context, unpaid, along)
    else:
        # What became of its swap is told first.
        if swap is not None and "outcome" in swap:
            yield from _put(context, _without_key(attempt, "abandoned"))
        yield from context.journal.release(attempt["id"], along)
    note_freed(context, attempt, "unpaid")


def _put(context: PaymentContext, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
    """Another process may have ended it already, and forgotten it."""
    try:
        yield from context.journal.put(attempt, along)
        return
    except Exception as raised:
        error = raised
    states: tuple[State, ...] = ("reserved", "abandoned")
    for state in states:
        if any(one["id"] == attempt["id"] for one in (yield from listed(context, state))):
            raise error
    yield from context.journal.release(attempt["id"], along)


def _accounts_of(context: PaymentContext, attempt: Attempt) -> list[str]:
    """The accounts that it may hold tokens of.

    Which of the two token programs its mint belongs to is not on record.
    """
    wallet, mint = context.config.wallet, attempt["mint"]
    return [associated_token_address(wallet, mint, program) for program in TOKEN_PROGRAMS]


def listed(context: PaymentContext, state: State) -> Steps[list[Attempt]]:
    """Attempts in a state, also those that calls are at."""
    return context.journal.attempts(context.owner, state=state)


def _without_key(attempt: Attempt, state: State) -> Attempt:
    rest = attempt.copy()
    rest.pop("idempotencyKey", None)
    rest["state"] = state
    return rest
