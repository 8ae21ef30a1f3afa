"""How an open payment is followed, and decided by two clients of one wallet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from exact_change._journal.registry import OpenPayment
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.task import Steps
from exact_change._payments.reconcile import monitor
from exact_change._payments.reconcile.fate import Landed
from exact_change.errors import failure

from ..payer import until


def test_keeps_its_receipt_if_the_journal_answers_with_an_older_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signed: Any = {
        "id": "a",
        "state": "signed",
        "at": 1,
        "payment": {"source": "source"},
        "receipt": {"state": "uncertain"},
    }
    settled: Any = {**signed, "state": "settled", "receipt": {"state": "settled"}}
    open_ = OpenPayment(signed, is_shared=True)

    def attempts(*_: Any, **__: Any) -> Any:
        # Meanwhile the other client closes the attempt.
        open_.attempt = settled
        yield from ()
        return [signed]

    def fate_of(*_: Any) -> Any:
        yield from ()
        return Landed("tx", 7, None)

    monkeypatch.setattr(monitor, "fate_of", fate_of)
    monkeypatch.setattr(monitor, "sent_payment", lambda *_: None)
    context: Any = SimpleNamespace(
        config=SimpleNamespace(timeouts=SimpleNamespace(payment=60_000)),
        histories=None,
        journal=SimpleNamespace(attempts=attempts),
        owner=None,
        wallet=SimpleNamespace(monitored={}),
    )

    def emit(*_: Any, **__: Any) -> Any:
        raise AssertionError("The other client has told of it.")

    assert threads.run(monitor.decide_payment(context, open_, emit, Signal()))
    assert open_.attempt == settled


_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS


def looks_of_a_day(
    monkeypatch: pytest.MonkeyPatch, *, is_forgotten: bool = False, answers_from: float = 0
) -> list[float]:
    """Follows a payment that no node decides for a day; returns when the nodes were asked."""
    now, closing = 0.0, Signal()
    looks: list[float] = []

    def nothing(*_: Any, **__: Any) -> Steps[None]:
        yield from ()

    def decide_payment(*_: Any) -> Steps[bool]:
        looks.append(now)
        yield from ()
        if now < answers_from:
            raise failure("rpc_unavailable", "No node answers.")
        return False

    def forgotten(*_: Any) -> Steps[bool]:
        yield from ()
        return is_forgotten

    def sleep(ms: float, *_: Signal) -> Steps[None]:
        nonlocal now
        now += ms
        if now >= _DAY_MS:
            closing.abort(RuntimeError("over"))
        yield from ()

    monkeypatch.setattr(monitor, "decide_payment", decide_payment)
    monkeypatch.setattr(monitor, "is_forgotten", forgotten)
    monkeypatch.setattr(monitor, "sent_payment", lambda *_: None)
    monkeypatch.setattr(monitor, "sleep", sleep)
    context: Any = type("Context", (), {})()
    context.wallet = SimpleNamespace(monitored={})
    context.closing = closing
    context.ledger = SimpleNamespace(spend=nothing)
    signed: Any = {"id": "a", "state": "signed", "at": 0, "payment": {"source": "source"}}
    following = monitor.monitor_payment(context, OpenPayment(signed), nothing)
    task = threads.run(following)
    until("the client is closed", lambda: task.is_settled)
    return looks


def test_asks_ever_less_often_about_a_payment_that_no_node_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = looks_of_a_day(monkeypatch)
    assert len([at for at in looks if at < 10 * _MINUTE_MS]) > 50
    assert len(looks) < 600


def test_asks_once_an_hour_about_a_payment_that_no_node_remembers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(looks_of_a_day(monkeypatch, is_forgotten=True)) < 30


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_asks_within_seconds_of_the_end_of_an_outage_of_hours(
    monkeypatch: pytest.MonkeyPatch, is_forgotten: bool
) -> None:
    end = _DAY_MS / 4 + _MINUTE_MS
    looks = looks_of_a_day(monkeypatch, is_forgotten=is_forgotten, answers_from=end)
    answered = [at for at in looks if at >= end]
    assert answered[0] < end + _MINUTE_MS / 4
