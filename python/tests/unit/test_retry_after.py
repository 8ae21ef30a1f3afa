"""Requests of threads and event loops that wait for one address after a 429."""

from __future__ import annotations

import asyncio
import threading

import pytest

from exact_change._base.headers import Headers
from exact_change._base.runtime import system_runtime
from exact_change._jupiter.retry_after import RetryAfterQueue, _lines
from exact_change._kernel.hosts import loop_host, threads

from ..payer import until


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_lets_requests_leave_after_a_pause_in_which_the_loop_of_an_earlier_request_closed() -> None:
    # The pause does not end before both wait.
    stopped_at = [system_runtime.now()]
    runtime = system_runtime._replace(now=lambda: (stopped_at or [system_runtime.now()])[0])
    queue = RetryAfterQueue("https://jupiter.test", "", 60_000, runtime)
    queue.observe(429, Headers())
    loop = asyncio.new_event_loop()

    async def wait() -> object:
        task = asyncio.ensure_future(loop_host().run(queue.take(None)))
        await asyncio.sleep(0)
        return task

    task = loop.run_until_complete(wait())
    failures: list[BaseException] = []

    def take() -> None:
        try:
            threads.run(queue.take(None))
        except BaseException as failure:
            failures.append(failure)

    second = threading.Thread(target=take)
    second.start()
    until("both wait", lambda: _lines.lines[queue._key]._count == 2)
    loop.close()
    stopped_at.clear()
    second.join()
    assert failures == []
    take()
    assert failures == []
    del task
