"""Writes a signed attempt; the writes of one attempt run one after the other."""

from __future__ import annotations

from typing import Any, Callable

from .._journal.registry import OpenPayment
from .._journal.types import ALONE, Along, Attempt
from .._kernel.hosts import threads
from .._kernel.steps import join, settled, start
from .._kernel.task import Steps, Task
from .context import PaymentContext

Change = Callable[[Attempt], Attempt]


def unchanged(attempt: Attempt) -> Attempt:
    return attempt


def save_attempt(
    context: PaymentContext, open_: OpenPayment, change: Change = unchanged, along: Along = ALONE
) -> Steps[None]:
    """Writes an attempt with a change, and then applies the change to the open payment.

    Writes of one attempt wait for each other: two writes at once could land in the wrong order.
    """
    before = open_.last_write

    def write() -> Steps[None]:
        if before is not None and not before.is_settled and not before.host.is_gone:
            yield from settled(before)
        yield from context.journal.put(change(open_.attempt), along)
        # Apply the change to the current attempt, which other code may have changed meanwhile.
        open_.attempt = change(open_.attempt)

    task = yield from start_apart(context, write())
    open_.last_write = task
    yield from join(task)


def start_apart(context: PaymentContext, steps: Steps[Any]) -> Steps[Task[Any]]:
    """Starts steps that must end even if the caller's event loop closes first.

    A durable journal answers from other threads, and a closed loop would not hear it. The attempt
    would then seem to be under way until the process ends.
    """
    # They start at once: threads start in any order, and of two writes the later must land last.
    return (yield from start(steps, None if context.config.journal is None else threads))


def last_write_ended(open_: OpenPayment) -> Steps[Any]:
    """Waits for the last write; never raises."""
    last = open_.last_write
    if last is not None and not last.host.is_gone:
        yield from settled(last)
