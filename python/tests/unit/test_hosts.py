"""Hosts that run steps, after their event loop was closed."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from exact_change._journal.locks import MemoryLocks
from exact_change._journal.postgres.database import _Slots
from exact_change._kernel.hosts import LoopHost, loop_host, threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import bounded, call, done, quiet, sleep
from exact_change._kernel.task import Steps
from exact_change._kernel.workers import Job, workers
from exact_change._payments.saving import start_apart


async def _host() -> LoopHost:
    return loop_host()


def test_runs_no_further_step_when_a_call_is_collected_after_its_loop_closed() -> None:
    tried: list[int] = []

    def steps(signal: Signal) -> Steps[None]:
        # A background job tries again after any failure.
        while len(tried) < 3:
            tried.append(len(tried))
            yield from quiet(sleep(10_000, signal))

    signal = Signal()
    loop = asyncio.new_event_loop()
    host = loop.run_until_complete(_host())
    call = host.run(steps(signal), signal)
    # A task of asyncio starts its coroutine the same way.
    call.send(None)
    loop.close()
    call.close()
    assert tried == [0]


def test_raises_nothing_in_another_thread_when_the_loop_closes_before_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.new_event_loop()
    host = loop.run_until_complete(_host())
    schedule = loop.call_soon_threadsafe

    def close_and_schedule(*args: Any) -> Any:
        loop.close()
        return schedule(*args)

    monkeypatch.setattr(loop, "call_soon_threadsafe", close_and_schedule)
    failed: list[BaseException] = []

    def answer() -> None:
        try:
            host.enter(lambda: None)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=answer)
    thread.start()
    thread.join()
    assert loop.is_closed() and failed == []


def test_runs_steps_in_the_thread_in_which_their_loop_runs_by_now() -> None:
    loop = asyncio.new_event_loop()
    host = loop.run_until_complete(_host())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    ran_in: list[int | None] = []

    def note_and_stop() -> None:
        ran_in.append(threading.get_ident())
        loop.call_soon_threadsafe(loop.stop)

    host.enter(note_and_stop)
    thread.join(60)
    assert ran_in == [thread.ident]
    loop.close()


async def test_begins_steps_apart_in_the_order_of_the_calls_though_threads_start_in_any_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two writes of an attempt, the later must land last."""
    held: list[Job] = []
    began: list[int] = []

    def write(number: int) -> Steps[None]:
        began.append(number)
        yield from ()

    def start_both() -> Steps[None]:
        context: Any = SimpleNamespace(config=SimpleNamespace(journal="durable"))
        for number in (1, 2):
            yield from start_apart(context, write(number))

    monkeypatch.setattr(workers, "submit", held.append)
    await loop_host().run(start_both())
    for job in reversed(held):
        job()
    assert began == [1, 2]


Hold = Callable[[Callable[[], Steps[Any]]], Steps[Any]]


def one_lock() -> Hold:
    locks = MemoryLocks()
    return lambda work: locks.hold(["lock"], work)


def one_slot() -> Hold:
    slots = _Slots()
    slots._free = 1
    return lambda work: slots.hold(time.monotonic() + 60, work)


def held_by_a_thread(hold: Hold) -> tuple[threading.Thread, threading.Event]:
    """Returns once a thread holds it, until the event."""
    is_held, may_free = threading.Event(), threading.Event()

    def work() -> None:
        is_held.set()
        may_free.wait(60)

    holder = threading.Thread(target=lambda: threads.run(hold(lambda: call(work))))
    holder.start()
    is_held.wait(60)
    return holder, may_free


@pytest.mark.parametrize("made", [one_lock, one_slot])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_hands_a_lock_on_when_the_loop_closes_before_its_call_learns_that_it_has_the_lock(
    made: Callable[[], Hold],
) -> None:
    hold = made()
    holder, may_free = held_by_a_thread(hold)
    loop = asyncio.new_event_loop()

    async def wait() -> object:
        task = asyncio.ensure_future(loop_host().run(hold(lambda: done(None))))
        await asyncio.sleep(0)
        return task

    # The loop stands still from here on, and the call on it waits.
    task = loop.run_until_complete(wait())
    may_free.set()
    holder.join()
    loop.close()
    late = TimeoutError("It is not free.")
    threads.run(bounded(60_000, lambda: late, [], lambda _: hold(lambda: done(None))))
    del task


def test_cancels_the_timers_of_a_loop_only_in_its_own_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A timer of uvloop may not be cancelled elsewhere."""
    cancelled_in: set[int] = set()
    loop = asyncio.new_event_loop()
    call_later = loop.call_later

    def noting(*args: Any) -> Any:
        timer = call_later(*args)

        def cancel() -> None:
            cancelled_in.add(threading.get_ident())
            timer.cancel()

        return SimpleNamespace(cancel=cancel)

    monkeypatch.setattr(loop, "call_later", noting)
    hold = one_lock()
    holder, may_free = held_by_a_thread(hold)

    async def take() -> None:
        loop.call_soon(may_free.set)
        await loop_host().run(hold(lambda: done(None)))

    loop.run_until_complete(take())
    loop.close()
    holder.join()
    assert cancelled_in == {threading.get_ident()}
