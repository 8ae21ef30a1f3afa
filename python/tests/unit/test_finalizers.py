"""A finalizer may run in any code, whatever lock its thread holds, so it waits for no lock."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from collections import deque
from typing import Any, Callable, Iterator, Tuple

import httpx
import pytest

from exact_change import Client
from exact_change._http.endings import Ending, WatchedStream
from exact_change._journal.locks import MemoryLocks
from exact_change._journal.postgres.database import _Slots
from exact_change._kernel.hosts import loop_host, threads
from exact_change._kernel.signals import Signal, void
from exact_change._kernel.steps import done, park, quiet, sleep
from exact_change._kernel.task import Steps, begin
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


def submitter() -> Made:
    """Submits a job, as the close of a client does."""
    ran = threading.Event()
    yield lambda: workers.submit(ran.set), ran.is_set


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


@pytest.mark.parametrize("made", [coroutine, caller, submitter, lock, slot])
def test_a_finalizer_waits_for_no_lock(made: Callable[[], Made]) -> None:
    workers.watch_graves()
    for finalize, has_ended in made():
        finalizer = threading.Thread(target=finalize, daemon=True)
        with _turns.lock, workers._lock:
            finalizer.start()
            finalizer.join(60)
            is_over = not finalizer.is_alive()
        finalizer.join(60)
        assert is_over
        until("the effect", has_ended)


def test_a_turn_begins_with_what_finalizers_left() -> None:
    order: list[str] = []
    with _turns.lock:
        workers.bury(lambda: order.append("finalizer"))
        run_turn(lambda: order.append("turn"))
    assert order == ["finalizer", "turn"]


async def test_a_call_on_a_loop_begins_with_what_finalizers_left() -> None:
    host = loop_host()
    order: list[str] = []

    def step(name: str) -> Steps[None]:
        order.append(name)
        yield from ()

    workers.watch_graves()
    workers.bury(lambda: void(begin(host, step("finalizer"))))
    # Wait in the loop's thread, until the graves thread has taken it.
    until("the grave is dug", lambda: not _turns.left)
    await host.run(step("call"))
    assert order == ["finalizer", "call"]


class Told:
    """Hears of the end of a body."""

    def __init__(self) -> None:
        self.is_lost = False

    def read(self, _reader: Signal | None) -> Steps[None]:
        return done(None)

    def lost(self) -> Steps[None]:
        self.is_lost = True
        return done(None)


def test_a_close_waits_for_the_report_of_the_reader_that_left() -> None:
    may_end = Signal()

    class Slow(Told):
        def lost(self) -> Steps[None]:
            yield from quiet(sleep(60_000, may_end))
            self.is_lost = True

    told = Slow()
    stream = WatchedStream(httpx.ByteStream(b"some"), Ending(told, threads))
    reading = iter(stream)
    next(reading)
    del reading
    until("the report has begun", lambda: not _turns.left)
    closing = threading.Thread(target=stream.close, daemon=True)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    run_turn(may_end.abort)
    closing.join(60)
    assert told.is_lost and not closing.is_alive()


# A generator of the caller that closes something of the library, and a check that this has ended.
Reading = Tuple[Iterator[object], Callable[[], bool]]


def body() -> Reading:
    told = Told()

    def read() -> Iterator[object]:
        stream = WatchedStream(httpx.ByteStream(b"some"), Ending(told, threads))
        with contextlib.closing(stream):
            yield from stream

    return read(), lambda: told.is_lost


def client() -> Reading:
    closed: list[bool] = []

    def use() -> Iterator[object]:
        try:
            with Client(wallet_seed=bytes(32)) as opened:
                yield opened.spent()
        finally:
            closed.append(True)

    return use(), lambda: bool(closed)


@pytest.mark.parametrize("made", [body, client])
def test_closes_what_a_generator_holds_that_is_collected_in_a_turn(
    made: Callable[[], Reading],
) -> None:
    generator, has_ended = made()
    next(generator)
    cycle: list[object] = [generator]
    cycle.append(cycle)
    del generator, cycle
    workers.submit(lambda: run_turn(lambda: void(gc.collect())))
    until("the close", has_ended)


def test_closes_what_a_generator_holds_that_is_collected_as_a_turn_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator, has_ended = body()
    next(generator)
    cycle: list[object] = [generator]
    cycle.append(cycle)
    del generator, cycle

    def collecting(*work: Any) -> Any:
        gc.collect()
        return deque(work)

    monkeypatch.setattr("exact_change._kernel.turns.deque", collecting)
    beginning = threading.Thread(target=lambda: run_turn(lambda: None), daemon=True)
    beginning.start()
    until("the close", has_ended)
