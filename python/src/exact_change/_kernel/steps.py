"""What steps are made of: waiting, starting, giving up, and giving others their turn."""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence, TypeVar

from .signals import Signal, check
from .task import Effect, Host, Immediate, Steps, Task, Wake
from .workers import workers

T = TypeVar("T")
U = TypeVar("U")
Forget = Callable[[], None]


class _Start(Immediate):
    __slots__ = ("steps",)

    def __init__(self, steps: Steps[Any]) -> None:
        self.steps = steps

    def answer(self, host: Host) -> Task[Any]:
        task = Task(host, self.steps)
        task.start()
        return task


class _Park:
    def __init__(self, register: Callable[[Host, Wake], Sequence[Forget]]) -> None:
        self.register = register

    def begin(self, host: Host, wake: Wake) -> None:
        wake.forgets = self.register(host, wake)


class _Timer(Immediate):
    __slots__ = ("ms", "then")

    def __init__(self, ms: float, then: Callable[[], None]) -> None:
        self.ms = ms
        self.then = then

    def answer(self, host: Host) -> Forget:
        return host.later(self.ms, self.then)


def park(register: Callable[[Host, Wake], Sequence[Forget]]) -> Effect:
    """Waits for a wake; ``register`` is told which, and says how to let go of what may wake it."""
    return _Park(register)


def start(steps: Steps[T]) -> Steps[Task[T]]:
    """Starts steps beside this one; they run until their first wait at once."""
    task: Task[T] = yield _Start(steps)
    return task


def background(steps: Steps[Any]) -> Steps[None]:
    """Starts steps that nothing waits for. They handle their own errors."""
    yield _Start(steps)


def fails_on(wake: Wake, signals: Sequence[Signal | None]) -> list[Forget]:
    """Wakes with the reason of the first signal that fires; returns how to call that off."""
    forgets: list[Forget] = []
    for signal in filter(None, signals):
        if signal.reason is not None:
            wake.fail(signal.reason)
        else:
            forgets.append(signal.on_abort(lambda one=signal: wake.fail(one.reason)))  # type: ignore[misc]
    return forgets


def join(task: Task[T], *signals: Signal | None) -> Steps[T]:
    """The outcome of a task, or the reason of the first signal. The task goes on."""
    if task.is_settled:
        for signal in signals:
            check(signal)
        return task.result()

    def register(_host: Host, wake: Wake) -> Sequence[Forget]:
        forgets = fails_on(wake, signals)
        return [*forgets, task.then(lambda: wake.run(task.result))]

    value: T = yield _Park(register)
    return value


def until_aborted(steps: Steps[T], signal: Signal | None) -> Steps[T]:
    """The outcome of steps, or the signal's reason if that comes first. The steps go on."""
    if signal is None:
        return (yield from steps)
    task = yield from start(steps)
    return (yield from join(task, signal))


def note_until_settled(noted: dict[Task[Any], T], task: Task[Any], value: T) -> None:
    """Keeps a value by its task until that has settled."""

    def forget() -> None:
        noted.pop(task, None)

    if not task.is_settled:
        noted[task] = value
        task.then(forget)


def bounded(
    ms: float,
    late: Callable[[], Exception],
    parents: Sequence[Signal | None],
    work: Callable[[Signal], Steps[T]],
) -> Steps[T]:
    """Runs work under a signal that fires with a parent, or with ``late()`` after ``ms``.

    It ends right then, whatever the work makes of its signal.
    """
    own = Signal()
    for parent in parents:
        check(parent)
    task = yield from start(work(own))
    if task.is_settled:
        return task.result()

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        return [
            *fails_on(wake, parents),
            host.later(ms, lambda: wake.fail(late())),
            task.then(lambda: wake.run(task.result)),
        ]

    try:
        value: T = yield _Park(register)
    except Exception as reason:
        # Of what it does at once one may have failed: the others end too.
        own.abort(reason)
        raise
    return value


