"""Forks beside turns of other threads."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import pytest

from exact_change._kernel.turns import run_turn


@pytest.mark.skipif(not hasattr(os, "fork"), reason="The system has no forks.")
def test_an_interrupt_of_a_fork_ends_no_turn_of_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    is_in, may_end, order = threading.Event(), threading.Event(), []

    def turn() -> None:
        is_in.set()
        may_end.wait(20)
        order.append("first")

    first = threading.Thread(target=lambda: run_turn(turn))
    first.start()
    is_in.wait(20)
    second = threading.Thread(target=lambda: run_turn(lambda: order.append("second")))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # It comes while the fork waits for the end of the first turn.
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        child = os.fork()
        if child == 0:
            os._exit(0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    os.waitpid(child, 0)
    second.start()
    second.join(0.5)
    may_end.set()
    first.join()
    second.join()
    assert order == ["first", "second"]
