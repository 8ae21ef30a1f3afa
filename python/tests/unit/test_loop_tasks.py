"""Tasks of asyncio while their event loop ends, as by ``asyncio.run``."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from exact_change._kernel.hosts import loop_host
from exact_change._kernel.loop_tasks import awaited
from exact_change._kernel.steps import await_, done, quiet, sleep, start
from exact_change._kernel.task import Steps, begin
from exact_change._kernel.turns import is_in_turn, run_turn


async def never() -> None:
    await asyncio.Event().wait()


def test_starts_no_task_for_steps_whose_task_is_cancelled_when_a_loop_ends() -> None:
    """A loop that closes never ends such a task, and anyio keeps the task and its loop for ever."""
    tried: list[int] = []

    async def ask() -> None:
        tried.append(len(tried))
        await asyncio.Event().wait()

    def steps() -> Steps[None]:
        while True:
            yield from quiet(await_(ask))

    async def begin_and_end() -> None:
        begin(loop_host(), steps())
        await asyncio.sleep(0)

    asyncio.run(begin_and_end())
    assert tried == [0]


@pytest.mark.parametrize("rounds", range(8))
def test_leaves_no_task_pending_when_steps_go_on_in_any_round_of_the_end_of_a_loop(
    rounds: int,
) -> None:
    """The end cancels the tasks of its first round, and a request that has ended is no task."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def answer() -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)

    def steps() -> Steps[None]:
        yield from await_(answer)
        yield from quiet(await_(never))

    async def begin_and_end() -> None:
        loops.append(asyncio.get_running_loop())
        begin(loop_host(), steps())
        for _ in range(4):
            await asyncio.sleep(0)

    asyncio.run(begin_and_end())
    assert asyncio.all_tasks(loops[0]) == set()


async def test_starts_no_task_when_a_timer_is_due_after_a_loop_closed_its_generators() -> None:
    """The end waits for the threads of the loop after that, but for no more tasks."""
    has_asked = asyncio.Event()

    def steps() -> Steps[None]:
        yield from sleep(1)
        has_asked.set()
        yield from quiet(await_(never))

    begin(loop_host(), steps())
    await asyncio.get_running_loop().shutdown_asyncgens()
    await has_asked.wait()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_runs_calls_to_their_end_while_a_loop_closes_its_generators() -> None:
    """A generator of the caller may call from its ``finally``."""
    may_answer = asyncio.Event()

    async def answer() -> str:
        await may_answer.wait()
        return "answer"

    call = asyncio.ensure_future(loop_host().run(await_(answer)))
    await asyncio.sleep(0)
    await asyncio.get_running_loop().shutdown_asyncgens()
    may_answer.set()
    assert await call == "answer"
    assert await loop_host().run(await_(answer)) == "answer"


async def test_leaves_no_task_pending_after_the_last_call_of_a_loop_that_ends() -> None:
    await loop_host().run(done(None))
    await asyncio.get_running_loop().shutdown_asyncgens()
    await loop_host().run(start(await_(never)))
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_keeps_no_loop_that_closes_without_its_generators() -> None:
    async def use() -> None:
        await loop_host().run(done(None))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(use())
    loop.close()
    reference = weakref.ref(loop)
    del loop
    gc.collect()
    assert reference() is None


def test_begins_foreign_code_outside_of_a_turn_on_a_loop_with_eager_tasks() -> None:
    """Its code may block until another thread has had a turn."""
    began: list[bool] = []

    async def foreign() -> None:
        began.append(is_in_turn())

    coroutine = awaited(foreign)
    # A loop with eager tasks begins a coroutine as soon as its task is made.
    run_turn(lambda: coroutine.send(None))
    assert began == []
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert began == [False]
