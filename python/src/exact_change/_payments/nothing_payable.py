"""The error for terms without a payable offer."""

from __future__ import annotations

from typing import Mapping, Sequence

from .._x402.offers import OfferRefusal
from ..errors import ExactChangeError, failure

_ELSEWHERE = ("unsupported_network", "unsupported_offer")


def nothing_payable(
    refused: Mapping[int, ExactChangeError], offers: Sequence[OfferRefusal]
) -> ExactChangeError:
    """Returns the error of the only offer for this client, or an error that lists all offers."""
    errors = list(refused.values())
    for_this_client = [error for error in errors if error.code not in _ELSEWHERE]
    for candidates in (for_this_client, errors):
        if len(candidates) == 1:
            return candidates[0]
    reason = next(iter(for_this_client or errors), "")
    return failure(
        "no_payable_offer",
        f"None of the {len(offers)} offers can be paid. {reason} Each offer's reason is in "
        "details['offers'].",
        {"offers": [refusal.to_dict() for refusal in offers]},
        cause=for_this_client[0] if for_this_client else None,
    )
