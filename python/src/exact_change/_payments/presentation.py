"""One call that presents a payment, and what a refusal of it means."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._events import Emit
from ..errors import ExactChangeError, Moved
from .call import Call, Reply
from .outcomes import Outcome


class Presentation(NamedTuple):
    """One call that presents a payment."""

    call: Call
    # The place that asked for it.
    url: str
    # On the caller's word the request may reach the seller twice.
    is_repeatable: bool
    # What landed before it.
    moved: Sequence[Moved]
    emit: Emit
    started_at: int
    # The caller may sign anew after it, and lets go of the attempt then.
    keeps_claim: bool = False


class Rejected(NamedTuple):
    """What a 402 to a paid request means."""

    error: ExactChangeError
    outcome: Outcome
    reply: Reply
