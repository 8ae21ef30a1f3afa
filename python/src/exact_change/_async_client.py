"""A client for asyncio."""

from __future__ import annotations

import asyncio
import os
import weakref
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, AsyncGenerator, Mapping, Sequence

import httpx

from ._base.closing import AsyncClosing
from ._client_base import ClientBase
from ._config.options import take_options
from ._http.calls import bare, call_options, unpaid_options
from ._http.inner import loop_transport
from ._http.paying import AsyncPayingTransport
from ._kernel.hosts import forget_closed, loop_host, this_loop
from ._kernel.signals import Signal
from ._payer import Payer
from ._tied import live_receipt, settled_within

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._config.options import ClientOptions
    from ._config.swap_request import SwapOptions, SwapRequest
    from ._payments.engine import SwapResult
    from ._payments.pay_header import Payment
    from ._payments.plan import Plan
    from ._policy.caps import CapUse
    from ._receipt import FreedReceipt, Receipt, ReceiptFilter
    from ._swap.types import SwapQuote
    from ._transport.types import TokenBalance
    from ._x402.types import PaymentRequired


class _Http(httpx.AsyncClient):
    # Number of calls that use the connections.
    uses = 0


class AsyncClient(ClientBase, AsyncClosing):
    """Pays for calls as :class:`exact_change.Client` does, on event loops of asyncio.

    It never blocks a loop.

    >>> async with AsyncClient(wallet_secret_key=secret_key) as client:
    ...     response = await client.get("https://api.example.com/premium")
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._begin(Payer(take_options(options, "handle_async_request")))

    def _begin(self, payer: Payer) -> None:
        super()._begin(payer)
        self._https: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Http] = (
            weakref.WeakKeyDictionary()
        )
        self._process = os.getpid()

    async def request(
        self,
        method: str,
        url: httpx.URL | str,
        *,
        idempotency_key: str | None = None,
        repeatable: bool = False,
        extensions: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Sends a request as ``httpx.AsyncClient.request`` does, and pays a 402 on the way.

        See :meth:`exact_change.Client.request`.
        """
        host, caller = loop_host(), Signal()
        extended = call_options(extensions, idempotency_key, repeatable, caller)
        try:
            async with self._in_use(self._own_http()) as http:
                return await http.request(method, url, extensions=extended, **options)
        except BaseException as error:
            host.fire(caller, error)
            raise

    async def get(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return await self.request("GET", url, **options)

    async def options(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return await self.request("OPTIONS", url, **options)

    async def head(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return await self.request("HEAD", url, **options)

    async def post(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return await self.request("POST", url, **options)

    async def put(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return await self.request("PUT", url, **options)

    async def patch(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return await self.request("PATCH", url, **options)

    async def delete(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return await self.request("DELETE", url, **options)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: httpx.URL | str,
        *,
        idempotency_key: str | None = None,
        repeatable: bool = False,
        extensions: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> AsyncGenerator[httpx.Response, None]:
        """Sends a request as :meth:`request` does; the caller reads the body of the answer."""
        host, caller = loop_host(), Signal()
        extended = call_options(extensions, idempotency_key, repeatable, caller)
        async with AsyncExitStack() as stack:
            try:
                http = await stack.enter_async_context(self._in_use(self._own_http()))
                opening = http.stream(method, url, extensions=extended, **options)
                response = await stack.enter_async_context(opening)
            except BaseException as error:
                host.fire(caller, error)
                raise
            yield response

    def transport(
        self, below: httpx.AsyncBaseTransport | None = None, **options: Any
    ) -> httpx.AsyncBaseTransport:
        """Returns a transport that pays, for any ``httpx.AsyncClient``.

        See :meth:`exact_change.Client.transport`.
        """
        return AsyncPayingTransport(self._payer, self._below(below, options))

    async def plan(self, url: httpx.URL | str, *, method: str = "GET", **options: Any) -> Plan:
        """See :meth:`exact_change.Client.plan`."""
        from ._http.replies import LoopReply

        # A plan pays nothing, so it leaves the funds untouched.
        self._payer.check_open()
        http = self._own_http()
        extended, send_options, signal = unpaid_options(options)
        request = http.build_request(method, url, extensions=extended, **options)
        response = await http.send(request, stream=True, **send_options)
        try:
            reply = LoopReply(response, bare(response.url), method)
            at = bare(response.url)
            is_redirected = bool(response.history)
            return await self._payer.on_loop(
                lambda engine: engine.plan(reply, at, method, is_redirected, signal), signal
            )
        finally:
            await response.aclose()

    async def pay(
        self, given: PaymentRequired | Mapping[str, Any] | Any, url: str | None = None
    ) -> Payment:
        """See :meth:`exact_change.Client.pay`."""
        from ._http.terms import required_terms

        terms, signal = required_terms(given), Signal()
        return await self._payer.on_loop(lambda engine: engine.pay(terms, url, signal), signal)

    async def swap(self, **options: Unpack[SwapOptions]) -> SwapResult:
        """See :meth:`exact_change.Client.swap`."""
        signal = Signal()
        return await self._payer.on_loop(lambda engine: engine.swap(options, signal), signal)

    async def quote(self, **request: Unpack[SwapRequest]) -> SwapQuote:
        """Returns a quote for a swap."""
        signal = Signal()
        return await self._payer.on_loop(lambda engine: engine.quote(request, signal), signal)

    async def balance(self, mint: str | Sequence[str] | None = None) -> list[TokenBalance]:
        """See :meth:`exact_change.Client.balance`."""
        signal = Signal()
        return await self._payer.on_loop(lambda engine: engine.balance(mint, signal), signal)

    async def receipts(self, **wanted: Unpack[ReceiptFilter]) -> list[Receipt]:
        """Returns the receipts in the journal, oldest first."""
        return await self._payer.on_loop(lambda engine: engine.receipts(wanted))

    async def settled(self, response: Any, *, timeout: float | None = None) -> Receipt | None:
        """See :meth:`exact_change.Client.settled`."""
        live, host = live_receipt(response), loop_host()
        if live is None:
            return None
        if live.is_of(host):
            return await host.run(settled_within(live, None, timeout))
        return await self._payer.on_loop(
            lambda engine: settled_within(live, engine.context, timeout)
        )

    async def resume(self) -> list[Receipt | FreedReceipt]:
        """See :meth:`exact_change.Client.resume`."""
        engine = await self._payer.loop_engine("uncertain")
        return await loop_host().run(engine.resume())

    async def spent(self) -> list[CapUse]:
        """Returns how much of each cap is used."""
        return await self._payer.on_loop(lambda engine: engine.spent())

    async def warm(self) -> None:
        """See :meth:`exact_change.Client.warm`."""
        await self._payer.on_loop(lambda engine: engine.warm())

    async def aclose(self) -> None:
        """Ends background work. See :meth:`exact_change.Client.close`."""
        async with AsyncExitStack() as stack:
            http = self._https.pop(this_loop(), None)
            # Count the close as a call: no call's end closes what background work reads.
            if http is not None and self._process == os.getpid():
                await stack.enter_async_context(self._in_use(http))
            await self._payer.close_loop()

    @asynccontextmanager
    async def _in_use(self, http: _Http) -> AsyncGenerator[httpx.AsyncClient, None]:
        """Keeps connections open during a call; the last one closes those of a closed client."""
        http.uses += 1
        try:
            yield http
        finally:
            http.uses -= 1
            if http.uses == 0 and self._payer.is_closed:
                await http.aclose()

    def _own_http(self) -> _Http:
        """Returns the client of this process and loop: a loop owns the connections that it made."""
        self._payer.check_open("uncertain")
        if self._process != os.getpid():
            self._process = os.getpid()
            self._https = weakref.WeakKeyDictionary()
        loop = this_loop()
        http = self._https.get(loop)
        if http is None:
            forget_closed(self._https)
            below = self._below(self._payer.config.http_transport, {})
            http = self._https[loop] = _Http(
                transport=AsyncPayingTransport(self._payer, below),
                trust_env=self._payer.config.trust_env,
            )
        return http

    def _below(
        self, below: httpx.AsyncBaseTransport | None, options: Mapping[str, Any]
    ) -> httpx.AsyncBaseTransport:
        if below is not None:
            return below
        return loop_transport(self._payer.config.trust_env, **options)
