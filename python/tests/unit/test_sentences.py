"""Sentences of errors name details as Python spells them."""

from __future__ import annotations

from exact_change._base.network import SOLANA_MAINNET
from exact_change._policy.lists import check_place, read_lists


def test_names_the_detail_of_a_host_that_a_list_refuses() -> None:
    lists = read_lists("deny", {"hosts": ["api.example.com"]}, SOLANA_MAINNET)
    refusal = check_place(lists, "api.example.com")
    assert refusal is not None and refusal.details["value"] == "api.example.com"
    assert "what is in details['value']" in str(refusal)
