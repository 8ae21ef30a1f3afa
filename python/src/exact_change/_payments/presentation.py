"""The presentation of a payment to a seller, and its refusal."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .._events import Emit
from .._x402.types import PaymentRequired
from ..errors import ExactChangeError, Moved
from .call import Call
from .outcomes import Outcome


class Presentation(NamedTuple):
    call: Call
    # The URL that asked for payment.
    url: str
    # Whether the caller allows that the request reaches the seller twice.
    is_repeatable: bool
    # Swaps that landed before the payment.
    moved: Sequence[Moved]
    emit: Emit
    # Milliseconds since the epoch.
    started_at: int
    # The outcomes after which the calling code may sign again. It gets the terms of such a refusal.
    # If there are any, the attempt stays claimed until the calling code drops the claim.
    sign_again_after: Sequence[Outcome] = ()


class Rejected(NamedTuple):
    """A 402 to a paid request."""

    make_error: Callable[[], ExactChangeError]
    # Its terms, if the calling code may sign again; an error if they cannot be read.
    terms: PaymentRequired | ExactChangeError | None
    # Whether `policy.resign` may allow a second payment after it.
    may_resign: bool

    @property
    def error(self) -> ExactChangeError:
        """The error that it means, by what the chain has shown so far."""
        return self.make_error()
