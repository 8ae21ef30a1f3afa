"""Mistakes of a caller that uses the client for the first time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

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
    for part in (str(path), "No such file", "folder must exist", "to find that payment"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("state", "setled"),
        ("host", "https://api.example.com"),
        ("pay_to", "seller"),
        ("mint", "usdc"),
        ("since", "2026-07-01"),
    ],
)
def test_refuses_a_filter_of_receipts_that_matches_nothing_by_its_form(
    field: str, value: Any, make_payer: MakePayer
) -> None:
    client = make_payer().client
    error = failure_of(lambda: client.receipts(**{field: value}), "invalid_option")
    assert error.details["option"] == f"filter.{field}"


def test_lists_receipts_by_the_symbol_of_a_mint(sandbox: Sandbox, make_payer: MakePayer) -> None:
    client = make_payer(USDC="1").client
    client.get(f"{sandbox.api_url}/usdc").read()
    assert len(client.receipts(mint="USDC")) == 1
    assert client.receipts(mint="USDT") == []


@pytest.mark.parametrize("method", ["get", "plan", "pay"])
def test_pays_at_no_url_that_holds_a_user_name_or_password(
    method: str, sandbox: Sandbox, make_payer: MakePayer
) -> None:
    payer = make_payer(USDC="1")
    url = f"{sandbox.api_url}/usdc".replace("//", "//user:secret-word@")
    asked = httpx.get(url) if method == "pay" else url
    error = failure_of(lambda: getattr(payer.client, method)(asked), "invalid_option")
    assert (error.details["option"], error.funds, payer.signed) == ("url", "untouched", [])
    assert "secret-word" not in str(error)
