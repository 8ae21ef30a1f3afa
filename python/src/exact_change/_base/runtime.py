"""The clock and chance, injected so that tests own them."""

from __future__ import annotations

import os
import time
from typing import Callable, NamedTuple


class Runtime(NamedTuple):
    """Everything impure that steps need besides effects."""

    # Milliseconds since the epoch.
    now: Callable[[], int]
    random_bytes: Callable[[int], bytes]


system_runtime = Runtime(now=lambda: time.time_ns() // 1_000_000, random_bytes=os.urandom)


def since_then(runtime: Runtime, at: float) -> float:
    """Milliseconds since a moment; of a clock that was set back it is not known, so it is old."""
    passed = runtime.now() - at
    return float("inf") if passed < 0 else passed


def stopwatch(runtime: Runtime) -> Callable[[], int]:
    """Milliseconds since this was called: what the clock is set back by meanwhile is left out."""
    last, elapsed = runtime.now(), 0

    def read() -> int:
        nonlocal last, elapsed
        at = runtime.now()
        elapsed += max(0, at - last)
        last = at
        return elapsed

    return read
