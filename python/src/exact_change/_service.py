"""Calls an HTTP service of this library, without a wallet's key."""

from __future__ import annotations

import asyncio
import os
import re
import weakref
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, TypeVar, cast

from ._base.closing import AsyncClosing, Closing
from ._base.hidden import Hidden
from ._base.json_types import mapping_of
from ._base.names import camel
from ._base.options import refuse, refuse_unknown
from ._base.redact import hide_headers
from ._base.runtime import system_runtime
from ._config.addresses import parse_service_url
from ._config.keys import parse_key
from ._config.options import parse_seconds
from ._config.swap_request import check_names
from ._http.own import HttpPort, LoopHttp, ThreadHttp
from ._http.terms import parts_of
from ._kernel.hosts import forget_closed, loop_host, this_loop, threads
from ._kernel.signals import Signal
from ._kernel.task import Steps
from ._transport.remote import RemoteTransport, bearer
from ._transport.remote import Service as Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._config.swap_request import SwapRequest
    from ._swap.types import SwapQuote
    from ._transport.types import ParsedPayment, PaymentResult, SwapTransaction, TokenBalance

T = TypeVar("T")
_TIMEOUT_MS = 30_000
# httpx refuses other headers at each call, and its error may repeat the value.
_NAME = re.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile("(?:[!-~](?:[\t -~]*[!-~])?)?")
_PAY_NAMES = (
    *("auto_swap", "limits", "swap_from", "slippage_bps", "swap_amount"),
    *("signed_swap", "signed_payment", "idempotency_key"),
)


class _Caller:
    """The checked arguments of a service."""

    def __init__(
        self,
        api_url: str,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = _TIMEOUT_MS / 1000,
        http_transport: Any = None,
        trust_env: bool = False,
    ) -> None:
        try:
            self._base_url = parse_service_url("api_url", api_url)
            self._headers = _read_headers(headers)
            self._timeout_ms = parse_seconds("timeout", timeout)
            key = parse_key("api_key", api_key)
            if key is not None:
                self._headers.append(bearer(key))
        except BaseException as error:
            # So that no frame of a traceback holds a key: some loggers print the values of frames.
            del api_url, api_key, headers
            raise error.with_traceback(None) from None
        self._transport = http_transport
        self._trust_env = trust_env
        self._begin()

    def _begin(self) -> None:
        """Begins without connections."""
        raise NotImplementedError

    def _over(self, http: HttpPort) -> RemoteTransport:
        return RemoteTransport(
            Settings(self._base_url, self._headers, http, self._timeout_ms, system_runtime)
        )


def _read_headers(headers: object) -> list[tuple[str, Hidden]]:
    """Reads headers that each request sends. Their values are never shown."""
    if headers is None:
        return []
    pairs = mapping_of(headers)
    if pairs is None or not all(map(_is_header, pairs.items())):
        raise refuse("headers", "must be a mapping of header names and values.")
    given = cast("Mapping[str, str]", pairs)
    hide_headers(given)
    return [(name, Hidden(value)) for name, value in given.items()]


def _is_header(pair: tuple[object, object]) -> bool:
    name, value = pair
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    return bool(_NAME.fullmatch(name) and _VALUE.fullmatch(value))


def _quote_request(request: Mapping[str, Any]) -> dict[str, Any]:
    values = check_names(request)
    if "ui_amount" in values:
        raise refuse("ui_amount", "is not for a service. Give amount, in base units.")
    fields = {camel(name): value for name, value in values.items()}
    if "amount" in fields:
        fields["amount"] = str(fields["amount"])
    return fields


def _mints_in(mint: object) -> Sequence[str] | None:
    if mint is None or isinstance(mint, (list, tuple)):
        return cast("Sequence[str] | None", mint)
    # The check of the request refuses it if it is no text.
    return [cast("str", mint)]


