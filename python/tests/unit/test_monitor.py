"""The decision on a payment that two clients of one wallet follow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from exact_change._journal.registry import OpenPayment
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Signal
from exact_change._payments.reconcile import monitor
from exact_change._payments.reconcile.fate import Landed


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
    )

    def emit(*_: Any, **__: Any) -> Any:
        raise AssertionError("The other client has told of it.")

    assert threads.run(monitor.decide_payment(context, open_, emit, Signal()))
    assert open_.attempt == settled
