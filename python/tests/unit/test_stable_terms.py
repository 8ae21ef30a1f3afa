"""How long the terms last by which later calls are paid ahead."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from exact_change._payments.memory import Memory
from exact_change._payments.stable_terms import (
    Charge,
    forget_stable_terms,
    note_charge,
    stable_terms_of,
)

MINUTE_MS = 60_000
CALL: Any = SimpleNamespace(asked_at="https://a.example/paid", method="GET", is_redirected=False)
TERMS: Any = {}


def context_at(clock: list[int]) -> Any:
    """Returns a context with a clock that the test sets."""
    runtime = SimpleNamespace(now=lambda: clock[0])
    config = SimpleNamespace(presign=("https://a.example",), runtime=runtime)
    return SimpleNamespace(config=config, memory=Memory(), now=runtime.now)


def note(context: Any, at: int) -> None:
    reply: Any = SimpleNamespace(status=200, headers={})
    note_charge(context, CALL, Charge(TERMS, reply, at, reply))


def test_hold_for_five_minutes_after_the_latest_came_and_not_if_the_clock_is_set_back() -> None:
    clock = [40_000 * MINUTE_MS]
    context = context_at(clock)
    # Parallel calls may end in any order; the clock was set back after the first.
    for minute in (40_001, 40_000, 39_999):
        note(context, minute * MINUTE_MS)
    held: list[bool] = []
    for minutes in (0, 4, 5, -1):
        clock[0] = (40_000 + minutes) * MINUTE_MS
        held.append(stable_terms_of(context, CALL) is not None)
    assert held == [True, True, False, False]


def test_do_not_come_back_by_a_parallel_call_that_got_them_before_they_were_forgotten() -> None:
    context = context_at([2_000])
    note(context, 1_000)
    forget_stable_terms(context, CALL)
    note(context, 1_999)
    assert stable_terms_of(context, CALL) is None
    note(context, 2_000)
    assert stable_terms_of(context, CALL) is not None
