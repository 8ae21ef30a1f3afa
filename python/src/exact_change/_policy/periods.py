"""The time windows of caps, by name."""

from __future__ import annotations

HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
# Milliseconds; 0 means a single payment, None means all time.
PERIODS: dict[str, int | None] = {
    "payment": 0,
    "minute": 60 * 1000,
    "hour": HOUR_MS,
    "day": DAY_MS,
    "total": None,
}


def period_of(window_ms: int) -> str:
    """Returns the name of a window, for people."""
    return next((name for name, ms in PERIODS.items() if ms == window_ms), f"{window_ms} ms")
