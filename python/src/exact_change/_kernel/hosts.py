"""The two hosts: threads, and an event loop of asyncio."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
import weakref
from collections import deque
from typing import Any, Callable, TypeVar

from .loop_tasks import LoopTasks, running_loop
from .scoped import GiveUp, Scoped, cancel
from .signals import Aborted, Signal, void
from .task import Host, Immediate, Steps, Task, Wake, begin
from .turns import is_in_turn, run_turn
from .workers import nothing, workers

T = TypeVar("T")


class ThreadHost:
    """Runs tasks in worker threads; the caller's thread waits."""

    is_gone = False

    def enter(self, work: Callable[[], None]) -> None:
        if workers.is_here or is_in_turn():
            run_turn(work)
        else:
            workers.submit(lambda: run_turn(work))

    def later(self, ms: float, work: Callable[[], None]) -> Callable[[], None]:
        return workers.later(ms / 1000, lambda: run_turn(work))

    def outside(self, work: Callable[[], None]) -> None:
        workers.submit(work)

    def hook(self, ask: Callable[[], object], wake: Wake) -> Callable[[], None]:
        workers.submit(lambda: wake.run(lambda: _no_awaitable(ask())))
        # A thread cannot be cancelled, and its answer is dropped.
        return nothing

    def await_(self, make: Callable[[], Any], wake: Wake) -> Callable[[], None]:
        raise TypeError("There is no event loop.")

    def run(
        self,
        steps: Steps[T],
        signal: Signal | None = None,
        unused: Callable[[T], None] | None = None,
    ) -> T:
        """Runs steps to their end. An interrupt of the wait fires the signal, and is raised.

        If the steps return a value all the same, ``unused`` gets it in a worker thread.
        """
        ended = threading.Event()
        task = Task(self, steps)
        if signal is not None and running_loop() is not None:
            signal.blocks = loop_host()
        if sys.is_finalizing():
            # No thread runs any more: the process ends like a killed process.
            return task.result()
        if is_in_turn():
            # Garbage collection closes a generator of the caller, in code of the library. A wait
            # would stop the turn that the steps need, and so every payment of the process.
            self.enter(task.start)
            return task.result()
        task.then(ended.set)
        try:
            self.enter(task.start)
            ended.wait()
            if task.error is None:
                return task.result()
        except BaseException:

            def drop() -> None:
                if unused is not None and task.error is None:
                    workers.submit(functools.partial(unused, task.result()))

            self._in_worker(lambda: _give_up(task, signal, drop))
            raise
        return task.result()

    def fire(self, signal: Signal) -> None:
        """Fires the signal of a caller that has given up."""
        self._in_worker(lambda: signal.abort(Aborted()))

    def _in_worker(self, work: Callable[[], None]) -> None:
        """Runs work in a turn of a worker, which no interrupt stops halfway, and waits for it."""
        done = threading.Event()

        def work_and_tell() -> None:
            work()
            done.set()

        workers.submit(lambda: run_turn(work_and_tell))
        done.wait()


