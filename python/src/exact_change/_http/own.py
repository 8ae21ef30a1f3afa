"""Requests of our own, to nodes, Jupiter and services: small answers, and no redirect followed.

They go by httpx' transports, not its clients: a client prints the whole address of each request to
its log, and addresses of nodes hold keys.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import httpx
from typing_extensions import Protocol

from .._base.headers import Headers
from .._kernel.signals import Signal
from .._kernel.steps import await_, call
from .._kernel.task import Steps

# Tells requests of the library from its caller's, to an interceptor that patches all of httpx.
OWN = "exact_change.own"


class Request(NamedTuple):
    """A request."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    # Of one wait for the network; the whole is bounded by a signal.
    timeout_ms: float = 10_000
    max_body: int = 2 * 1024 * 1024


class Answer(NamedTuple):
    """An answer, read whole."""

    status: int
    headers: Headers
    body: bytes


class LostError(Exception):
    """No answer, or one that broke off."""


class TooLongError(Exception):
    """An answer longer than any honest one."""


class HttpPort(Protocol):
    """What sends requests."""

    def send(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        """The answer; raises ``LostError``, ``TooLongError`` or the signal's reason."""
        ...

    def close(self) -> Steps[None]:
        """Closes its connections."""
        ...


def to_httpx(request: Request) -> httpx.Request:
    """As httpx sends it. Bodies come as they are: one that is packed may unpack to anything."""
    # The asking step gives up before that.
    seconds = request.timeout_ms / 1000 + 1
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
    headers = [("accept-encoding", "identity"), *request.headers]
    extensions: Mapping[str, Any] = {"timeout": timeout, OWN: True}
    return httpx.Request(
        request.method, request.url, headers=headers, content=request.body, extensions=extensions
    )


class _Body:
    """The parts of an answer as they come, within a bound."""

    def __init__(self, request: Request, signal: Signal | None) -> None:
        self._most = request.max_body
        self._signal = signal
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        if self._signal is not None and self._signal.aborted:
            raise LostError("it was given up")
        self._size += len(part)
        if self._size > self._most:
            raise TooLongError
        self._parts.append(part)

    def answer(self, response: httpx.Response) -> Answer:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise LostError("it is packed")
        headers = Headers.of_bytes(response.headers.raw)
        return Answer(response.status_code, headers, b"".join(self._parts))


class ThreadHttp:
    """Sends by a transport that blocks, in worker threads."""

    def __init__(
        self, given: httpx.BaseTransport | None, make: Callable[[], httpx.BaseTransport]
    ) -> None:
        self._given = given
        self._make = make
        self._own: httpx.BaseTransport | None = None
        self._is_closed = False

    def send(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        # Here, in a turn: two threads would make one each.
        if self._given is None and self._own is None:
            self._own = self._make()
        return call(lambda: self._send(request, signal), signal)

    def close(self) -> Steps[None]:
        self._is_closed = True
        if self._own is not None:
            yield from call(self._own.close)

    def _send(self, request: Request, signal: Signal | None) -> Answer:
        transport = self._given or self._own
        if transport is None or (self._is_closed and self._own is not None):
            raise LostError("The client was closed.")
        try:
            return _send(transport, request, signal)
        finally:
            # An answer that no caller waited for has left its connection open.
            if self._is_closed and self._own is not None:
                self._own.close()


class LoopHttp:
    """Sends by a transport of asyncio."""

    def __init__(
        self, given: httpx.AsyncBaseTransport | None, make: Callable[[], httpx.AsyncBaseTransport]
    ) -> None:
        self._given = given
        self._make = make
        self._own: httpx.AsyncBaseTransport | None = None
        self._is_closed = False

    def send(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        return await_(lambda: _send_async(self._transport(), request, signal), signal)

    def close(self) -> Steps[None]:
        self._is_closed = True
        own, self._own = self._own, None
        if own is not None:
            yield from await_(own.aclose)

    def _transport(self) -> httpx.AsyncBaseTransport:
        if self._given is not None:
            return self._given
        if self._is_closed:
            raise LostError("The client was closed.")
        if self._own is None:
            self._own = self._make()
        return self._own


def _send(transport: httpx.BaseTransport, request: Request, signal: Signal | None) -> Answer:
    body = _Body(request, signal)
    try:
        response = transport.handle_request(to_httpx(request))
        try:
            for part in response.iter_raw():
                body.add(part)
        finally:
            response.close()
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise LostError(f"{type(error).__name__}: {error}") from None
    return body.answer(response)


async def _send_async(
    transport: httpx.AsyncBaseTransport, request: Request, signal: Signal | None
) -> Answer:
    body = _Body(request, signal)
    try:
        response = await transport.handle_async_request(to_httpx(request))
        try:
            async for part in response.aiter_raw():
                body.add(part)
        finally:
            await response.aclose()
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise LostError(f"{type(error).__name__}: {error}") from None
    return body.answer(response)
