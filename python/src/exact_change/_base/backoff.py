"""How long an answer asks to be left alone, and how long is waited."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Callable

from .runtime import Runtime

# The longest that a retry waits, whatever it is asked to. Milliseconds.
MAX_WAIT_MS = 10_000
GetHeader = Callable[[str], "str | None"]


def asked_wait(header: GetHeader, now: int) -> int | None:
    """Milliseconds that an answer asks us to wait: ``Retry-After``, or ``x-ratelimit-reset``."""
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
    """Up to a quarter more, so that clients turned away together do not come back together."""
    return ms + ms * runtime.random_bytes(1)[0] / 1024
