"""How long a server asks clients to wait, and how long this library waits."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Callable

from .runtime import Runtime

# A retry waits at most this long, even if the server asks for more. Milliseconds.
MAX_WAIT_MS = 10_000
GetHeader = Callable[[str], "str | None"]


def asked_wait(header: GetHeader, now: int) -> int | None:
    """Returns the milliseconds that a response asks to wait; None if it does not ask.

    Reads ``Retry-After`` (seconds or a date), or Jupiter's ``x-ratelimit-reset`` (unix seconds).
    """
    after = (header("retry-after") or "").strip()
    if re.fullmatch("[0-9]{1,9}", after):
        return int(after) * 1000
    if after and not re.fullmatch("-?[0-9.]+", after):
        try:
            return max(0, int(parsedate_to_datetime(after).timestamp() * 1000) - now)
        except (TypeError, ValueError, OverflowError):
            pass
    reset = (header("x-ratelimit-reset") or "").strip()
    return max(0, int(reset) * 1000 - now) if re.fullmatch("[0-9]{1,12}", reset) else None


def with_jitter(ms: float, runtime: Runtime) -> float:
    """Adds up to a quarter at random, so that clients refused together do not retry together."""
    return ms + ms * runtime.random_bytes(1)[0] / 1024