def _payment_request(
    payment_required: Any, wallet: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    values = refuse_unknown(options, _PAY_NAMES)
    return {
        "paymentRequired": dict(parts_of(payment_required)),
        "wallet": wallet,
        **{camel(name): value for name, value in values.items() if value is not None},
    }


class Service(_Caller, Closing):
    """The service at an address, which must be https unless it is on this machine.

    The client trusts no answer: answers must have the shapes of this process, and failures become
    the same errors. Text of the service is only under ``untrusted``. Calls that change nothing are
    tried up to three times. ``timeout`` is in seconds, for one call with all its tries.
    ``Client(api_url=...)`` uses it.

    Raises ``ConfigError`` (``invalid_option``) at once if an argument is wrong.
    """

    def quote(self, **request: Unpack[SwapRequest]) -> SwapQuote:
        """Returns a quote for a swap."""
        fields = _quote_request(request)
        return self._run(lambda remote, signal: remote.quote_as(fields, signal))

    def build_swap(self, wallet: str, quote: SwapQuote) -> SwapTransaction:
        """Returns an unsigned transaction for a quote: judge it before you sign it."""
        return self._run(lambda remote, signal: remote.build_swap(wallet, quote, signal))

    def balance(self, wallet: str, mint: str | Sequence[str] | None = None) -> list[TokenBalance]:
        """Returns balances of some mints (addresses or pinned symbols), or of every held token."""
        mints = _mints_in(mint)
        return self._run(lambda remote, signal: remote.balance(wallet, mints, signal))

    def parse_payment(self, payment_required: Any) -> ParsedPayment:
        """Returns the offers of a 402.

        It takes a response of httpx or requests, or its ``url``, ``status``, ``headers`` and
        ``body``.
        """
        return self._run(
            lambda remote, signal: remote.parse_payment(parts_of(payment_required), signal)
        )

    def auto_pay(self, payment_required: Any, wallet: str, **options: Any) -> PaymentResult:
        """Plans a payment step by step, without a key: each answer says what to sign and send next.

        The options are ``auto_swap``, ``limits``, ``swap_from``, ``slippage_bps``, ``swap_amount``,
        ``signed_swap``, ``signed_payment`` and ``idempotency_key``. ``limits`` are base units that
        the payment may cost, by mint. ``signed_swap`` and ``signed_payment`` are base64 of the
        signed transaction of the step before.
        """
        fields = _payment_request(payment_required, wallet, options)
        return self._run(lambda remote, signal: remote.auto_pay(fields, signal))

    def close(self) -> None:
        """Closes the connections of this process."""
        if self._http is not None and self._process == os.getpid():
            threads.run(self._http.close())

    def _begin(self) -> None:
        self._process = os.getpid()
        self._http: ThreadHttp | None = None

    def _run(self, ask: Callable[[RemoteTransport, Signal], Steps[T]]) -> T:
        if self._process != os.getpid():
            self._begin()
        if self._http is None:
            self._http = ThreadHttp(self._transport, self._trust_env)
        signal = Signal()
        return threads.run(ask(self._over(self._http), signal), signal)


class AsyncService(_Caller, AsyncClosing):
    """Calls a service as :class:`exact_change.Service` does, on event loops of asyncio."""

    async def quote(self, **request: Unpack[SwapRequest]) -> SwapQuote:
        """Returns a quote for a swap."""
        fields = _quote_request(request)
        return await self._run(lambda remote, signal: remote.quote_as(fields, signal))

    async def build_swap(self, wallet: str, quote: SwapQuote) -> SwapTransaction:
        """See :meth:`exact_change.Service.build_swap`."""
        return await self._run(lambda remote, signal: remote.build_swap(wallet, quote, signal))

    async def balance(
        self, wallet: str, mint: str | Sequence[str] | None = None
    ) -> list[TokenBalance]:
        """See :meth:`exact_change.Service.balance`."""
        mints = _mints_in(mint)
        return await self._run(lambda remote, signal: remote.balance(wallet, mints, signal))

    async def parse_payment(self, payment_required: Any) -> ParsedPayment:
        """See :meth:`exact_change.Service.parse_payment`."""
        return await self._run(
            lambda remote, signal: remote.parse_payment(parts_of(payment_required), signal)
        )

    async def auto_pay(self, payment_required: Any, wallet: str, **options: Any) -> PaymentResult:
        """See :meth:`exact_change.Service.auto_pay`."""
        fields = _payment_request(payment_required, wallet, options)
        return await self._run(lambda remote, signal: remote.auto_pay(fields, signal))

    async def aclose(self) -> None:
        """Closes the connections of this loop."""
        http = self._https.pop(this_loop(), None)
        if http is not None:
            await loop_host().run(http.close())

    def _begin(self) -> None:
        self._https: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopHttp] = (
            weakref.WeakKeyDictionary()
        )

    async def _run(self, ask: Callable[[RemoteTransport, Signal], Steps[T]]) -> T:
        loop = this_loop()
        http = self._https.get(loop)
        if http is None:
            forget_closed(self._https)
            http = self._https[loop] = LoopHttp(self._transport, self._trust_env)
        signal = Signal()
        return await loop_host().run(ask(self._over(http), signal), signal)
