"""Holds requests to an address back while its answers ask for a pause."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._base.backoff import asked_wait
from .._base.headers import Headers
from .._base.runtime import Runtime
from .._http.asking import Limiter
from .._kernel.fork import after_fork
from .._kernel.released import released
from .._kernel.signals import Signal, check, follow
from .._kernel.steps import sleep, timer
from .._kernel.task import Steps
from .._kernel.work_queue import WorkQueue
from .peer import rate_limited

# Pause after a 429 that does not say how long it lasts.
_BRIEF_MS = 1_000
# Longest pause, because an answer may ask for too long a pause by mistake.
_MAX_PAUSE_MS = 10_000
# Gap between the first two requests after a pause: time for an answer, which may be a 429.
_FIRST_GAP_MS = 100
# Factor from each gap to the next. It ends a line of any length within two seconds, and slows down
# no request for good.
_SHRINK = 0.95
_LAST = re.compile("0|-[0-9]{1,12}")


class _Span(NamedTuple):
    # Milliseconds since the epoch.
    at: int
    ms: float

    def left(self, runtime: Runtime) -> float:
        """Returns the milliseconds that are left. If the clock is set back, all waits end."""
        passed = runtime.now() - self.at
        return 0 if passed < 0 else max(0, self.ms - passed)


class _WaitingLine:
    """Requests that wait for one address and key; no request leaves during a pause."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._line = WorkQueue()
        self._pause = _Span(0, 0)
        # The pause that the answers asked for, which may be longer than the pause that counts.
        self._asked = _Span(0, 0)
        # The gap after the last request.
        self._gap = _Span(0, 0)
        self._gap_ms: float = _FIRST_GAP_MS
        self._count = 0

    def is_over(self) -> bool:
        """Whether no request waits and a new request could leave at once."""
        return self._count == 0 and self._ms_until_free() == 0

    def join(self, timeout_ms: float, signal: Signal | None) -> Steps[None]:
        """Waits for a turn; raises ``rate_limited`` if it would come after the deadline."""
        check(signal)
        if self.is_over():
            return
        if self._pause.left(self._runtime) >= timeout_ms:
            raise self._refusal()
        follower = follow(signal)
        call_off = yield from timer(timeout_ms, lambda: follower.signal.abort(self._refusal()))
        self._count += 1

        def end() -> None:
            self._count -= 1
            follower.end()
            call_off()
            follower.signal.abort()

        turn = self._line.turn(lambda: self._admit(follower.signal), follower.signal)
        yield from released(turn, end)

    def pause(self, asked_ms: float) -> None:
        """Starts a pause. If several answers ask for a pause, the longest pause counts."""
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


class _Lines:
    def __init__(self) -> None:
        # Lines by the clock of their waits, then by address and key.
        self.lines: dict[tuple[Runtime, str, str | None], _WaitingLine] = {}


# A line exists only after a pause.
_lines = _Lines()
after_fork(_lines.__init__)  # type: ignore[misc]


class RetryAfterQueue(Limiter):
    """Lets every request leave at once, until an answer is a 429 or its window is used up.

    Then all clients of this address and key in this process pause. The answer tells how long, 10
    seconds at most. After a pause, requests leave in the order in which they ask, at first with
    gaps. A request that reaches its client's deadline (``timeout_ms``) before its turn is refused
    with ``rate_limited``.
    """

    def __init__(
        self, address: str, api_key: str | None, timeout_ms: float, runtime: Runtime
    ) -> None:
        self._key = (runtime, address, api_key)
        self._timeout_ms = timeout_ms
        self._runtime = runtime

    def take(self, signal: Signal | None) -> Steps[None]:
        waiting = _lines.lines.get(self._key)
        if waiting is not None:
            yield from waiting.join(self._timeout_ms, signal)

    def observe(self, status: int, headers: Headers) -> None:
        ms = _pause_of(status, headers, self._runtime.now())
        if ms == 0:
            return
        lines = _lines.lines
        for key in [key for key, line in lines.items() if line.is_over()]:
            del lines[key]
        lines.setdefault(self._key, _WaitingLine(self._runtime)).pause(ms)


def _pause_of(status: int, headers: Headers, now: int) -> float:
    """Returns the milliseconds of pause that an answer asks for."""
    asked_ms = asked_wait(headers.get, now)
    if status == 429:
        return _BRIEF_MS if asked_ms is None else asked_ms
    remaining = (headers.get("x-ratelimit-remaining") or "").strip()
    return asked_ms or 0 if _LAST.fullmatch(remaining) is not None else 0
