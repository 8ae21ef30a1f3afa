"""Errors that leave unknown what an earlier payment does."""

from __future__ import annotations

from exact_change._payments.reconcile.earlier_errors import as_uncertain
from exact_change.errors import Moved, failure


def test_keeps_transactions_that_landed_and_the_response_of_the_error_that_it_replaces() -> None:
    moved, response = Moved("swap", "5" * 88), object()
    error = failure("timeout", "It took long.", funds="swapped", moved=[moved], response=response)
    uncertain = as_uncertain(error, "A payment may land.")
    assert (uncertain.funds, uncertain.moved) == ("uncertain", (moved,))
    assert uncertain.response is response
