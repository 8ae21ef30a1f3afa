"""What may come of presenting a signed payment, by the table of ``spec/``.

The chain has the last word on each, in the background or, if ``ask_first``, before the call ends.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .._spec import table
from .._x402.types import SellersWord

_PENDING = re.compile(r"(?:^|_)settlement_pending\Z")
_DUPLICATE = re.compile(r"(?:^|_)duplicate_settlement\Z")


class Outcome(NamedTuple):
    """One of them."""

    name: str
    # What was bought counts as received once its body was read to its end, so that an equal call is
    # a new purchase.
    is_delivered: bool
    ask_first: bool
    # Nothing was settled as far as the seller says, so the caller's policy may allow one more
    # signature.
    may_resign: bool


_rows: dict[str, Any] = table("states")["outcomes"]
OUTCOMES: dict[str, Outcome] = {
    name: Outcome(name, row["delivered"], row["askFirst"], row["resign"])
    for name, row in _rows.items()
}


def outcome_of(status: int, word: SellersWord) -> Outcome:
    """Reads an answer to a paid request."""
    if status == 402:
        return OUTCOMES[_rejection_of(word)]
    return OUTCOMES["success" if 200 <= status < 300 else "failure"]


def _rejection_of(word: SellersWord) -> str:
    # v1 servers say it in the body, and facilitators name it with a prefix or without.
    error = None if word.settlement is None else word.settlement.error_reason
    texts = [text for text in (error, word.reason) if text is not None]
    if any(_PENDING.search(text) for text in texts):
        return "pending"
    if any(_DUPLICATE.search(text) for text in texts):
        return "duplicate"
    return "refused" if word.has_terms and word.settlement is None else "unsettled"
