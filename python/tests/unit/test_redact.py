"""Secrets that threads hide while other threads write errors."""

from __future__ import annotations

import sys
import threading
from typing import Any, Dict, Iterator

import pytest

from exact_change._base import redact


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets threads take turns as often as possible, and forgets secrets early."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    monkeypatch.setattr(redact, "_MOST", 64)
    for name in ("_known", "_by_beginning"):
        monkeypatch.setattr(redact, name, {})
    yield
    sys.setswitchinterval(interval)


def test_hides_the_newest_keys_after_threads_hid_keys_while_others_wrote_errors() -> None:
    failures: list[BaseException] = []

    def hide_all(thread: int) -> None:
        try:
            for number in range(200):
                key = f"beginning-{thread}-{number}-of-a-key"
                redact.hide_key(key)
                redact.redact(f"{key}, beginning with " * 5)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=hide_all, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failures, len(redact._known)) == ([], 64)
    assert {redact.redact(key) for key in redact._known} == {redact.HIDDEN}


def test_hides_a_key_whose_spelling_a_forgotten_key_shared() -> None:
    redact.hide_key("ab%2Fcd-ef%2Fgh")
    redact.hide_key("ab/cd-ef/gh")
    for number in range(redact._MOST):
        assert redact.redact("ab/cd-ef/gh") == redact.HIDDEN
        redact.hide_key(f"key-{number}-of-a-customer")
    assert redact.redact("ab/cd-ef/gh") == "ab/cd-ef/gh"


def test_hides_the_only_key_while_it_is_hidden_again(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "only-key-of-a-customer"
    shown: list[str] = []

    class Known(Dict[str, Any]):
        def pop(self, *args: Any) -> Any:
            spellings = super().pop(*args)
            # As another thread may do now.
            shown.extend((redact.redact(key), str(redact.redact_error(RuntimeError(key)))))
            return spellings

    redact.hide_key(key)
    monkeypatch.setattr(redact, "_known", Known(redact._known))
    redact.hide_key(key)
    assert shown == [redact.HIDDEN, f"RuntimeError: {redact.HIDDEN}"]
