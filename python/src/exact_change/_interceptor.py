"""Makes every call of httpx and requests in this process pay."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any, Callable

import httpx

from ._async_client import AsyncClient
from ._base.options import refuse
from ._client import Client
from ._config.options import parse_bool, take_options
from ._http.calls import is_own_request
from ._http.paying import AsyncPayingTransport, PayingTransport
from ._kernel.loop_tasks import running_loop
from ._payer import Payer

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._config.options import ClientOptions

_Patch = Callable[[Any], Callable[..., Any]]


class _Installed:
    """A method of a class that is replaced by ours until ``remove``."""

    def __init__(self, owner: Any, name: str, patch: _Patch) -> None:
        self._owner = owner
        self._name = name
        self._below = getattr(owner, name)
        self._ours = functools.wraps(self._below)(patch(self._below))
        setattr(owner, name, self._ours)

    def remove(self) -> None:
        """Puts the former method back.

        If other code has wrapped ours since, that wrapper stays, and ours only passes calls on.
        """
        if getattr(self._owner, self._name) is self._ours:
            setattr(self._owner, self._name, self._below)


class HTTPInterceptor:
    """Makes httpx and requests pay, also existing clients and sessions.

    Construction takes effect at once, unless ``install`` is False; ``restore()`` or the end of
    ``with`` undoes it. It leaves calls over the caller's own transport, such as a mock, and calls
    on trio alone.

    Raises ``ConfigError`` (``invalid_option``, ``invalid_key``) at once if an option is wrong.

    >>> HTTPInterceptor(wallet_secret_key=secret_key, auto_swap=True)
    >>> httpx.get("https://api.example.com/premium")
    """

    def __init__(self, *, install: bool = True, **options: Unpack[ClientOptions]) -> None:
        config = take_options(options)
        # Only now, because no frame holds a key any more.
        is_wanted = parse_bool("install", install)
        if config.http_transport is not None:
            raise refuse(
                "http_transport", "is of a client: an interceptor sends as its caller does."
            )
        self._payer = Payer(config)
        # The clients that pay, for methods such as `receipts` or `resume`.
        self.client = Client.of(self._payer)
        self.async_client = AsyncClient.of(self._payer)
        self._is_on = False
        self._installed: list[_Installed] = []
        if is_wanted:
            self.install()

    def install(self) -> None:
        """Makes httpx and requests pay. Does nothing if they pay already."""
        if self._is_on:
            return
        self._is_on = True
        self._installed = [
            _Installed(httpx.HTTPTransport, "handle_request", self._sync),
            _Installed(httpx.AsyncHTTPTransport, "handle_async_request", self._async),
        ]
        # Import requests now, so that code that imports it later finds it patched.
        adapters = _requests_adapters()
        if adapters is not None:
            self._installed.append(_Installed(adapters.HTTPAdapter, "send", self._requests))

    def restore(self) -> None:
        """Undoes :meth:`install`."""
        self._is_on = False
        for installed in reversed(self._installed):
            installed.remove()
        self._installed = []

    def __enter__(self) -> Self:
        return self

    def __reduce__(self) -> str:
        raise TypeError("An interceptor is not pickled: it has a key.")

    def __exit__(self, *error: object) -> None:
        self.restore()

    def _sync(self, below: Any) -> Callable[..., Any]:
        def handle_request(transport: Any, request: httpx.Request) -> httpx.Response:
            if not self._is_on or is_own_request(request):
                response: httpx.Response = below(transport, request)
                return response
            sender = _Below(functools.partial(below, transport))
            return PayingTransport(self._payer, sender).handle_request(request)

        return handle_request

    def _async(self, below: Any) -> Callable[..., Any]:
        async def handle_async_request(transport: Any, request: httpx.Request) -> httpx.Response:
            # On trio our code cannot wait, so a 402 comes back unpaid.
            if not self._is_on or is_own_request(request) or running_loop() is None:
                response: httpx.Response = await below(transport, request)
                return response
            sender = _AsyncBelow(functools.partial(below, transport))
            return await AsyncPayingTransport(self._payer, sender).handle_async_request(request)

        return handle_async_request

    def _requests(self, below: Any) -> Callable[..., Any]:
        # Import it now: the module keeps the current `send` of requests.
        from ._http.adapter import PayingAdapter

        def send(adapter: Any, request: Any, *positional: Any, **options: Any) -> Any:
            if not self._is_on:
                return below(adapter, request, *positional, **options)
            return PayingAdapter(self._payer, adapter, below).send(request, *positional, **options)

        return send


class _Below(httpx.BaseTransport):
    """Sends requests by the former method."""

    def __init__(self, send: Callable[[httpx.Request], httpx.Response]) -> None:
        self._send = send

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._send(request)


class _AsyncBelow(httpx.AsyncBaseTransport):
    """Sends requests by the former method, on an event loop."""

    def __init__(self, send: Callable[[httpx.Request], Any]) -> None:
        self._send = send

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response: httpx.Response = await self._send(request)
        return response


def _requests_adapters() -> Any:
    """Returns the module of requests' adapters; None if requests is not installed."""
    try:
        return importlib.import_module("requests.adapters")
    except ImportError:
        return None
