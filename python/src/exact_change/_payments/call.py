"""The caller's request, which can be sent again with a payment, and sellers' responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from typing_extensions import Protocol

from .._base.headers import Headers
from .._kernel.signals import Signal
from .._kernel.steps import bounded, join, note_until_settled, quiet, start
from .._kernel.task import Steps
from .._x402.types import PaymentHeader

if TYPE_CHECKING:
    from .context import PaymentContext

# Longest wait for a response to free its connection for the next request.
_LET_GO_MS = 250


class Reply(Protocol):
    """A seller's response, independent of the HTTP client."""

    status: int
    headers: Headers
    # The URL that answered, if it is known.
    url: str | None
    # The response object of the caller's HTTP client.
    native: Any

    @property
    def evidence(self) -> Any:
        """The response for errors: without a connection, with the part of the body read so far."""
        ...

    def peek(self, is_enough: Callable[[bytes], bool], signal: Signal) -> Steps[Peeked]:
        """Returns the beginning of the decoded body; the caller can still read all of it.

        Reads until ``is_enough`` returns True or the signal fires. Never raises.
        """
        ...

    def has_body(self) -> bool:
        """Returns whether the response has a body that may still break off."""
        ...

    def on_body_end(self, end: BodyEnd) -> None:
        """Tells ``end`` once when the body ends."""

    def dispose(self, hurry: Signal) -> Steps[None]:
        """Frees the connection. Reads a short body to its end, so that the connection is kept.

        If ``hurry`` has fired or fires, it cuts the connection instead.
        """
        ...


def free_connection(context: PaymentContext, reply: Reply) -> Steps[None]:
    """Frees a response's connection, so that the next request can use it.

    The wait is bounded, because a slow seller must not delay the next request.
    """
    disposal = yield from start(quiet(reply.dispose(context.closing)))
    note_until_settled(context.disposals, disposal, None)
    yield from quiet(bounded(_LET_GO_MS, TimeoutError, [], lambda _: join(disposal)))


def disposed(context: PaymentContext) -> Steps[None]:
    """Waits until no answer is being disposed of: wait so before connections close.

    A thread that reads from a connection that another thread closes may wait for ever.
    """
    for disposal in [*context.disposals]:
        yield from join(disposal)


class Peeked(NamedTuple):
    """The beginning of a body."""

    data: bytes
    # Whether this is the whole body.
    is_whole: bool
    # Whether the body broke off or cannot be decoded.
    is_broken: bool = False


class BodyEnd(Protocol):
    """Hears of the end of a body. Only one of the two methods is called, once."""

    def read(self, reader: Signal | None) -> Steps[None]:
        """Called if the body was read to its end, or dropped by a caller that may leave it unread.

        ``reader`` fires if the reader is interrupted before it hears of the end.
        """
        ...

    def lost(self) -> Steps[None]:
        """Called if the body broke off, was closed, or its reader was dropped half-way."""
        ...


class CallOptions(NamedTuple):
    """The caller's options of a call, besides the request."""

    idempotency_key: str | None = None
    # Whether the request may reach the seller twice.
    is_repeatable: bool = False


class Call(Protocol):
    """A request that the seller answered with payment terms."""

    # As the caller made it, because redirects may lead elsewhere at the next call.
    url: str
    method: str
    # The URL that asked for payment, after redirects.
    asked_at: str
    is_redirected: bool
    headers: Headers
    signal: Signal | None

    @property
    def is_replayable(self) -> bool:
        """Whether the body is known and can be sent again."""
        ...

    def body(self) -> bytes:
        """Returns the body. Raises ``body_not_replayable``."""
        ...

    def send_paid(self, url: str, header: PaymentHeader, signal: Signal) -> Steps[Reply]:
        """Sends the request with a payment header; does not follow redirects."""
        ...
