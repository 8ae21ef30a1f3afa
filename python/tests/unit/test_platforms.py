"""What depends on the operating system."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from exact_change import ExactChangeError, file_journal, postgres_journal
from exact_change._journal.file.disk import create_file
from exact_change._kernel.hosts import threads


@pytest.mark.parametrize(
    "make", [lambda: file_journal(""), lambda: postgres_journal("postgresql://")]
)
def test_refuses_durable_journals_on_windows(
    make: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ExactChangeError, match="WSL") as caught:
        make()
    assert (caught.value.code, dict(caught.value.details)) == (
        "invalid_option",
        {"option": "journal"},
    )


def test_syncs_a_file_on_a_volume_of_macos_that_refuses_a_full_sync(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    synced: list[int] = []

    def refuse(*_: Any) -> Any:
        raise OSError("Operation not supported")

    file = create_file(str(tmp_path / "journal"))
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", synced.append)
    threads.run(file.sync())
    file.close()
    assert len(synced) == 1
