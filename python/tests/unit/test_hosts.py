"""Where steps run: nothing goes on where an event loop was closed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from exact_change._kernel.hosts import LoopHost, loop_host
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import quiet, sleep
from exact_change._kernel.task import Steps


async def _host() -> LoopHost:
    return loop_host()


def test_a_call_that_is_collected_after_its_loop_was_closed_goes_on_no_more() -> None:
    tried: list[int] = []

    def steps(signal: Signal) -> Steps[None]:
        # What is followed in the background tries again after any failure.
        while len(tried) < 3:
            tried.append(len(tried))
            yield from quiet(sleep(10_000, signal))

    signal = Signal()
    loop = asyncio.new_event_loop()
    host = loop.run_until_complete(_host())
    call = host.run(steps(signal), signal)
    # As a task begins it.
    call.send(None)
    loop.close()
    call.close()
    assert tried == [0]


def test_a_loop_that_is_closed_while_another_thread_answers_fails_nothing_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.new_event_loop()
    host = loop.run_until_complete(_host())
    soon = loop.call_soon_threadsafe

    def too_late(*given: Any) -> Any:
        loop.close()
        return soon(*given)

    monkeypatch.setattr(loop, "call_soon_threadsafe", too_late)
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
