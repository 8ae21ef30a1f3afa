"""An adapter of ``requests`` that pays for requests."""

from __future__ import annotations

import contextlib
import functools
import time
from typing import Any, Callable, Iterator, Mapping, NamedTuple
from urllib.parse import urljoin, urlparse

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.sessions import SessionRedirectMixin
from requests.utils import requote_uri
from urllib3 import HTTPResponse
from urllib3.util.retry import Retry
from urllib3.util.timeout import Timeout

from .._base.headers import Headers
from .._base.urls import is_same_origin
from .._kernel.hosts import threads
from .._kernel.signals import Signal
from .._kernel.steps import call
from .._kernel.task import Steps
from .._kernel.workers import workers
from .._payer import Payer
from .._payments.call import CallOptions, Reply
from .._x402.payload import PAYMENT_HEADERS
from .._x402.types import PaymentHeader
from .ahead import close_late, engine_for, run_ahead
from .calls import CREDENTIALS, bare
from .inner import without_patches
from .kept_body import KeptBody
from .requests_bodies import keep_body
from .requests_replies import RequestsReply, socket_of, unfollowed
from .sending import Retries

# The options of `send`, in their order: some adapters pass them without names.
_OPTIONS = ("stream", "timeout", "verify", "cert", "proxies")
# A key of the hooks, because requests copies the hooks to the redirected request.
_HOP = "exact_change.hop"
# Reads a redirect as sessions do: else the redirected call would seem to be a new call.
_SESSION = SessionRedirectMixin()


class OwnAdapter(HTTPAdapter):
    """An adapter of the library, which a patch of requests, as tracers make, does not see."""

    send = without_patches(HTTPAdapter.send)


def _without_retries(adapter: HTTPAdapter) -> HTTPAdapter:
    """Returns an adapter with the same connections and no retries.

    A retry would show a seller the payment twice, and hide the answer to the first request.
    """
    copy = object.__new__(type(adapter))
    copy.__dict__.update(adapter.__dict__)
    copy.max_retries = Retry(0, read=False)
    return copy


class _Hop(NamedTuple):
    url: str
    method: str
    headers: Headers
    body: KeptBody
    following: str
    # The fragment as the seller wrote it.
    fragment: str


class PayingAdapter(BaseAdapter):
    """Pays a 402 on the way, and returns the answer to the paid request.

    Any other answer comes back as from requests' own adapter.
    """

    def __init__(
        self,
        payer: Payer,
        below: HTTPAdapter,
        send: Callable[..., requests.Response] = OwnAdapter.send,
    ) -> None:
        """Makes an adapter. ``send`` is the method of ``below`` that sends, as it is now."""
        super().__init__()
        self._payer = payer
        self._below = below
        self._send_by = send

    def send(
        self, request: requests.PreparedRequest, *unnamed: Any, **options: Any
    ) -> requests.Response:
        """Sends a request, and pays for it if the seller answers 402."""
        options.update(zip(_OPTIONS, unnamed))
        answer: Any = self._answer_to(request, options)
        # Authentication, for example digest, sends a request again by the connection of its answer.
        answer.connection = self
        response: requests.Response = answer
        return response

    def close(self) -> None:
        """Closes the connections below; the client stays open."""
        below: Any = self._below
        below.close()

    def _answer_to(
        self, request: requests.PreparedRequest, options: Mapping[str, Any]
    ) -> requests.Response:
        if any(name in request.headers for name in PAYMENT_HEADERS):
            return unfollowed(self._send_by(self._below, request, **options))
        timeout_ms = self._payer.config.timeouts.payment
        send = functools.partial(self._send_by, _without_retries(self._below))
        held = _RequestsCall(request, options, send, timeout_ms)
        call_options = CallOptions(held.headers.get("idempotency-key") or None)
        answer = run_ahead(self._payer, held, call_options)
        if answer is None:
            unpaid = self._send(request, options, held.is_replayable)
            if unpaid.status_code != 402:
                _note_hop(request, unpaid, held)
                return unpaid
            reply = RequestsReply(unpaid, held.asked_at, held.sent_as)
            engine = engine_for(self._payer, unpaid)
            answer = threads.run(engine.answer(held, reply, call_options), held.signal, close_late)
        response: requests.Response = answer.native
        # The caller's request, not the paid request: no answer shows the payment header.
        response.request = request
        return response

    def _send(
        self, request: requests.PreparedRequest, options: Mapping[str, Any], is_body_known: bool
    ) -> requests.Response:
        method = str(request.method)
        retries = Retries(self._payer.config, method, is_body_known=is_body_known)
        while True:
            try:
                response = self._send_by(self._below, request, **options)
            except requests.ConnectionError:
                wait = retries.after_loss()
                if wait is None:
                    raise
            else:
                wait = retries.after_answer(response.status_code, response.headers.get)
                if wait is None:
                    return response
                response.close()
            time.sleep(wait)


