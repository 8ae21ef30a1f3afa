"""A finalizer may run in any code, whatever lock its thread holds, so it waits for no lock."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, Callable, Iterator, Tuple

import pytest

from exact_change._journal.locks import MemoryLocks
from exact_change._journal.postgres.database import _Slots
from exact_change._kernel.hosts import loop_host, threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import done, park
from exact_change._kernel.task import Steps
from exact_change._kernel.turns import _turns, run_turn
from exact_change._kernel.workers import workers

from ..payer import until

# A finalizer, and a function that returns whether it has had its effect.
Made = Iterator[Tuple[Callable[[], object], Callable[[], bool]]]


def waiting() -> Steps[None]:
    yield park(lambda _host, _wake: ())


def coroutine() -> Made:
    """Closes a call on a loop that still runs."""
    loop, signal = asyncio.new_event_loop(), Signal()

    async def begin() -> Any:
        run = loop_host().run(waiting(), signal)
        run.send(None)
        return run

    yield loop.run_until_complete(begin()).close, lambda: signal.aborted
    loop.close()


def caller() -> Made:
    """Closes a call on a loop after its answer."""
    loop, signal = asyncio.new_event_loop(), Signal()

    async def host() -> Any:
        return loop_host()

    fire = loop.run_until_complete(host()).fire
    yield lambda: fire(signal, GeneratorExit()), lambda: signal.aborted
    loop.close()


def holder(
    hold: Callable[[Callable[[], Steps[Any]]], Steps[Any]], waits: Callable[[], object]
) -> Made:
    """Closes the steps of a holder, while a thread waits for what it holds."""
    steps = hold(waiting)

    def begin() -> None:
        effect: Any = next(steps)
        while not hasattr(effect, "begin"):
            effect = steps.send(effect.answer(threads))

    run_turn(begin)
    waiter = threading.Thread(target=lambda: threads.run(hold(lambda: done(None))), daemon=True)
    waiter.start()
    until("a thread waits", waits)
    yield steps.close, lambda: not waiter.is_alive()


def lock() -> Made:
    locks = MemoryLocks()
    return holder(lambda work: locks.hold(["lock"], work), lambda: locks._queues["lock"])


def slot() -> Made:
    slots = _Slots()
    slots._free = 1
    end = time.monotonic() + 60
    return holder(lambda work: slots.hold(end, work), lambda: slots._waiting)


@pytest.mark.parametrize("made", [coroutine, caller, lock, slot])
def test_a_finalizer_waits_for_no_lock(made: Callable[[], Made]) -> None:
    workers.watch_graves()
    for finalize, has_ended in made():
        finalizer = threading.Thread(target=finalize, daemon=True)
        with _turns.lock, workers._lock:
            finalizer.start()
            finalizer.join(5)
            is_over = not finalizer.is_alive()
        finalizer.join(5)
        assert is_over
        until("the effect", has_ended)
