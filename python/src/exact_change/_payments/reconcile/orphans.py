"""Orphaned attempts: the process of each has ended, so no claim is left."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ..._base.network import TOKEN_PROGRAMS
from ..._journal.types import ALONE, Along, Attempt, State, SwapOutcome
from ..._kernel.steps import quiet
from ..._kernel.task import Steps
from ..._solana.tokens import associated_token_address
from ..claims import body_claim, drop_abandoned_claims
from ..context import PaymentContext
from ..swap_cost import with_swap_cost, without_bound
from .changes import note_freed, note_resumed


class ReleasedOrphans(NamedTuple):
    """The orphaned attempts that were freed."""

    # Number of orphaned attempts.
    freed: int
    # The attempts among them with a swap that may still land.
    abandoned: Sequence[Attempt]


def orphaned_attempts(context: PaymentContext, state: State) -> Steps[list[Attempt]]:
    """Returns the attempts in a state that no call works on, in this or another process."""
    yield from drop_abandoned_claims(context)
    ids = [attempt["id"] for attempt in (yield from attempts_in_state(context, state))]
    if not ids:
        return []
    live = yield from context.claims.live([name for id_ in ids for name in (id_, body_claim(id_))])
    # While a caller reads the answer of an attempt, the attempt is no orphan: a second writer would
    # undo the writes of that call.
    orphaned = {id_ for id_ in ids if id_ not in live and body_claim(id_) not in live}
    if not orphaned:
        return []
    # List again: an attempt may have changed its state, and dropped its claim, before the claims
    # were read.
    return [
        attempt
        for attempt in (yield from attempts_in_state(context, state))
        if attempt["id"] in orphaned
    ]


def release_orphans(context: PaymentContext) -> Steps[ReleasedOrphans]:
    """Frees the budget and the tokens of orphaned attempts.

    A signed swap stays on record until it can no longer land. The cost of swaps stays on record.
    """
    orphaned = yield from orphaned_attempts(context, "reserved")
    abandoned: list[Attempt] = []
    for attempt in orphaned:
        note_resumed(context, attempt)
        along = Along(free=_accounts_of(context, attempt))
        swap = attempt.get("swap")
        # Ignore a refused write: then a call still works on the attempt.
        if swap is not None and "outcome" not in swap:
            kept = yield from quiet(put_abandoned(context, attempt, along))
            if kept is not None:
                abandoned.append(kept)
        else:
            yield from quiet(end_unpaid(context, without_bound(attempt), along))
    return ReleasedOrphans(len(orphaned), abandoned)


def put_abandoned(context: PaymentContext, attempt: Attempt, along: Along) -> Steps[Attempt]:
    """Frees the price and the key of an attempt that signed no payment, and keeps its swap."""
    abandoned = _without_key(attempt, "abandoned")
    yield from context.journal.put(abandoned, along)
    note_freed(context, abandoned, "abandoned")
    return abandoned


def end_decided(context: PaymentContext, attempt: Attempt, outcome: SwapOutcome) -> Steps[None]:
    """Records the outcome of an unpaid attempt's swap, and ends the attempt."""
    swap = attempt.get("swap")
    is_decided = swap is None or "outcome" in swap
    ended = without_bound(attempt) if is_decided else with_swap_cost(attempt, outcome)
    return end_unpaid(context, ended)


def end_unpaid(
    context: PaymentContext, attempt: Attempt, along: Along | None = None
) -> Steps[None]:
    """Ends an attempt without a signed payment and without an undecided swap.

    The cost of its swaps stays on record. Without such a cost, the attempt is removed. Frees its
    tokens: a call that was taken for ended may have held them since, and may fail to free them.
    """
    along = along or Along(free=_accounts_of(context, attempt))
    swap = attempt.get("swap")
    if "swapped" in attempt:
        unpaid = _without_key(attempt, "unpaid")
        unpaid["leftAt"] = max(attempt["at"], context.now())
        yield from _put(context, unpaid, along)
    else:
        # Record the outcome of the swap before the attempt is removed.
        if swap is not None and "outcome" in swap:
            yield from _put(context, _without_key(attempt, "abandoned"))
        yield from context.journal.release(attempt["id"], along)
    note_freed(context, attempt, "unpaid")


def _put(context: PaymentContext, attempt: Attempt, along: Along = ALONE) -> Steps[None]:
    """Writes an attempt; if the write fails because another process removed it, releases it."""
    try:
        yield from context.journal.put(attempt, along)
        return
    except Exception as raised:
        error = raised
    states: tuple[State, ...] = ("reserved", "abandoned")
    for state in states:
        if any(
            other["id"] == attempt["id"] for other in (yield from attempts_in_state(context, state))
        ):
            raise error
    yield from context.journal.release(attempt["id"], along)


def _accounts_of(context: PaymentContext, attempt: Attempt) -> list[str]:
    """Returns the accounts that an attempt may hold tokens of.

    There are two, because the attempt does not record the token program of its mint.
    """
    wallet, mint = context.config.wallet, attempt["mint"]
    return [associated_token_address(wallet, mint, program) for program in TOKEN_PROGRAMS]


def attempts_in_state(context: PaymentContext, state: State) -> Steps[list[Attempt]]:
    """Returns all attempts in a state, claimed or not."""
    return context.journal.attempts(context.owner, state=state)


def _without_key(attempt: Attempt, state: State) -> Attempt:
    copy = attempt.copy()
    copy.pop("idempotencyKey", None)
    copy["state"] = state
    return copy
