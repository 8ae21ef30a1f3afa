"""Requests that wait for an address while it wants to be left alone."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._base.backoff import asked_wait
from .._base.headers import Headers
from .._base.runtime import Runtime
from .._kernel.fork import after_fork
from .._kernel.line import Line
from .._kernel.signals import Signal, check, follow
from .._kernel.steps import ensure, sleep, timer
from .._kernel.task import Steps
from .peer import rate_limited

# For a 429 that does not say how long it lasts.
_BRIEF_MS = 1_000
# No longer does one answer hold up all requests: it may be wrong.
_MAX_PAUSE_MS = 10_000
# Between the first two that leave after a pause: time for an answer, which may be the next 429.
_FIRST_GAP_MS = 100
# Each further gap is that much of the one before, so that a line of any length is gone in two
# seconds, and nothing is slowed down for good.
_SHRINK = 0.95
_LAST = re.compile("0|-[0-9]{1,12}")


class _Span(NamedTuple):
    at: int
    ms: float

    def left(self, runtime: Runtime) -> float:
        """A clock that is set back ends each wait."""
        passed = runtime.now() - self.at
        return 0 if passed < 0 else max(0, self.ms - passed)


class _Waiting:
    """Of one address and key: none of it leaves while the address wants to be left alone."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._line = Line()
        self._pause = _Span(0, 0)
        # For how long it asked, which may be longer than it is left alone.
        self._asked = _Span(0, 0)
        self._gap = _Span(0, 0)
        self._gap_ms: float = _FIRST_GAP_MS
        self._count = 0

    def is_over(self) -> bool:
        """None waits, and none that comes now would have to."""
        return self._count == 0 and self._ms_until_free() == 0

    def join(self, timeout_ms: float, signal: Signal | None) -> Steps[None]:
        check(signal)
        if self.is_over():
            return
        if self._pause.left(self._runtime) >= timeout_ms:
            raise self._refusal()
        own = follow(signal)
        call_off = yield from timer(timeout_ms, lambda: own.signal.abort(self._refusal()))
        self._count += 1

        def end() -> Steps[None]:
            self._count -= 1
            own.end()
            call_off()
            own.signal.abort()
            yield from ()

        turn = self._line.turn(lambda: self._admit(own.signal), own.signal)
        yield from ensure(turn, end)

    def pause(self, asked_ms: float) -> None:
        """Of several answers of one outage the one that asks for most counts."""
        now, runtime = self._runtime.now(), self._runtime
        ms = min(asked_ms, _MAX_PAUSE_MS)
        self._asked = _Span(now, max(asked_ms, self._asked.left(runtime)))
        self._pause = _Span(now, max(ms, self._pause.left(runtime)))
        self._gap_ms = _FIRST_GAP_MS

    def _ms_until_free(self) -> float:
        return max(self._pause.left(self._runtime), self._gap.left(self._runtime))

    def _refusal(self) -> Exception:
        return rate_limited(max(1, self._asked.left(self._runtime), self._ms_until_free()))

    def _admit(self, signal: Signal) -> Steps[None]:
        ms = self._ms_until_free()
        while ms > 0:
            yield from sleep(ms, signal)
            ms = self._ms_until_free()
        signal.check()
        self._gap = _Span(self._runtime.now(), self._gap_ms)
        self._gap_ms = int(self._gap_ms * _SHRINK)


class _Everywhere:
    def __init__(self) -> None:
        # By the clock that they wait by, and by address and key.
        self.lines: dict[tuple[Runtime, str, str], _Waiting] = {}


# There is none for an address that asked for no pause.
_everywhere = _Everywhere()
after_fork(_everywhere.__init__)  # type: ignore[misc]


class RetryAfterQueue:
    """Lets everything leave at once, until an answer asks for a pause.

    That is a 429, or one that says that it was the last of its window: then nothing leaves in this
    process, of whichever client of that address and key, for as long as the answer asks, 10 seconds
    at most. Requests leave in the order of asking, the first of them some way apart. One that has
    no time left before its turn, by the deadline of its own client, is refused with
    ``rate_limited``.
    """

    def __init__(self, address: str, api_key: str, timeout_ms: float, runtime: Runtime) -> None:
        self._key = (runtime, address, api_key)
        self._timeout_ms = timeout_ms
        self._runtime = runtime

    def take(self, signal: Signal | None) -> Steps[None]:
        waiting = _everywhere.lines.get(self._key)
        if waiting is not None:
            yield from waiting.join(self._timeout_ms, signal)

    def observe(self, status: int, headers: Headers) -> None:
        ms = _asked_pause(status, headers, self._runtime.now())
        if ms == 0:
            return
        lines = _everywhere.lines
        for key in [key for key, line in lines.items() if line.is_over()]:
            del lines[key]
        lines.setdefault(self._key, _Waiting(self._runtime)).pause(ms)


def _asked_pause(status: int, headers: Headers, now: int) -> float:
    asked = asked_wait(headers.get, now)
    if status == 429:
        return _BRIEF_MS if asked is None else asked
    remaining = (headers.get("x-ratelimit-remaining") or "").strip()
    return asked or 0 if _LAST.fullmatch(remaining) is not None else 0
