"""The parts of steps: waiting, starting, giving up, and running code outside of a turn."""

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
    __slots__ = ("host", "steps")

    def __init__(self, steps: Steps[Any], host: Host | None = None) -> None:
        self.steps = steps
        self.host = host

    def answer(self, host: Host) -> Task[Any]:
        task = Task(self.host or host, self.steps)
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
    """Returns an effect that waits for a wake.

    ``register`` gets the wake, and returns functions that unregister it from its sources.
    """
    return _Park(register)


def start(steps: Steps[T], host: Host | None = None) -> Steps[Task[T]]:
    """Starts steps beside these, on any host; they run until their first wait at once."""
    task: Task[T] = yield _Start(steps, host)
    return task


def background(steps: Steps[Any]) -> Steps[None]:
    """Starts steps that nothing waits for. The steps must handle their own errors."""
    yield _Start(steps)


def fails_on(wake: Wake, signals: Sequence[Signal | None]) -> list[Forget]:
    """Wakes with the reason of the first signal that fires; returns functions that cancel this."""
    forgets: list[Forget] = []
    for signal in filter(None, signals):
        if signal.reason is not None:
            wake.fail(signal.reason)
        else:
            forgets.append(signal.on_abort(lambda fired=signal: wake.fail(fired.reason)))  # type: ignore[misc]
    return forgets


def join(task: Task[T], *signals: Signal | None) -> Steps[T]:
    """Returns the result of a task, or raises the reason of the first signal that fires.

    The task goes on.
    """
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
    """Returns the result of steps, or raises the signal's reason if the signal fires first.

    The steps go on.
    """
    if signal is None:
        return (yield from steps)
    task = yield from start(steps)
    return (yield from join(task, signal))


def note_until_settled(noted: dict[Task[Any], T], task: Task[Any], value: T) -> None:
    """Keeps a value by its task until the task has settled."""

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

    Raises the reason as soon as the signal fires, even if the work ignores the signal.
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
        # The reason may be an error of one part of the work: end the other parts too.
        own.abort(reason)
        raise
    return value


def all_of(many: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Runs all steps at once; returns their results in order, or raises the first error."""
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
            task.then(lambda ended=task: settled(ended))  # type: ignore[misc]
            for task in tasks
            if not task.is_settled
        ]

    yield _Park(register)
    return [task.result() for task in tasks]


def both(first: Steps[T], second: Steps[U]) -> Steps[tuple[T, U]]:
    """Runs two steps at once; see :func:`all_of`."""
    results: list[Any] = yield from all_of([first, second])
    return results[0], results[1]


def settled(task: Task[T]) -> Steps[T | Exception]:
    """Returns the result of a task, or the error that it raised."""
    try:
        return (yield from join(task))
    except Exception as error:
        return error


def quiet(steps: Steps[T], otherwise: U = None) -> Steps[T | U]:  # type: ignore[assignment]
    """Returns the result of steps, or ``otherwise`` if they fail."""
    try:
        return (yield from steps)
    except Exception:
        return otherwise


def ensure(steps: Steps[T], then: Callable[[], Steps[Any]]) -> Steps[T]:
    """Runs ``then`` after steps, however they end: a ``finally`` that may yield effects.

    A collected generator is closed, and a closed generator may not wait: it skips ``then``.
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
    """Waits ``ms`` milliseconds; raises the reason of the first signal that fires."""
    yield _Park(lambda host, wake: [*fails_on(wake, signals), host.later(ms, wake)])


def _begun(
    wake: Wake, signal: Signal | None, begin: Callable[[], Forget | None]
) -> Sequence[Forget]:
    """Begins work that a signal can give up, unless the signal has fired.

    Returns functions that unregister the wake.
    """
    forgets = fails_on(wake, [signal])
    give_up = None if wake.is_used else begin()
    return forgets if give_up is None else [*forgets, give_up]


def call(
    work: Callable[[], T],
    signal: Signal | None = None,
    unused: Callable[[T], None] | None = None,
) -> Steps[T]:
    """Runs blocking work in a thread; returns its result.

    If the signal fires, the work goes on, and ``unused`` gets its result in a turn.
    """

    def register(_host: Host, wake: Wake) -> Sequence[Forget]:
        wake.unused = unused
        return _begun(wake, signal, lambda: workers.submit(lambda: wake.run(work)))

    value: T = yield _Park(register)
    return value


def await_(
    make: Callable[[], Any],
    signal: Signal | None = None,
    unused: Callable[[Any], None] | None = None,
) -> Steps[Any]:
    """Returns the result of an awaitable, on an event loop. If the signal fires, cancels it.

    If it has just ended by then, ``unused`` gets its result in a turn.
    """

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        wake.unused = unused
        return _begun(wake, signal, lambda: host.await_(make, wake))

    return (yield _Park(register))


def hook(ask: Callable[..., object], *args: object, signal: Signal | None = None) -> Steps[Any]:
    """Returns the answer of the caller's function or coroutine function."""
    asking = functools.partial(ask, *args)
    return (yield _Park(lambda host, wake: _begun(wake, signal, lambda: host.hook(asking, wake))))


def outside(work: Callable[[], None]) -> Steps[None]:
    """Runs foreign code outside of the turn, on the loop if there is one, and waits for it."""

    def register(host: Host, wake: Wake) -> Sequence[Forget]:
        host.outside(lambda: wake.run(work))
        return []

    yield _Park(register)


def done(value: T) -> Steps[T]:
    """Returns steps that end at once with a value."""
    return value
    yield  # pragma: no cover


def timer(ms: float, then: Callable[[], None]) -> Steps[Forget]:
    """Calls ``then`` in a turn after ``ms``; returns a function that cancels this."""
    forget: Forget = yield _Timer(ms, then)
    return forget
