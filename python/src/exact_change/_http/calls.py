"""The caller's requests of httpx, kept so that they can be sent again with a payment."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

import httpx

from .._base.headers import Headers
from .._base.options import refuse, refuse_unknown
from .._base.urls import is_same_origin, parse_address
from .._kernel.hosts import this_host
from .._kernel.signals import Signal, void
from .._kernel.steps import await_, call
from .._kernel.task import Steps, begin
from .._kernel.workers import workers
from .._payments.call import CallOptions, Reply
from .._x402.payload import PAYMENT_HEADERS
from .._x402.types import PaymentHeader
from .kept_body import KeptBody, keep_body
from .own import OWN
from .replies import LoopReply, ThreadReply, unread

# Headers that a client itself drops when a redirect leaves the origin.
CREDENTIALS = ("authorization", "cookie", "host", "proxy-authorization")
_FRAMING = ("content-length", "transfer-encoding")
# The request extension that holds the options of a call.
OPTIONS = "exact_change"
_NAMES = ("idempotency_key", "repeatable", "unpaid")
# The extension that holds the signal of a caller, which fires also if it gives up after the answer
# has left the transport.
_CALLER = "exact_change.caller"
_HOP = "exact_change.hop"


class Hop(NamedTuple):
    """The first request of a redirected call, and the address of its last redirect."""

    url: str
    method: str
    headers: Headers
    body: KeptBody
    following: str


def hop_of(request: httpx.Request) -> Hop | None:
    """Returns the redirect that a request follows; None if the caller made the request.

    Compares the address too, because a caller may use the same extensions for several requests.
    """
    hop: Hop | None = request.extensions.pop(_HOP, None)
    return hop if hop is not None and bare(request.url) == hop.following else None


def note_hop(request: httpx.Request, response: httpx.Response, call: HttpxCall) -> None:
    """Notes the address to which an answer redirects the request."""
    if not response.has_redirect_location:
        return
    try:
        following = _redirect_of(request.url, response.headers["location"])
    except httpx.InvalidURL:
        return
    request.extensions[_HOP] = call.first._replace(following=bare(following))


def _redirect_of(url: httpx.URL, location: str) -> httpx.URL:
    """Returns a redirect's address as httpx reads it: else its call would seem to be a new call."""
    to = httpx.URL(location)
    if to.scheme and not to.host:
        to = to.copy_with(host=url.host)
    return url.join(to) if to.is_relative_url else to


def bare(url: object) -> str:
    """Returns an address as it is sent: without its fragment."""
    text = str(url).partition("#")[0]
    address = parse_address(text)
    return text if address is None else address.href


def is_own_request(request: httpx.Request) -> bool:
    """Returns whether the library itself sends a request."""
    return OWN in request.extensions


def own_copy(request: httpx.Request) -> httpx.Request:
    """Returns a copy of a caller's request, marked so that no transport below pays for it again.

    A mark on the request itself would also keep the caller's other sends of it from being paid.
    """
    # Not by `copy`: a request of httpx leaves its body and its extensions out.
    copy = object.__new__(type(request))
    copy.__dict__.update(request.__dict__, extensions={**request.extensions, OWN: True})
    return copy


def carries_payment(request: httpx.Request) -> bool:
    """Returns whether a request has a payment of its caller. Its redirects are not paid."""
    return any(name in request.headers for name in PAYMENT_HEADERS)


def call_options(
    extensions: Mapping[str, Any] | None, key: str | None, repeatable: bool, caller: Signal
) -> dict[str, Any]:
    """Returns the extensions of a request together with the options and caller of its call.

    Keeps options in the caller's extension: a lost key would make a repeat a second purchase.
    """
    given = extensions or {}
    options = {"repeatable": repeatable, **_options_in(given)}
    if key is not None:
        options["idempotency_key"] = key
    return {**given, OPTIONS: options, _CALLER: caller}


def unpaid_options(
    options: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], Signal]:
    """Takes the options that build no request from those of a call that is only planned.

    Returns the extensions of its request, which is sent unpaid, the options with which it is sent,
    and the signal of its caller.
    """
    caller = Signal()
    sending = {key: options.pop(key) for key in ("follow_redirects", "auth") if key in options}
    key, repeatable = options.pop("idempotency_key", None), options.pop("repeatable", False)
    extended = call_options(options.pop("extensions", None), key, repeatable, caller)
    extended[OPTIONS]["unpaid"] = True
    return extended, sending, caller


