"""The outcomes of presenting a signed payment, from the table of ``spec/``.

After each outcome, the chain decides about the payment. It is asked in the background, or before
the call ends if ``ask_first`` is set.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .._spec import table
from .._x402.types import SettlementClaim

_PENDING = re.compile(r"(?:^|_)settlement_pending\Z")
_DUPLICATE = re.compile(r"(?:^|_)duplicate_settlement\Z")


class Outcome(NamedTuple):
    name: str
    # When the body was read to its end, the purchase is delivered and an equal call is a new one.
    is_delivered: bool
    # Whether to ask the chain before the call ends.
    ask_first: bool
    # The seller says that nothing was settled, so the policy may allow one more signature.
    may_resign: bool


_rows: dict[str, Any] = table("states")["outcomes"]
OUTCOMES: dict[str, Outcome] = {
    name: Outcome(name, row["delivered"], row["askFirst"], row["resign"])
    for name, row in _rows.items()
}
# After these, `policy.resign` allows a second payment.
RESIGNED_OUTCOMES = [outcome for outcome in OUTCOMES.values() if outcome.may_resign]


def outcome_of(status: int, word: SettlementClaim) -> Outcome:
    """Returns the outcome of an answer to a paid request."""
    if status == 402:
        return OUTCOMES[_rejection_of(word)]
    # A 304 tells the caller that its own copy is the answer.
    is_delivery = 200 <= status < 300 or status == 304
    return OUTCOMES["success" if is_delivery else "failure"]


def _rejection_of(word: SettlementClaim) -> str:
    # v1 servers name the code in the body. Facilitators may put a prefix before it.
    error = None if word.settlement is None else word.settlement.error_reason
    texts = [text for text in (error, word.reason) if text is not None]
    if any(_PENDING.search(text) for text in texts):
        return "pending"
    if any(_DUPLICATE.search(text) for text in texts):
        return "duplicate"
    return "refused" if word.has_terms and word.settlement is None else "unsettled"
