"""The library's own requests to nodes, Jupiter and services: small answers, and no redirects.

They use httpx' transports, not its clients: a client logs the whole address of each request, and
addresses of nodes hold keys.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable, Mapping, NamedTuple, Sequence, TypeVar

import httpx
from typing_extensions import Protocol

from .._base.headers import Headers
from .._kernel.signals import Signal
from .._kernel.steps import await_, call
from .._kernel.task import Steps
from .inner import loop_transport, thread_transport

T = TypeVar("T")
# The extension by which an interceptor that patches all of httpx knows the library's own requests.
OWN = "exact_change.own"
_CLOSED = "The client was closed."


class Request(NamedTuple):
    """A request of the library, with a small answer."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    # Milliseconds for one wait for the network; a signal bounds the whole request.
    timeout_ms: float = 10_000
    max_body: int = 2 * 1024 * 1024


class Answer(NamedTuple):
    """An answer with its whole body."""

    status: int
    headers: Headers
    body: bytes


class LostError(Exception):
    """No answer came, or the answer broke off."""


class TooLongError(Exception):
    """The answer is longer than any honest answer."""


class HttpPort(Protocol):
    """Sends the library's own requests."""

    def send(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        """Returns the answer; raises ``LostError``, ``TooLongError`` or the signal's reason."""
        ...

    def close(self) -> Steps[None]:
        """Closes the port's own connections."""
        ...


def to_httpx(request: Request) -> httpx.Request:
    """Returns a request for httpx. It asks for no packing: a packed body may unpack to any size."""
    # A second more than the asking step waits, so that the step gives up first.
    seconds = request.timeout_ms / 1000 + 1
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
    headers = [("accept-encoding", "identity"), *request.headers]
    extensions: Mapping[str, Any] = {"timeout": timeout, OWN: True}
    return httpx.Request(
        request.method, request.url, headers=headers, content=request.body, extensions=extensions
    )


class _Body:
    """Collects the parts of an answer's body, up to a maximum size."""

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

    def __init__(self, callers_transport: httpx.BaseTransport | None, trust_env: bool) -> None:
        self._callers_transport = callers_transport
        self._trust_env = trust_env
        self._own_transport: httpx.BaseTransport | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        # Number of requests that use the connections.
        self._uses = 0

    def send(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        # Make it here, in a turn: two threads would each make a transport.
        if self._callers_transport is None and self._own_transport is None:
            self._own_transport = _made(thread_transport, self._trust_env)
        return call(lambda: self._send(request, signal), signal)

    def close(self) -> Steps[None]:
        self._is_closed = True
        yield from call(self._close_unused)

    def _send(self, request: Request, signal: Signal | None) -> Answer:
        with self._lock:
            self._uses += 1
        try:
            transport = self._callers_transport or self._own_transport
            if transport is None or (self._is_closed and self._own_transport is not None):
                raise LostError(_CLOSED)
            return _send(transport, request, signal)
        finally:
            with self._lock:
                self._uses -= 1
            self._close_unused()

    def _close_unused(self) -> None:
        """Closes the connections of a closed port, once no request uses them.

        A pool that is closed earlier forgets a connection that a request is still opening.
        """
        with self._lock:
            is_unused = self._is_closed and self._uses == 0
        if is_unused and self._own_transport is not None:
            self._own_transport.close()


class LoopHttp:
    """Sends by a transport of asyncio."""

    def __init__(self, callers_transport: httpx.AsyncBaseTransport | None, trust_env: bool) -> None:
        self._callers_transport = callers_transport
        self._trust_env = trust_env
        self._own_transport: httpx.AsyncBaseTransport | None = None
        self._is_closed = False
        # The end of each request under way, by the scope that cancels it.
        self._ends: dict[Any, asyncio.Future[None]] = {}

    def send(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        return await_(lambda: self._send(request, signal), signal)

    def close(self) -> Steps[None]:
        self._is_closed = True
        transport, self._own_transport = self._own_transport, None
        if transport is not None:
            yield from await_(lambda: self._close(transport))

    async def _send(self, request: Request, signal: Signal | None) -> Answer:
        # Late, as in `Scoped`.
        import anyio

        transport, end = self._transport(), asyncio.get_running_loop().create_future()
        with anyio.CancelScope() as scope:
            self._ends[scope] = end
            try:
                return await _send_async(transport, request, signal)
            finally:
                del self._ends[scope]
                end.set_result(None)
        raise LostError(_CLOSED)

    async def _close(self, transport: httpx.AsyncBaseTransport) -> None:
        """Ends the requests, and then closes the connections: see ``ThreadHttp._close_unused``."""
        ends = list(self._ends.values())
        for scope in self._ends:
            scope.cancel()
        if ends:
            await asyncio.wait(ends)
        await transport.aclose()

    def _transport(self) -> httpx.AsyncBaseTransport:
        if self._callers_transport is not None:
            return self._callers_transport
        if self._is_closed:
            raise LostError(_CLOSED)
        if self._own_transport is None:
            self._own_transport = _made(loop_transport, self._trust_env)
        return self._own_transport


def _made(make: Callable[[bool], T], trust_env: bool) -> T:
    """Returns a new transport. It reads files, and a process may have too many open already."""
    try:
        return make(trust_env)
    except OSError as error:
        raise LostError(f"{type(error).__name__}: {error}") from None


def _send(transport: httpx.BaseTransport, request: Request, signal: Signal | None) -> Answer:
    body = _Body(request, signal)
    try:
        response = transport.handle_request(to_httpx(request))
        try:
            if response.is_stream_consumed:
                # A transport of the caller has read it.
                body.add(response.content)
            else:
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
            if response.is_stream_consumed:
                # A transport of the caller has read it.
                body.add(response.content)
            else:
                async for part in response.aiter_raw():
                    body.add(part)
        finally:
            await response.aclose()
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise LostError(f"{type(error).__name__}: {error}") from None
    return body.answer(response)
