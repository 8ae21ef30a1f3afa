"""The clock and random bytes, injected so that tests control them."""

from __future__ import annotations

import os
import time
from typing import Callable, NamedTuple


class Runtime(NamedTuple):
    """The clock and the randomness that payment code uses."""

    # Milliseconds since the epoch.
    now: Callable[[], int]
    random_bytes: Callable[[int], bytes]


system_runtime = Runtime(now=lambda: time.time_ns() // 1_000_000, random_bytes=os.urandom)


def since_then(runtime: Runtime, at: float) -> float:
    """Returns the milliseconds since ``at``; infinity if the clock was set back since then.

    The true age is not known then, so data of that moment must count as old.
    """
    passed = runtime.now() - at
    return float("inf") if passed < 0 else passed


def stopwatch(runtime: Runtime) -> Callable[[], int]:
    """Returns a function that reads the milliseconds since now, and ignores a clock set back."""
    last, elapsed = runtime.now(), 0

    def read() -> int:
        nonlocal last, elapsed
        at = runtime.now()
        elapsed += max(0, at - last)
        last = at
        return elapsed

    return read
