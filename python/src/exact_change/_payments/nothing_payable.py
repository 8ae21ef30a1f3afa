"""The error of terms that cannot be paid."""

from __future__ import annotations

from typing import Mapping, Sequence

from .._x402.offers import OfferRefusal
from ..errors import ExactChangeError, failure

_ELSEWHERE = ("unsupported_network", "unsupported_offer")


def nothing_payable(
    refused: Mapping[int, ExactChangeError], offers: Sequence[OfferRefusal]
) -> ExactChangeError:
    """One entry that was meant for us gives its own reason; several are listed."""
    errors = list(refused.values())
    ours = [one for one in errors if one.code not in _ELSEWHERE]
    for few in (ours, errors):
        if len(few) == 1:
            return few[0]
    codes = ", ".join(dict.fromkeys(one.code for one in offers))
    return failure(
        "no_payable_offer",
        f"None of the {len(offers)} offers can be paid ({codes}). Each offer's reason is in "
        "details['offers'].",
        {"offers": [one.to_dict() for one in offers]},
        cause=ours[0] if ours else None,
    )