class LoopHost:
    """Runs tasks on one event loop of asyncio."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # A weak reference: the host must not keep the loop alive.
        self._loop = weakref.ref(loop)
        # Entered work. Only the loop holds it, and drops it if it closes: see `_Handover`.
        self._entered: deque[weakref.ref[Callable[[], None]]] = deque()
        self._tasks = LoopTasks()

    @property
    def is_gone(self) -> bool:
        loop = self._loop()
        return loop is None or loop.is_closed()

    def enter(self, work: Callable[[], None]) -> None:
        loop = self._loop()
        # Steps that went on after their loop closed could not wait, and would retry for ever.
        if loop is None or loop.is_closed():
            return
        # Not by the thread: a loop may go on in another thread than before.
        if running_loop() is loop:
            run_turn(work)
            return
        self._entered.append(weakref.ref(work))
        try:
            loop.call_soon_threadsafe(self._catch_up, work)
        except RuntimeError:
            # The loop's thread may have closed the loop a moment ago.
            if not loop.is_closed():
                raise

    def _catch_up(self, _latest: Callable[[], None] | None = None) -> None:
        """Runs all work that was entered so far, in its order."""
        while self._entered:
            run_turn(self._entered.popleft()() or nothing)

    def later(self, ms: float, work: Callable[[], None]) -> Callable[[], None]:
        return self._running().call_later(ms / 1000, run_turn, work).cancel

    def outside(self, work: Callable[[], None]) -> None:
        self._running().call_soon(work)

    def hook(self, ask: Callable[[], object], wake: Wake) -> Callable[[], None]:
        if not inspect.iscoroutinefunction(inspect.unwrap(ask)):
            # A plain function may block: a signer may ask a device, a person or another server.
            workers.submit(lambda: self._answer(ask, wake))
            return nothing
        return self._await(ask, wake, cancel)

    def await_(self, make: Callable[[], Any], wake: Wake) -> Callable[[], None]:
        scoped = Scoped(make)
        return self._await(scoped.run, wake, scoped.give_up)

    def _await(self, make: Callable[[], Any], wake: Wake, give_up: GiveUp) -> Callable[[], None]:
        def fail_late() -> Callable[[], None]:
            # If the loop ends, it closes before this is due. Steps may ask again at once.
            return self.later(1_000, lambda: wake.fail(Aborted()))

        def end(done: asyncio.Future[Any]) -> None:
            if not done.cancelled():
                wake.run(done.result)
            elif not wake.is_used:
                fail_late()

        if self._tasks.is_over:
            return fail_late()
        task = self._tasks.begin(self._running(), make)
        task.add_done_callback(end)
        return lambda: void(give_up(task))

    async def run(
        self,
        steps: Steps[T],
        signal: Signal | None = None,
        unused: Callable[[T], Steps[Any]] | None = None,
    ) -> T:
        """Runs steps to their end. A cancellation fires the signal, and is raised at once.

        If the steps return a value all the same, ``unused`` gets it, and its steps are started.
        """
        workers.watch_graves()
        ended: asyncio.Future[None] = self._running().create_future()
        task = Task(self, steps)
        task.then(lambda: None if ended.done() else ended.set_result(None))

        def start() -> None:
            # Another thread may have dug a grave of this loop.
            self._catch_up()
            run_turn(task.start)

        with self._tasks.call():
            run_turn(start)
            try:
                await ended
            except BaseException as error:

                def drop() -> None:
                    if unused is not None and task.error is None:
                        begin(self, unused(task.result()))

                _end_in_turn(error, lambda: _give_up(task, signal, drop))
                raise
        await self._tasks.end()
        return task.result()

    def fire(self, signal: Signal, error: BaseException) -> None:
        """Fires the signal of a caller that has given up with an error."""
        _end_in_turn(error, lambda: signal.abort(Aborted()))

    def _answer(self, ask: Callable[[], object], wake: Wake) -> None:
        try:
            answer = ask()
        except BaseException as error:
            wake.fail(error)
            return
        if inspect.isawaitable(answer):
            self.enter(lambda: void(self._await(lambda: answer, wake, cancel)))
        else:
            wake(answer)

    def _running(self) -> asyncio.AbstractEventLoop:
        loop = self._loop()
        if loop is None:
            raise RuntimeError("The event loop is gone.")
        return loop


def _give_up(task: Task[Any], signal: Signal | None, drop: Callable[[], None]) -> None:
    """Fires the signal of a task that nothing waits for. The task may have just ended."""
    task.then(drop)
    if signal is not None:
        signal.abort(Aborted())


def _end_in_turn(error: BaseException, work: Callable[[], None]) -> None:
    """Runs work in a turn, after an error ended a coroutine."""
    if isinstance(error, GeneratorExit):
        # A finalizer closes the coroutine, in any code, whatever lock its thread holds.
        workers.bury(work)
    else:
        run_turn(work)


threads = ThreadHost()
_hosts: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopHost] = weakref.WeakKeyDictionary()


def this_loop() -> asyncio.AbstractEventLoop:
    """Returns the loop of asyncio that runs in this thread."""
    loop = running_loop()
    if loop is None:
        raise RuntimeError(
            "An asynchronous client needs a running event loop of asyncio; trio has none."
            " Use a Client, in a thread."
        )
    return loop


def loop_host() -> LoopHost:
    loop = this_loop()
    host = _hosts.get(loop)
    if host is None:
        host = _hosts[loop] = LoopHost(loop)
    return host


def forget_closed(
    by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any],
) -> None:
    """Drops the values of closed loops: their connections keep their loop, and so themselves."""
    for reference in by_loop.keyrefs():
        loop = reference()
        if loop is not None and loop.is_closed():
            by_loop.pop(loop, None)


class _Here(Immediate):
    __slots__ = ()

    def answer(self, host: Host) -> Host:
        return host


def this_host() -> Steps[Host]:
    """Returns the host that runs these steps."""
    host: Host = yield _Here()
    return host


def _no_awaitable(answer: object) -> object:
    if not inspect.isawaitable(answer):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    raise TypeError("It returned an awaitable: use an AsyncClient with it.")
