"""One call of the caller's, held so that it can be paid for; and answers of sellers."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from typing_extensions import Protocol

from .._base.headers import Headers
from .._kernel.signals import Signal
from .._kernel.steps import bounded, quiet
from .._kernel.task import Steps
from .._x402.types import PaymentHeader

# So long the next request waits for the connection of an answer that is read no further.
_LET_GO_MS = 250


class Reply(Protocol):
    """An answer of a seller, by whichever HTTP client."""

    status: int
    headers: Headers
    # The place that answered, if it is known.
    url: str | None
    # The caller's own kind of response.
    native: Any

    @property
    def evidence(self) -> Any:
        """The same, read as far as it was looked at and without a connection, for errors."""
        ...

    def peek(self, is_enough: Callable[[bytes], bool], signal: Signal) -> Steps[Peeked]:
        """The beginning of its body, decoded; the caller reads all of it afterwards.

        No further than ``is_enough`` says, and until the signal fires; never raises.
        """
        ...

    def has_body(self) -> bool:
        """Whether it has a body that may still break off."""
        ...

    def on_body_end(self, end: BodyEnd) -> None:
        """Has the end of its body told, once."""

    def dispose(self) -> Steps[None]:
        """Lets go of its connection. What is short is read, so that it can be used again."""
        ...


def let_go(reply: Reply) -> Steps[None]:
    """Lets go of an answer's connection before the next request, which may use it then.

    A seller may keep it waiting for no longer than a moment.
    """
    yield from quiet(bounded(_LET_GO_MS, TimeoutError, [], lambda _: reply.dispose()))


class Peeked(NamedTuple):
    """The beginning of a body."""

    data: bytes
    # All of it was read.
    is_whole: bool
    # It broke off, or cannot be decoded.
    is_broken: bool = False


class BodyEnd(Protocol):
    """What is made of a body's end. Only one of the two is called, once."""

    def read(self, reader: Signal | None) -> Steps[None]:
        """It was read to its end, or its last reader was forgotten and never began.

        ``reader``: fires if that one is interrupted before it has heard of that.
        """
        ...

    def lost(self) -> Steps[None]:
        """It broke off, was closed, or was forgotten half read."""
        ...


class CallOptions(NamedTuple):
    """What a caller says of one call besides the request itself."""

    idempotency_key: str | None = None
    # The request may reach the seller twice.
    is_repeatable: bool = False


class Call(Protocol):
    """A request that was answered with terms."""

    # As the caller made it: where redirects lead may change from call to call.
    url: str
    method: str
    # The place that asked for payment, after redirects.
    asked_at: str
    is_redirected: bool
    headers: Headers
    signal: Signal | None

    @property
    def is_replayable(self) -> bool:
        """Whether its body is known already, and may be sent again."""
        ...

    def body(self) -> bytes:
        """Raises ``body_not_replayable``."""
        ...

    def send_paid(self, url: str, header: PaymentHeader, signal: Signal) -> Steps[Reply]:
        """Sends it with a payment header, without following redirects."""
        ...