class _RequestsCall:
    def __init__(
        self,
        request: requests.PreparedRequest,
        options: Mapping[str, Any],
        send: Callable[..., requests.Response],
        timeout_ms: float,
    ) -> None:
        self._request = request
        self._options = options
        self._send = send
        self._kept = keep_body(request)
        hop = _hop_of(request)
        self._seconds = timeout_ms / 1000
        self.asked_at = bare(request.url)
        self.sent_as = str(request.method)
        self.is_redirected = hop is not None
        # A repeat of this call may come without a redirect, and a redirect may drop the body.
        self.first = hop or _Hop(
            self.asked_at,
            self.sent_as,
            Headers(_texts(request.headers)),
            self._kept,
            "",
            urlparse(str(request.url)).fragment,
        )
        self.url, self.method, self.headers = self.first[:3]
        self.signal: Signal | None = Signal()

    @property
    def is_replayable(self) -> bool:
        return self._kept.is_known

    def body(self) -> bytes:
        return self.first.body.whole()

    def send_paid(self, url: str, header: PaymentHeader, signal: Signal) -> Steps[Reply]:
        request = self._request.copy()
        request.hooks = {}
        body = self._kept.whole()
        request.body = body or None
        if "transfer-encoding" in request.headers:
            del request.headers["transfer-encoding"]
            request.headers["content-length"] = str(len(body))
        if url != self.asked_at:
            request.url = url
            if not is_same_origin(self.asked_at, url):
                for name in CREDENTIALS:
                    request.headers.pop(name, None)
        request.headers[header.name] = header.value
        options = {**self._options, "stream": True, "timeout": self._seconds}
        response: requests.Response = yield from call(
            lambda: self._send(request, **options),
            signal,
            lambda late: workers.submit(late.close),
        )
        if isinstance(response.raw, HTTPResponse):
            # Below 2.0, urllib3 takes a body that is cut for a whole one: it would count as
            # delivered, and a repeated call would pay again.
            response.raw.enforce_content_length = True
            if response.status_code != 402:
                _read_within(response.raw, self._options.get("timeout"))
        is_streamed = bool(self._options.get("stream"))
        return RequestsReply(unfollowed(response), url, self.sent_as, is_streamed=is_streamed)


def _read_within(raw: HTTPResponse, timeout: Any) -> None:
    """Gives the reader of a paid answer the caller's timeout."""
    # A short answer has come whole.
    socket = socket_of(raw)
    if socket is not None:
        seconds = timeout
        # A pair has the limit of the connection first.
        with contextlib.suppress(TypeError, ValueError):
            _connect, seconds = timeout
        if isinstance(seconds, Timeout):
            # A copy, because a total counts from the start, and the caller may use it again.
            started = seconds.clone()
            started.start_connect()
            seconds = started.read_timeout
        # Below 2.0, urllib3 has an object for a timeout that was not given.
        socket.settimeout(seconds if isinstance(seconds, (int, float)) else None)


def _texts(headers: Mapping[str, str | bytes]) -> Iterator[tuple[str, str]]:
    """Yields headers as requests sends them: a caller may give a value as bytes."""
    for name, value in headers.items():
        yield name, value.decode("latin-1") if isinstance(value, bytes) else value


def _hop_of(request: requests.PreparedRequest) -> _Hop | None:
    """Returns the redirect that a request follows; None if the caller made the request."""
    hooks: Any = request.hooks
    # It stays there, because authentication may send the request again.
    hop: _Hop | None = hooks.get(_HOP)
    return hop if hop is not None and bare(request.url) == hop.following else None


def _note_hop(
    request: requests.PreparedRequest, response: requests.Response, call: _RequestsCall
) -> None:
    """Notes the address to which an answer redirects the request."""
    location = _SESSION.get_redirect_target(response)
    if location is None:
        return
    following, fragment = _redirect_of(str(request.url), location, call.first.fragment)
    hooks: Any = request.hooks
    hooks[_HOP] = call.first._replace(following=bare(following), fragment=fragment)


def _redirect_of(url: str, location: str, fragment: str) -> tuple[str, str]:
    """Returns the address and fragment that a session follows.

    A bad escape in the fragment changes how the session quotes the whole address.
    """
    if location.startswith("//"):
        location = f"{urlparse(url).scheme}:{location}"
    to = urlparse(location)
    to = to._replace(fragment=to.fragment or fragment)
    text = requote_uri(to.geturl())
    return text if to.netloc else urljoin(url, text), to.fragment
