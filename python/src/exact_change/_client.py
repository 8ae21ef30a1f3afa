"""A client: a wallet that pays for calls."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Generator, Mapping, Sequence

import httpx

from ._base.closing import Closing
from ._client_base import ClientBase
from ._config.options import take_options
from ._http.calls import bare, call_options, unpaid_options
from ._http.inner import thread_transport
from ._http.paying import PayingTransport
from ._kernel.fork import ForkLock
from ._kernel.hosts import threads
from ._kernel.signals import Signal
from ._payer import Payer
from ._tied import live_receipt, settled_within

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._config.options import ClientOptions
    from ._config.swap_request import SwapOptions, SwapRequest
    from ._http.adapter import PayingAdapter
    from ._payments.engine import SwapResult
    from ._payments.pay_header import Payment
    from ._payments.plan import Plan
    from ._policy.caps import CapUse
    from ._receipt import FreedReceipt, Receipt, ReceiptFilter
    from ._swap.types import SwapQuote
    from ._transport.types import TokenBalance
    from ._x402.types import PaymentRequired


class _Http(httpx.Client):
    # Number of calls that use the connections.
    uses = 0


class Client(ClientBase, Closing):
    """Pays for calls from one wallet. It sends nothing before the first call.

    Raises ``ConfigError`` (``invalid_option``, ``invalid_key``) at once if an option is wrong. Any
    thread may call its methods.

    >>> client = Client(
    ...     wallet_secret_key=secret_key,
    ...     auto_swap=True,
    ...     policy={"max_per_payment": "0.50", "max_per_day": "5.00"},
    ... )
    >>> response = client.get("https://api.example.com/premium")
    >>> receipt_of(response).payment.ui_amount
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._begin(Payer(take_options(options)))

    def _begin(self, payer: Payer) -> None:
        super()._begin(payer)
        self._lock = ForkLock()
        self._http: _Http | None = None
        self._process = os.getpid()

    def request(
        self,
        method: str,
        url: httpx.URL | str,
        *,
        idempotency_key: str | None = None,
        repeatable: bool = False,
        extensions: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Sends a request as ``httpx.Client.request`` does, and pays a 402 on the way.

        The receipt is ``receipt_of(response)``. ``idempotency_key`` names the purchase: pass the
        same value with each retry, and a new value for a new purchase; an empty value is refused.
        The client also reads it from an ``Idempotency-Key`` header; an empty header counts as none.
        ``repeatable`` allows the request to reach the seller twice: after a lost answer, the next
        equal call presents the same payment again. GET and HEAD requests need no such permission.

        Raises an ``ExactChangeError`` if it cannot pay the 402, or if the payment's outcome is not
        known; ``funds`` says what happened to the money.
        """
        caller = Signal()
        extended = call_options(extensions, idempotency_key, repeatable, caller)
        try:
            with self._in_use() as http:
                return http.request(method, url, extensions=extended, **options)
        except BaseException:
            # An interrupt may come after the answer has left the transport.
            threads.fire(caller)
            raise

    def get(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return self.request("GET", url, **options)

    def options(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return self.request("OPTIONS", url, **options)

    def head(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return self.request("HEAD", url, **options)

    def post(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return self.request("POST", url, **options)

    def put(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return self.request("PUT", url, **options)

    def patch(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return self.request("PATCH", url, **options)

    def delete(self, url: httpx.URL | str, **options: Any) -> httpx.Response:
        """See :meth:`request`."""
        return self.request("DELETE", url, **options)

    @contextmanager
    def stream(
        self,
        method: str,
        url: httpx.URL | str,
        *,
        idempotency_key: str | None = None,
        repeatable: bool = False,
        extensions: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Generator[httpx.Response, None, None]:
        """Sends a request as :meth:`request` does; the caller reads the body of the answer."""
        caller = Signal()
        extended = call_options(extensions, idempotency_key, repeatable, caller)
        with ExitStack() as stack:
            try:
                http = stack.enter_context(self._in_use())
                opening = http.stream(method, url, extensions=extended, **options)
                response = stack.enter_context(opening)
            except BaseException:
                threads.fire(caller)
                raise
            yield response

    def transport(
        self, below: httpx.BaseTransport | None = None, **options: Any
    ) -> httpx.BaseTransport:
        """Returns a transport that pays, for any ``httpx.Client``.

        ``below`` sends the requests; default: a new ``httpx.HTTPTransport``, made with ``options``.

        >>> httpx.Client(transport=client.transport())
        """
        sender = below or thread_transport(self._payer.config.trust_env, **options)
        return PayingTransport(self._payer, sender)

    def adapter(self, **options: Any) -> PayingAdapter:
        """Returns an adapter of ``requests`` that pays, with the options of its ``HTTPAdapter``.

        >>> session.mount("https://", client.adapter())
        """
        from ._http.adapter import OwnAdapter, PayingAdapter

        return PayingAdapter(self._payer, OwnAdapter(**options))

    def plan(self, url: httpx.URL | str, *, method: str = "GET", **options: Any) -> Plan:
        """Sends the call unpaid and returns the payment and the swap that it would take.

        Signs and reserves nothing. It takes the options of :meth:`request`.
        """
        from ._http.replies import ThreadReply

        # First, because a plan pays nothing, so that a closed client leaves the funds untouched.
        engine = self._payer.thread_engine()
        extended, send_options, signal = unpaid_options(options)
        with self._in_use() as http:
            request = http.build_request(method, url, extensions=extended, **options)
            response = http.send(request, stream=True, **send_options)
            try:
                reply, at = ThreadReply(response, bare(response.url), method), bare(response.url)
                is_redirected = bool(response.history)
                return threads.run(engine.plan(reply, at, method, is_redirected, signal), signal)
            finally:
                response.close()

    def pay(
        self, given: PaymentRequired | Mapping[str, Any] | Any, url: str | None = None
    ) -> Payment:
        """Makes a payment for the given terms and returns the header to present.

        It is for callers that do their own HTTP. ``given`` is a 402 with its body, its terms, or
        their JSON. ``url`` is the address that the payment is for, if the terms do not name it. The
        payment counts as spent until the chain shows that it can never land.
        """
        from ._http.terms import required_terms

        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.pay(required_terms(given), url, signal), signal)

    def swap(self, **options: Unpack[SwapOptions]) -> SwapResult:
        """Swaps tokens without a payment, and waits for confirmation.

        Slippage, price impact and fee bounds apply; payment caps apply only if the swap is
        ``counted``. SOL goes in and comes out native; if the wallet already holds wrapped SOL, the
        SOL that comes out stays wrapped too.

        >>> client.swap(input_mint="SOL", output_mint="USDC", ui_amount="0.1")
        """
        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.swap(options, signal), signal)

    def quote(self, **request: Unpack[SwapRequest]) -> SwapQuote:
        """Returns a quote for a swap."""
        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.quote(request, signal), signal)

    def balance(self, mint: str | Sequence[str] | None = None) -> list[TokenBalance]:
        """Returns balances of some mints (addresses or pinned symbols), or of every held token."""
        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.balance(mint, signal), signal)

    def receipts(self, **wanted: Unpack[ReceiptFilter]) -> list[Receipt]:
        """Returns the receipts in the journal, oldest first."""
        return threads.run(self._payer.thread_engine().receipts(wanted))

    def settled(self, response: Any, *, timeout: float | None = None) -> Receipt | None:
        """Waits until the chain has decided and returns the receipt; None if nothing was paid.

        It takes about a second, or a minute or two until the payment's blockhash has expired for
        good; longer if no node has the history that proves it. Raises ``TimeoutError`` after
        ``timeout`` seconds, and ``ConfigError`` (``client_closed``) if the client closes before.
        """
        live = live_receipt(response)
        if live is None:
            return None
        context = None if live.is_of(threads) else self._payer.thread_engine().context
        return threads.run(settled_within(live, context, timeout))

    def resume(self) -> list[Receipt | FreedReceipt]:
        """Reconciles payments that an earlier run left open with the chain.

        Frees attempts that the earlier run only reserved. Returns the changes since the last call,
        also changes that a payment made first: the receipt of each decided payment, and a record of
        each freed attempt.
        """
        return threads.run(self._payer.thread_engine("uncertain").resume())

    def spent(self) -> list[CapUse]:
        """Returns how much of each cap is used."""
        return threads.run(self._payer.thread_engine().spent())

    def warm(self) -> None:
        """Prepares the first payment: loads code, checks the network, reads balances."""
        threads.run(self._payer.thread_engine().warm())

    def close(self) -> None:
        """Ends background work. A call whose payment was sent still gets its answer.

        Open payments stay in the journal; if it is durable, a later client can ``resume()`` them.
        """
        for engine in self._payer.close():
            threads.run(engine.close())
        # Calls are counted by now, or refused. No call's end closes what background work reads.
        with self._lock:
            http, self._http = self._http, None
        if http is not None and http.uses == 0 and self._process == os.getpid():
            http.close()

    @contextmanager
    def _in_use(self) -> Generator[httpx.Client, None, None]:
        """Keeps connections open during a call; its end closes them if a close has let them go."""
        with self._lock:
            http = self._own_http()
            http.uses += 1
        try:
            yield http
        finally:
            with self._lock:
                http.uses -= 1
                is_last = http.uses == 0 and self._http is not http
            if is_last:
                http.close()

    def _own_http(self) -> _Http:
        """Returns the client of this process: a child must not write on its parent's sockets."""
        self._payer.check_open("uncertain")
        if self._http is None or self._process != os.getpid():
            self._process = os.getpid()
            self._http = _Http(
                transport=self.transport(self._payer.config.http_transport),
                trust_env=self._payer.config.trust_env,
            )
        return self._http
