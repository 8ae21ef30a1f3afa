"""Writes of a signed attempt, one after the other."""

from __future__ import annotations

from typing import Any, Callable

from .._journal.registry import OpenPayment
from .._journal.types import ALONE, Along, Attempt
from .._kernel.hosts import threads
from .._kernel.steps import join, settled, start
from .._kernel.task import Steps, Task, begin
from .context import PaymentContext

Change = Callable[[Attempt], Attempt]


def as_it_is(attempt: Attempt) -> Attempt:
    """No change."""
    return attempt


def save_attempt(
    context: PaymentContext, open_: OpenPayment, change: Change = as_it_is, along: Along = ALONE
) -> Steps[None]:
    """Writes an attempt as it stands after a change, and makes the change once that is written.

    Two writes at once may land in the wrong order, and the older one would stand.
    """
    task = yield from start_saving(context, open_, change, along)
    yield from join(task)


def start_saving(
    context: PaymentContext, open_: OpenPayment, change: Change = as_it_is, along: Along = ALONE
) -> Steps[Task[None]]:
    """The same, not waited for."""
    before = open_.last_write

    def write() -> Steps[None]:
        if before is not None and not before.is_settled and not before.host.is_gone:
            yield from settled(before)
        yield from context.journal.put(change(open_.attempt), along)
        # To what it is by now: others may have changed it while it was written.
        open_.attempt = change(open_.attempt)

    task = yield from start_apart(context, write())
    open_.last_write = task
    return task


def start_apart(context: PaymentContext, steps: Steps[Any]) -> Steps[Task[Any]]:
    """Starts what has to end though the caller's event loop is closed before.

    A durable journal answers from other threads: on a loop that is gone nothing would hear it, and
    the attempt would seem to be under way for as long as the process lives.
    """
    if context.config.journal is None:
        return (yield from start(steps))
    return begin(threads, steps)


def written(open_: OpenPayment) -> Steps[Any]:
    """Waits for the last write; never raises."""
    last = open_.last_write
    if last is not None and not last.host.is_gone:
        yield from settled(last)
