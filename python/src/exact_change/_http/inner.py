"""The transports that send requests, below the transports that pay."""

from __future__ import annotations

import functools
import inspect
import os
import urllib.request
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, TypeVar

import httpx

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])
# Servers of Node close a connection after 5 s without a request. A request that is on its way at
# that moment is lost, and if it was paid, its payment is uncertain.
_KEEP_SECONDS = 4
_LIMITS = httpx.Limits(
    max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=_KEEP_SECONDS
)


def without_patches(method: Method) -> Method:
    """Returns a method of another package without the patches of tracers, which read addresses."""
    original: Method = inspect.unwrap(method)
    return original


class OwnTransport(httpx.HTTPTransport):
    """A transport of the library, which a patch of httpx, as tracers make, does not see."""

    handle_request = without_patches(httpx.HTTPTransport.handle_request)


class AsyncOwnTransport(httpx.AsyncHTTPTransport):
    """An :class:`OwnTransport` of asyncio."""

    handle_async_request = without_patches(httpx.AsyncHTTPTransport.handle_async_request)


class _Routes(Generic[T]):
    """A transport for each proxy that the environment names."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.by_proxy: dict[str | None, T] = {}

    def of(self, url: httpx.URL) -> T:
        """Returns the transport for an address."""
        proxies = urllib.request.getproxies()
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if proxy is not None and urllib.request.proxy_bypass(url.host):
            proxy = None
        if proxy is not None and "://" not in proxy:
            proxy = f"http://{proxy}"
        known = self.by_proxy.get(proxy)
        return known or self.by_proxy.setdefault(proxy, self._make(proxy))


class RoutedTransport(httpx.BaseTransport):
    """Sends by the proxies that the environment names for each address."""

    def __init__(self, **options: Any) -> None:
        self._routes = _Routes(lambda proxy: OwnTransport(proxy=proxy, **options))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._routes.of(request.url).handle_request(request)

    def close(self) -> None:
        for transport in self._routes.by_proxy.values():
            transport.close()


class AsyncRoutedTransport(httpx.AsyncBaseTransport):
    """A :class:`RoutedTransport` of asyncio."""

    def __init__(self, **options: Any) -> None:
        self._routes = _Routes(lambda proxy: AsyncOwnTransport(proxy=proxy, **options))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._routes.of(request.url).handle_async_request(request)

    async def aclose(self) -> None:
        for transport in self._routes.by_proxy.values():
            await transport.aclose()


def thread_transport(trust_env: bool, **options: Any) -> httpx.BaseTransport:
    """Returns a transport that blocks. ``options`` are those of ``httpx.HTTPTransport``."""
    all_options = _with_defaults(trust_env, options)
    is_routed = trust_env and "proxy" not in options
    return RoutedTransport(**all_options) if is_routed else OwnTransport(**all_options)


def loop_transport(trust_env: bool, **options: Any) -> httpx.AsyncBaseTransport:
    """Returns a transport of asyncio. ``options`` are those of ``httpx.AsyncHTTPTransport``."""
    all_options = _with_defaults(trust_env, options)
    is_routed = trust_env and "proxy" not in options
    return AsyncRoutedTransport(**all_options) if is_routed else AsyncOwnTransport(**all_options)


def _with_defaults(trust_env: bool, options: Mapping[str, Any]) -> dict[str, Any]:
    all_options: dict[str, Any] = {"limits": _LIMITS, "trust_env": trust_env, **options}
    # httpx writes these options into the context, so a transport with them cannot share it.
    if not any(name in options for name in ("verify", "cert", "http2")):
        paths = [os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")]
        all_options["verify"] = _certificates(trust_env, *paths)
    return all_options


@functools.lru_cache(maxsize=8)
def _certificates(trust_env: bool, _file: str | None, _directory: str | None) -> ssl.SSLContext:
    """Returns a shared context, because to read the certificates takes 20 ms.

    The paths that the environment names are a part of the cache key.
    """
    return httpx.create_ssl_context(trust_env=trust_env)
