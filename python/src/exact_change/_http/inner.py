"""What sends requests on their way, below what pays."""

from __future__ import annotations

import functools
import os
import urllib.request
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, TypeVar

import httpx

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")
# Servers of Node close a connection that rests for 5 s: a request on its way meanwhile is lost, and
# if it was paid, its payment is uncertain.
_KEEP_SECONDS = 4
_LIMITS = httpx.Limits(
    max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=_KEEP_SECONDS
)


class OwnTransport(httpx.HTTPTransport):
    """One of ours: whatever patches all of httpx later, as tracers do, sees nothing of it."""

    handle_request = httpx.HTTPTransport.handle_request


class AsyncOwnTransport(httpx.AsyncHTTPTransport):
    """The same on an event loop."""

    handle_async_request = httpx.AsyncHTTPTransport.handle_async_request


class _Routes(Generic[T]):
    """A transport for each proxy that the environment names."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.by_proxy: dict[str | None, T] = {}

    def of(self, url: httpx.URL) -> T:
        """The transport for an address."""
        proxies = urllib.request.getproxies()
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if proxy is not None and urllib.request.proxy_bypass(url.host):
            proxy = None
        if proxy is not None and "://" not in proxy:
            proxy = f"http://{proxy}"
        known = self.by_proxy.get(proxy)
        return known or self.by_proxy.setdefault(proxy, self._make(proxy))


class RoutedTransport(httpx.BaseTransport):
    """Goes by the proxies and certificates of the environment."""

    def __init__(self, **options: Any) -> None:
        self._routes = _Routes(lambda proxy: OwnTransport(proxy=proxy, **options))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._routes.of(request.url).handle_request(request)

    def close(self) -> None:
        for transport in self._routes.by_proxy.values():
            transport.close()


class AsyncRoutedTransport(httpx.AsyncBaseTransport):
    """The same on an event loop."""

    def __init__(self, **options: Any) -> None:
        self._routes = _Routes(lambda proxy: AsyncOwnTransport(proxy=proxy, **options))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._routes.of(request.url).handle_async_request(request)

    async def aclose(self) -> None:
        for transport in self._routes.by_proxy.values():
            await transport.aclose()


def thread_transport(trust_env: bool, **options: Any) -> httpx.BaseTransport:
    """A transport that blocks; ``options``: of ``httpx.HTTPTransport``."""
    given = _given(trust_env, options)
    is_routed = trust_env and "proxy" not in options
    return RoutedTransport(**given) if is_routed else OwnTransport(**given)


def loop_transport(trust_env: bool, **options: Any) -> httpx.AsyncBaseTransport:
    """A transport of asyncio; ``options``: of ``httpx.AsyncHTTPTransport``."""
    given = _given(trust_env, options)
    is_routed = trust_env and "proxy" not in options
    return AsyncRoutedTransport(**given) if is_routed else AsyncOwnTransport(**given)


def _given(trust_env: bool, options: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {"limits": _LIMITS, "trust_env": trust_env, **options}
    # What these ask for is written into the context, and may be no other's.
    if not any(name in options for name in ("verify", "cert", "http2")):
        named = [os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")]
        given["verify"] = _certificates(trust_env, *named)
    return given


@functools.lru_cache(maxsize=8)
def _certificates(trust_env: bool, _file: str | None, _directory: str | None) -> ssl.SSLContext:
    """The certificates that the environment names: reading them takes 20 ms each time."""
    return httpx.create_ssl_context(trust_env=trust_env)