def all_of(many: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Runs all at once: what they return, in order, or what the first of them raises."""
    tasks: list[Task[T]] = []
    for steps in many:
        tasks.append((yield from start(steps)))
    if all(task.is_settled for task in tasks):
        return [task.result() for task in tasks]

    def register(_host: Host, wake: Wake) -> Sequence[Forget]:
        left = sum(not task.is_settled for task in tasks)

        def settled(task: Task[T]) -> None:
            nonlocal left
            left -= 1
            if task.error is not None:
                wake.fail(task.error)
            elif left == 0:
                wake()

        for task in tasks:
            if task.error is not None:
                wake.fail(task.error)
                return []
        return [
            task.then(lambda one=task: settled(one))  # type: ignore[misc]
            for task in tasks
            if not task.is_settled
        ]

    yield _Park(register)
    return [task.result() for task in tasks]


def both(one: Steps[T], other: Steps[U]) -> Steps[tuple[T, U]]:
    """Runs two at once; see :func:`all_of`."""
    results: list[Any] = yield from all_of([one, other])
    return results[0], results[1]


def settled(task: Task[T]) -> Steps[T | Exception]:
    """What a task returns, or raises."""
    try:
        return (yield from join(task))
    except Exception as error:
        return error


def quiet(steps: Steps[T], otherwise: U = None) -> Steps[T | U]:  # type: ignore[assignment]
    """What steps return, or something else if they fail."""
    try:
        return (yield from steps)
    except Exception:
        return otherwise


def ensure(steps: Steps[T], then: Callable[[], Steps[Any]]) -> Steps[T]:
    """Runs ``then`` after steps, however they end: what ``finally`` is for code without effects.

    A generator that is collected is closed, and may not wait for anything then.
    """
    try:
        value = yield from steps
    except GeneratorExit:
        raise
    except BaseException:
        yield from then()
        raise
    yield from then()
    return value


def sleep(ms: float, *signals: Signal | None) -> Steps[None]:
    """Waits; raises the reason of the first signal that fires."""

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        return [*fails_on(wake, signals), host.later(ms, wake)]

    yield _Park(register)


def _begun(
    wake: Wake, signal: Signal | None, begin: Callable[[], Forget | None]
) -> Sequence[Forget]:
    """Begins what a signal gives up, unless that has fired. Returns how to let go."""
    forgets = fails_on(wake, [signal])
    own = None if wake.is_used else begin()
    return forgets if own is None else [*forgets, own]


def call(
    work: Callable[[], T],
    signal: Signal | None = None,
    unused: Callable[[T], None] | None = None,
) -> Steps[T]:
    """What blocking work returns, run in a thread.

    Given up, it goes on, and ``unused`` is called with what it returns then, in a turn.
    """

    def register(_host: Host, wake: Wake) -> Sequence[Forget]:
        wake.unused = unused
        return _begun(wake, signal, lambda: workers.submit(lambda: wake.run(work)))

    value: T = yield _Park(register)
    return value


def await_(make: Callable[[], Any], signal: Signal | None = None) -> Steps[Any]:
    """What an awaitable gives, on an event loop. Given up, it is cancelled."""

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        return _begun(wake, signal, lambda: host.await_(make, wake))

    return (yield _Park(register))


def hook(ask: Callable[..., object], *args: object, signal: Signal | None = None) -> Steps[Any]:
    """What code of the caller answers, be it a function or a coroutine function."""

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        return _begun(wake, signal, lambda: host.hook(functools.partial(ask, *args), wake))

    return (yield _Park(register))


def outside(work: Callable[[], None]) -> Steps[None]:
    """Runs work of others out of the turn, on the loop if there is one, and waits for it."""

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        host.outside(lambda: wake.run(work))
        return []

    yield _Park(register)


def done(value: T) -> Steps[T]:
    """Steps that are over at once."""
    return value
    yield  # pragma: no cover


def timer(ms: float, then: Callable[[], None]) -> Steps[Forget]:
    """Calls ``then`` in a turn after a while; returns how to call that off."""
    forget: Forget = yield _Timer(ms, then)
    return forget
