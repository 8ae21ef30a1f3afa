"""A client: a wallet that pays for calls."""

from __future__ import annotations

import os
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Generator, Mapping, Sequence

import httpx

from ._config.options import take_options
from ._events import EventName, Listener
from ._http.calls import OPTIONS, bare, call_options
from ._http.inner import thread_transport
from ._http.paying import PayingTransport
from ._kernel.fork import ForkLock
from ._kernel.hosts import threads
from ._kernel.signals import Signal
from ._payer import Payer
from ._tied import settled_within

if TYPE_CHECKING:
    from typing_extensions import Literal, Self, Unpack

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


class Client:
    """Pays for calls from one wallet. Nothing is sent before the first call.

    Raises ``ConfigError`` (``invalid_option``, ``invalid_key``) at once if an option is wrong. Its
    methods may be called from any thread.

    >>> client = Client(
    ...     wallet_secret_key=secret_key,
    ...     auto_swap=True,
    ...     policy={"max_per_payment": "0.25", "max_per_day": "5.00"},
    ... )
    >>> response = client.get("https://api.example.com/premium")
    >>> receipt_of(response).payment.ui_amount
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._begin(Payer(take_options(options)))

    @classmethod
    def of(cls, payer: Payer) -> Client:
        """A client of something that pays already."""
        client = cls.__new__(cls)
        client._begin(payer)
        return client

    def _begin(self, payer: Payer) -> None:
        self._payer = payer
        self._lock = ForkLock()
        self._http: httpx.Client | None = None
        self._process = os.getpid()

    @property
    def address(self) -> str:
        """The paying wallet, base58."""
        return self._payer.config.wallet

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

        The receipt is ``receipt_of(response)``. ``idempotency_key``: the same for every retry of
        the same purchase, a new one for a new purchase; also read from an ``Idempotency-Key``
        header. ``repeatable``: on your word the request may reach the seller twice, so that after a
        lost answer the next equal call presents the same payment again; GET and HEAD always may.

        Raises an ``ExactChangeError`` if a 402 could not be paid, or its outcome is not known;
        ``funds`` says what happened to the money.
        """
        own = call_options(extensions, idempotency_key, repeatable)
        return self._own().request(method, url, extensions=own, **options)

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
        """As :meth:`request`, with the body of the answer read by its caller."""
        own = call_options(extensions, idempotency_key, repeatable)
        with self._own().stream(method, url, extensions=own, **options) as response:
            yield response

    def transport(
        self, below: httpx.BaseTransport | None = None, **options: Any
    ) -> httpx.BaseTransport:
        """A transport that pays, for any ``httpx.Client``.

        ``below``: what sends the requests; default: a new one, made with ``options`` as
        ``httpx.HTTPTransport`` takes them.

        >>> httpx.Client(transport=client.transport(http2=True))
        """
        own = below or thread_transport(self._payer.config.trust_env, **options)
        return PayingTransport(self._payer, own)

    def adapter(self, **options: Any) -> PayingAdapter:
        """An adapter of ``requests`` that pays; ``options``: of ``requests``' ``HTTPAdapter``.

        >>> session.mount("https://", client.adapter())
        """
        from ._http.adapter import OwnAdapter, PayingAdapter

        return PayingAdapter(self._payer, OwnAdapter(**options))

    def plan(self, url: httpx.URL | str, *, method: str = "GET", **options: Any) -> Plan:
        """Sends a request unpaid and says what paying for it would take.

        Nothing is signed or reserved. ``options``: as :meth:`request` takes them.
        """
        from ._http.replies import ThreadReply

        own = self._own()
        follow = {
            name: options.pop(name) for name in ("follow_redirects", "auth") if name in options
        }
        request = own.build_request(method, url, extensions={OPTIONS: {"unpaid": True}}, **options)
        response = own.send(request, stream=True, **follow)
        try:
            reply = ThreadReply(response, bare(response.url), method)
            engine, signal = self._payer.thread_engine(), Signal()
            at = bare(response.url)
            return threads.run(engine.plan(reply, at, method, signal), signal)
        finally:
            response.close()

    def pay(
        self, given: PaymentRequired | Mapping[str, Any] | Any, url: str | None = None
    ) -> Payment:
        """Makes the payment for terms, for callers that do their own HTTP: the header to present.

        ``given``: a 402 with its body, its terms, or their JSON. ``url``: that the payment is for,
        if the terms do not say. It counts as spent until the chain says that it never landed.
        """
        from ._http.terms import required_terms

        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.pay(required_terms(given), url, signal), signal)

    def parse(self, response: Any) -> PaymentRequired | None:
        """The payment terms of a response; None if it asks for no payment."""
        from ._http.terms import terms_in

        return terms_in(response)

    def swap(self, **options: Unpack[SwapOptions]) -> SwapResult:
        """Swaps without any payment, and waits for confirmation.

        Slippage, price impact and fee bounds apply; payment caps do not, unless it is ``counted``.
        SOL goes in and comes out native; if the wallet holds wrapped SOL already, what comes out
        stays wrapped beside it.

        >>> client.swap(input_mint="SOL", output_mint="USDC", ui_amount="0.1")
        """
        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.swap(options, signal), signal)

    def quote(self, **request: Unpack[SwapRequest]) -> SwapQuote:
        """Asks for a price."""
        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.quote(request, signal), signal)

    def balance(self, mint: str | Sequence[str] | None = None) -> list[TokenBalance]:
        """Balances of some mints (addresses or pinned symbols), or of all that the wallet holds."""
        engine, signal = self._payer.thread_engine(), Signal()
        return threads.run(engine.balance(mint, signal), signal)

    def receipts(self, **wanted: Unpack[ReceiptFilter]) -> list[Receipt]:
        """Receipts in the journal, oldest first."""
        return threads.run(self._payer.thread_engine().receipts(wanted))

    def settled(self, response: Any, *, timeout: float | None = None) -> Receipt | None:
        """The receipt of a response once the chain has decided; None if nothing was paid.

        That takes about a second, and at most until the payment's blockhash has expired and that is
        final, a minute or two. Raises ``TimeoutError`` after ``timeout`` seconds, and
        ``ConfigError`` (``client_closed``) if the client is closed before.
        """
        return threads.run(settled_within(response, timeout))

    def resume(self) -> list[Receipt | FreedReceipt]:
        """Lets the chain decide what an earlier run left open, and frees what that only reserved.

        Returns what changed since it was last called, also if a payment took it up first.
        """
        return threads.run(self._payer.thread_engine().resume())

    def spent(self) -> list[CapUse]:
        """What is spent of each cap."""
        return threads.run(self._payer.thread_engine().spent())

    def on(self, event: EventName | Literal["*"], listener: Listener) -> Callable[[], None]:
        """Listens to one kind of event, or to all (``"*"``). Returns the way to stop."""
        return self._payer.events.on(event, listener)

    def warm(self) -> None:
        """Does ahead what the first payment would do.

        Loads code, checks the network, reads balances of pinned tokens.
        """
        threads.run(self._payer.thread_engine().warm())

    def close(self) -> None:
        """Ends background work.

        Open payments stay in the journal; a durable one lets a later client ``resume()`` them.
        """
        for engine in self._payer.close():
            threads.run(engine.close())
        if self._http is not None and self._process == os.getpid():
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        payer = getattr(self, "_payer", None)
        # Whatever prints a frame may come by one that is not made yet.
        return "Client()" if payer is None else f"Client({self.address})"

    def __reduce__(self) -> str:
        raise TypeError("A client is not pickled: it has a key.")

    def _own(self) -> httpx.Client:
        """Of this process: a forked child must not write on its parent's sockets."""
        self._payer.check_open()
        with self._lock:
            if self._http is None or self._process != os.getpid():
                self._process = os.getpid()
                self._http = httpx.Client(
                    transport=self.transport(self._payer.config.http_transport),
                    trust_env=self._payer.config.trust_env,
                )
            return self._http
