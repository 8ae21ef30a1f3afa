"""Mistakes of a caller that uses the client for the first time."""

from __future__ import annotations

from pathlib import Path

from exact_change import file_journal

from ..conftest import MakePayer
from ..node import Sandbox
from ..payer import failure_of


def test_names_the_path_and_the_reason_when_the_folder_of_a_journal_is_missing(
    sandbox: Sandbox, make_payer: MakePayer, tmp_path: Path
) -> None:
    path = tmp_path / "data" / "payments.jsonl"
    payer = make_payer(USDC="1", journal=file_journal(path))
    error = failure_of(lambda: payer.client.get(f"{sandbox.api_url}/usdc"), "journal_unavailable")
    assert error.funds == "uncertain"
    for part in (str(path), "No such file", "folder must exist", "never pays twice"):
        assert part in str(error)
