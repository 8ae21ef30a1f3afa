"""How long the terms last by which later calls are paid ahead."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from exact_change._payments.memory import Memory
from exact_change._payments.stable_terms import Charge, note_charge, stable_terms_of

MINUTE_MS = 60_000
CALL: Any = SimpleNamespace(asked_at="https://a.example/paid", method="GET", is_redirected=False)
TERMS: Any = {}


def test_hold_for_five_minutes_after_the_latest_came_and_not_if_the_clock_is_set_back() -> None:
    clock = 40_000 * MINUTE_MS
    config = SimpleNamespace(
        presign=("https://a.example",), runtime=SimpleNamespace(now=lambda: clock)
    )
    context: Any = SimpleNamespace(config=config, memory=Memory(), now=lambda: clock)
    reply: Any = SimpleNamespace(status=200, headers={})
    # Parallel calls may end in any order; the clock was set back after the first.
    for minute in (40_001, 40_000, 39_999):
        note_charge(context, CALL, Charge(TERMS, reply, minute * MINUTE_MS, reply))
    held: list[bool] = []
    for minutes in (0, 4, 5, -1):
        clock = (40_000 + minutes) * MINUTE_MS
        held.append(stable_terms_of(context, CALL) is not None)
    assert held == [True, True, False, False]
