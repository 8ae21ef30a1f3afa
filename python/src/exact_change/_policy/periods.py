"""Windows of caps, by name."""

from __future__ import annotations

HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
# In milliseconds; 0 for a single payment, None for ever.
PERIODS: dict[str, int | None] = {
    "payment": 0,
    "minute": 60 * 1000,
    "hour": HOUR_MS,
    "day": DAY_MS,
    "total": None,
}


def period_of(window_ms: int) -> str:
    """The name of a window, for people."""
    return next((name for name, ms in PERIODS.items() if ms == window_ms), f"{window_ms} ms")
