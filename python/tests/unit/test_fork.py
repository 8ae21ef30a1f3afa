"""Forks beside turns and locks of other threads."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import pytest

from exact_change._journal import locks
from exact_change._journal.registry import wallet_of
from exact_change._kernel import turns
from exact_change._kernel.turns import run_turn

from ..payer import until


@pytest.mark.skipif(not hasattr(os, "fork"), reason="The system has no forks.")
def test_an_interrupt_of_a_fork_ends_no_turn_of_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    is_in, may_end, order = threading.Event(), threading.Event(), []

    def turn() -> None:
        is_in.set()
        may_end.wait(60)
        order.append("first")

    first = threading.Thread(target=lambda: run_turn(turn))
    first.start()
    is_in.wait(60)
    second = threading.Thread(target=lambda: run_turn(lambda: order.append("second")))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    main = threading.get_ident()

    def interrupt_the_wait() -> None:
        waits = turns._before_fork.__code__
        until("the fork waits", lambda: sys._current_frames()[main].f_code is waits)
        os.kill(os.getpid(), signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # It comes while the fork waits for the end of the first turn.
        threading.Thread(target=interrupt_the_wait, daemon=True).start()
        child = os.fork()
        if child == 0:
            os._exit(0)
    finally:
        signal.signal(signal.SIGALRM, before)
    os.waitpid(child, 0)
    second.start()
    second.join(0.5)
    may_end.set()
    first.join()
    second.join()
    assert order == ["first", "second"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="The system has no forks.")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_makes_the_wallets_of_a_child_though_another_thread_held_the_lock_of_all_locks() -> None:
    wallet_of("of the parent", "network")
    has_it, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with locks._all_lock:
            has_it.set()
            may_end.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    has_it.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0)
    # A child that waits for the lock never ends by itself.
    overdue = threading.Timer(60, os.kill, (child, signal.SIGKILL))
    overdue.start()
    _, status = os.waitpid(child, 0)
    overdue.cancel()
    may_end.set()
    holder.join()
    assert status == 0
