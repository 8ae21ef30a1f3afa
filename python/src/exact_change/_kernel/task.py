"""Steps under way: a task drives a generator from effect to effect."""

from __future__ import annotations

import threading
from typing import Any, Callable, Generator, Generic, Sequence, TypeVar, Union

from typing_extensions import Protocol

from .signals import void
from .workers import workers

T = TypeVar("T")


class Effect(Protocol):
    """A request of a step to its host. The answer comes by ``wake``, once, at once or later."""

    def begin(self, host: Host, wake: Wake) -> None:
        """Begins the effect, in a turn."""


class Immediate:
    """An effect that is answered at once."""

    __slots__ = ()

    def answer(self, host: Host) -> object:
        """Returns the answer, in a turn."""
        raise NotImplementedError


Steps = Generator[Union[Effect, Immediate], Any, T]


class Host(Protocol):
    """Runs tasks: in threads, or on an event loop."""

    @property
    def is_gone(self) -> bool:
        """Whether the event loop of the host is closed, so that nothing runs there any more."""
        ...

    def enter(self, work: Callable[[], None]) -> None:
        """Runs work in a turn on this host, soon; from any thread."""

    def later(self, ms: float, work: Callable[[], None]) -> Callable[[], None]:
        """Runs work in a turn after ``ms``; returns a function that cancels this."""
        ...

    def outside(self, work: Callable[[], None]) -> None:
        """Runs foreign code outside of a turn: it may block a thread, but not a loop."""

    def hook(self, ask: Callable[[], object], wake: Wake) -> Callable[[], None]:
        """Calls the caller's function or coroutine function; returns a function to give it up."""
        ...

    def await_(self, make: Callable[[], Any], wake: Wake) -> Callable[[], None]:
        """Awaits the result of ``make``, only on a loop; returns a function to give it up."""
        ...


class Task(Generic[T]):
    """Started steps: they go on, also if nothing waits for them."""

    __slots__ = ("_next", "_steps", "_then", "_value", "error", "host", "is_settled")

    def __init__(self, host: Host, steps: Steps[T]) -> None:
        self.host = host
        self._steps = steps
        # Whether the steps have returned or raised.
        self.is_settled = False
        self._value: T | None = None
        # The error that the steps raised.
        self.error: BaseException | None = None
        self._then: dict[int, Callable[[], None]] = {}
        self._next = 0

    def result(self) -> T:
        """Returns the value that the steps returned, or raises their error."""
        if self.error is not None:
            raise self.error
        return self._value  # type: ignore[return-value]

    def then(self, settled: Callable[[], None]) -> Callable[[], None]:
        """Calls ``settled`` in the turn in which the task ends; returns a function to cancel this.

        If the task has ended already, ``settled`` is called at once.
        """
        if self.is_settled:
            settled()
            return lambda: None
        self._next += 1
        key = self._next
        self._then[key] = settled
        return lambda: void(self._then.pop(key, None))

    def start(self) -> None:
        """Begins the steps, in a turn."""
        self.advance(None, None)

    def advance(self, value: Any, error: BaseException | None) -> None:
        """Resumes the steps with the answer to an effect, until an effect that has to wait."""
        steps = self._steps
        while True:
            try:
                effect = steps.send(value) if error is None else steps.throw(error)
            except StopIteration as end:
                return self._settle(end.value, None)
            except BaseException as failure:
                return self._settle(None, failure)
            if isinstance(effect, Immediate):
                try:
                    value, error = effect.answer(self.host), None
                except BaseException as failure:
                    value, error = None, failure
                continue
            wake = Wake(self)
            try:
                effect.begin(self.host, wake)
            except BaseException as failure:
                wake.fail(failure)
            wake.thread = 0
            if not wake.is_used:
                return None
            wake.forget()
            value, error = wake.value, wake.error

    def _settle(self, value: Any, error: BaseException | None) -> None:
        self._value, self.error, self.is_settled = value, error, True
        waiting, self._then = self._then, {}
        for then in waiting.values():
            then()


class Wake:
    """Resumes a task, once, from any thread."""

    __slots__ = ("error", "forgets", "is_used", "task", "thread", "unused", "value")

    def __init__(self, task: Task[Any]) -> None:
        self.task = task
        # The thread in which the effect begins, until it has begun: an answer from this thread
        # needs no turn of its own.
        self.thread = threading.get_ident()
        self.is_used = False
        # Functions that unregister this wake from its other sources.
        self.forgets: Sequence[Callable[[], None]] = ()
        # Gets a value that comes after the wake was used.
        self.unused: Callable[[Any], None] | None = None
        self.value: Any = None
        self.error: BaseException | None = None

    def __call__(self, value: object = None) -> None:
        """Resumes with a value."""
        self._end(value, None)

    def fail(self, error: BaseException) -> None:
        """Resumes with an error."""
        if isinstance(error, GeneratorExit):
            # The steps would take it for their own collection, and skip what must follow them.
            error = RuntimeError("The function raised GeneratorExit.")
        self._end(None, error)

    def give(self, back: Callable[[], None]) -> bool:
        """Resumes the task in a turn, and hands it a lock or a slot that the caller holds.

        Returns False if the task was resumed for another reason, or if its host is gone. Calls
        ``back`` in a turn if the event loop of the task closes before it resumes the task.
        """
        if self.is_used or self.task.host.is_gone:
            return False
        # From now on no signal can take it back.
        self.is_used = True
        workers.watch_graves()
        self.task.host.enter(_Handover(self, back))
        return True

    def run(self, work: Callable[[], object]) -> None:
        """Resumes with the value that work returns, or the error that it raises."""
        try:
            value = work()
        except BaseException as error:
            self.fail(error)
        else:
            self(value)

    def _end(self, value: object, error: BaseException | None) -> None:
        if self.thread == threading.get_ident():
            if not self.is_used:
                self.is_used, self.value, self.error = True, value, error
            return
        self.task.host.enter(lambda: self._resume(value, error))

    def _resume(self, value: object, error: BaseException | None) -> None:
        if self.is_used:
            if error is None and self.unused is not None:
                self.unused(value)
            return
        self.is_used = True
        self.forget()
        self.task.advance(value, error)

    def forget(self) -> None:
        """Unregisters the wake from its other sources, in the turn in which it is used."""
        forgets, self.forgets = self.forgets, ()
        for forget in forgets:
            forget()


class _Handover:
    """Resumes a task. If it is dropped before, as by a loop that closes, calls ``back``."""

    __slots__ = ("__weakref__", "_back", "_wake")

    def __init__(self, wake: Wake, back: Callable[[], None]) -> None:
        self._wake = wake
        self._back: Callable[[], None] | None = back

    def __call__(self) -> None:
        self._back = None
        # Only here, in the thread of the host: a timer of a loop belongs to that thread.
        self._wake.forget()
        self._wake.task.advance(None, None)

    def __del__(self) -> None:
        back = self._back
        if back is not None:
            workers.bury(back)


def begin(host: Host, steps: Steps[T]) -> Task[T]:
    """Starts steps in a turn of their own. It may be called from any thread."""
    task = Task(host, steps)
    host.enter(task.start)
    return task