def options_of(request: httpx.Request) -> CallOptions:
    """Returns the options that the caller gives for a call, in its extension or its headers."""
    options = _options_in(request.extensions)
    # An empty header counts as none, because other libraries may set it.
    key = options.get("idempotency_key")
    if key is None:
        key = request.headers.get("idempotency-key") or None
    if key is not None:
        # A number may have other text at the next call, and 0 would count as no key. Empty text,
        # such as of a variable that is not set, would be the same key for every call.
        if not isinstance(key, str) or not key:
            raise refuse("idempotency_key", "must be text that is not empty.")
        # A member of an enum shows its name in text, but its value in the JSON of a journal.
        key = str.__str__(key)
    repeatable = options.get("repeatable", False)
    if not isinstance(repeatable, bool):
        raise refuse("repeatable", "must be True or False.")
    return CallOptions(key, repeatable)


def is_planned(request: httpx.Request) -> bool:
    """Returns whether a request must be sent unpaid, whatever the answer."""
    return _options_in(request.extensions).get("unpaid") is True


def _options_in(extensions: Mapping[str, Any]) -> Mapping[str, Any]:
    options = extensions.get(OPTIONS)
    return {} if options is None else refuse_unknown(options, _NAMES, f"extensions.{OPTIONS}")


def _check_package(request: object) -> None:
    """Refuses a request of another package: its payment could not be presented once signed."""
    if not isinstance(request, httpx.Request):
        package = type(request).__module__.partition(".")[0]
        raise refuse(
            "transport",
            f"is for clients of httpx, not of {package}. For httpx2, call httpx2.alias_httpx()"
            " before the first import of httpx.",
        )


class HttpxCall:
    """A request of httpx that can be sent again with a payment: it keeps the body."""

    def __init__(
        self,
        request: httpx.Request,
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport,
        timeout_ms: float,
        *,
        is_async: bool,
    ) -> None:
        _check_package(request)
        self._request = request
        # Some transports are of both kinds.
        self._transport: Any = transport
        self._is_async = is_async
        self._kept = keep_body(request)
        hop = hop_of(request)
        self._timeout = dict.fromkeys(("connect", "read", "write", "pool"), timeout_ms / 1000)
        self.asked_at = bare(request.url)
        self.is_redirected = hop is not None
        # A repeat of this call may come without a redirect, and a redirect may drop the body.
        self.first = hop or Hop(
            self.asked_at, request.method, Headers.of_bytes(request.headers.raw), self._kept, ""
        )
        self.url, self.method, self.headers = self.first[:3]
        self.signal: Signal | None = request.extensions.get(_CALLER) or Signal()

    @property
    def is_replayable(self) -> bool:
        return self._kept.is_known

    def body(self) -> bytes:
        return self.first.body.whole()

    def send_paid(self, url: str, header: PaymentHeader, signal: Signal) -> Steps[Reply]:
        request, transport = self._paid(url, header), self._transport
        timeout = self._request.extensions.get("timeout", {})
        answer: httpx.Response
        if self._is_async:
            host = yield from this_host()
            answer = yield from await_(
                lambda: transport.handle_async_request(request),
                signal,
                lambda late: void(begin(host, await_(late.aclose))),
            )
            _read_within(request, timeout, answer)
            return LoopReply(unfollowed(unread(answer)), url, request.method)
        answer = yield from call(
            lambda: transport.handle_request(request),
            signal,
            lambda late: workers.submit(late.close),
        )
        _read_within(request, timeout, answer)
        return ThreadReply(unfollowed(unread(answer)), url, request.method)

    def _paid(self, url: str, header: PaymentHeader) -> httpx.Request:
        dropped: set[str] = set(_FRAMING)
        to: httpx.URL | str = self._request.url
        if url != self.asked_at:
            to = url
            dropped.add("host")
            if not is_same_origin(self.asked_at, url):
                dropped.update(CREDENTIALS)
        headers = [
            (name, value)
            for name, value in self._request.headers.raw
            if name.decode("latin-1").lower() not in dropped
        ]
        headers.append((header.name.encode("latin-1"), header.value.encode("latin-1")))
        extensions = {**self._request.extensions, "timeout": self._timeout, OWN: True}
        body = self._kept.whole()
        return httpx.Request(
            self._request.method, to, headers=headers, content=body, extensions=extensions
        )


def _read_within(request: httpx.Request, timeout: object, answer: httpx.Response) -> None:
    """Gives the reader of a paid answer the caller's timeout, which applies from the first read."""
    if answer.status_code != 402:
        request.extensions["timeout"] = timeout


class _Unfollowed(httpx.Response):
    """An answer to a paid request, with a redirect that only the caller may follow."""

    @property
    def has_redirect_location(self) -> bool:
        """Always false, so that the client does not follow the redirect."""
        return False


def unfollowed(response: httpx.Response) -> httpx.Response:
    """Changes a response so that no client follows its redirect."""
    if response.has_redirect_location:
        response.__class__ = _Unfollowed
    return response
