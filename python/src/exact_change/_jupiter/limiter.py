"""Limits the requests to Jupiter's own address, in a window of 60 seconds."""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

from .._base.headers import Headers
from .._base.runtime import Runtime
from .._base.urls import parse_address
from .._http.asking import Limiter
from .._kernel.signals import Signal, check, is_low_priority
from .._kernel.steps import sleep
from .._kernel.task import Steps
from .._kernel.work_queue import WorkQueue
from .retry_after import RetryAfterQueue

_WINDOW_MS = 60_000
_MAX_PAUSE_MS = 60_000
_COUNT = re.compile("-?[0-9]{1,12}")


class Rate(NamedTuple):
    """A limit on requests."""

    # Requests in any 60 seconds.
    per_window: int
    # Requests that may leave at once.
    burst: int

    def share_of_second(self) -> Rate:
        """Returns the rate of the second line.

        It is the slower rate in every respect. So no low-priority request leaves while a request of
        the first line waits.
        """
        return Rate(max(1, self.per_window - self.burst), max(1, self.burst // 2))


# jupiter.md 1.3: 0.5 requests a second without a key, 1 on the smallest plan with a key.
_KEYLESS = Rate(30, 5)
_WITH_KEY = Rate(60, 10)


def jupiter_limiter(
    base_url: str, api_key: str | None, timeout_ms: float, runtime: Runtime
) -> Limiter:
    """Returns the limiter for a Jupiter address: a sliding window for api.jup.ag itself.

    For any other address, requests only pause when its answers ask for a pause. ``timeout_ms`` is
    the client's deadline of each request.
    """
    url = parse_address(base_url)
    if url is None or url.hostname != "api.jup.ag":
        return RetryAfterQueue(base_url, api_key, timeout_ms, runtime)
    learns = api_key is not None
    return WindowLimiter(_WITH_KEY if learns else _KEYLESS, runtime, learns=learns)


class WindowLimiter(Limiter):
    """A sliding window of 60 seconds.

    ``burst`` requests may leave at once, then one request each ``60 s / per_window``, and never
    more than ``per_window`` in any window. Requests leave in the order in which they ask.
    Low-priority requests wait in a second line, so that the first line never waits for them: half
    of the burst and the last ``burst`` of a window are not for the second line. With ``learns``,
    the limit of a larger plan is read from the answers.
    """

    def __init__(self, initial: Rate, runtime: Runtime, *, learns: bool) -> None:
        self._rate = initial
        self._runtime = runtime
        self._learns = learns
        # Milliseconds since the epoch at which each request of the window left.
        self._sent: list[int] = []
        self._paused_until = 0
        self._first = WorkQueue()
        self._second = WorkQueue()

    def take(self, signal: Signal | None) -> Steps[None]:
        is_second = is_low_priority(signal)
        line = self._second if is_second else self._first
        return line.turn(lambda: self._admit(is_second, signal), signal)

    def observe(self, status: int, headers: Headers) -> None:
        names = ("remaining", "current", "reset")
        remaining, current, reset = (_count(headers.get(f"x-ratelimit-{name}")) for name in names)
        if self._learns and remaining is not None and current is not None:
            per_window = remaining + current
            if 0 < per_window <= 100_000:
                self._rate = Rate(per_window, max(5, per_window // 6))
        is_last = remaining is not None and remaining <= 0
        if reset is not None and (status == 429 or is_last):
            self._paused_until = min(reset * 1000, self._runtime.now() + _MAX_PAUSE_MS)

    def _admit(self, is_second: bool, signal: Signal | None) -> Steps[None]:
        ms = self._ms_until_free(is_second)
        while ms > 0:
            yield from sleep(ms, signal)
            ms = self._ms_until_free(is_second)
        check(signal)
        self._sent.append(self._runtime.now())

    def _ms_until_free(self, is_second: bool) -> float:
        rate = self._rate.share_of_second() if is_second else self._rate
        now = self._runtime.now()
        # If the clock is set back, all waits end.
        self._sent = [at for at in self._sent if now - _WINDOW_MS < at <= now]
        if self._paused_until > now + _MAX_PAUSE_MS:
            self._paused_until = 0
        waits = (
            self._paused_until - now,
            _window_wait(self._sent, rate, now),
            _bucket_wait(self._sent, rate, now),
        )
        return max(0, *waits)


def _window_wait(sent: Sequence[int], rate: Rate, now: int) -> float:
    if len(sent) < rate.per_window:
        return 0
    return sent[-rate.per_window] + _WINDOW_MS - now


def _bucket_wait(sent: Sequence[int], rate: Rate, now: int) -> float:
    """Returns the wait for a bucket of ``burst`` requests that refills at the window's rate."""
    ms_each = _WINDOW_MS / rate.per_window
    # The time at which the bucket would be full again if no more requests were sent.
    full_at = 0.0
    for at in sent:
        full_at = max(full_at, at) + ms_each
    return max(0.0, full_at - now - (rate.burst - 1) * ms_each)


def _count(text: str | None) -> int | None:
    value = (text or "").strip()
    return int(value) if _COUNT.fullmatch(value) is not None else None
