"""The transport over HTTP to a service. Its answers must have the shapes of the local transport."""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple, Sequence, cast
from urllib.parse import urlencode

from .._base.hidden import Hidden
from .._base.js import ANSWER_DEPTH, parse_json, stringify
from .._base.json_types import is_list
from .._base.options import refuse
from .._base.runtime import Runtime
from .._config.options import Config
from .._config.swap_request import ResolvedRequest
from .._http.asking import PeerHttp
from .._http.own import Answer, HttpPort
from .._kernel.signals import Signal
from .._kernel.steps import bounded, done
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.types import SwapBuild, SwapQuote
from .._wire.answers import balances_of, parsed_of, quote_json, quote_of, result_of, swap_of
from .._wire.messages import AUTO_PAY, BALANCE, BUILD_SWAP, PARSE_PAYMENT, QUOTE, Operation
from .._wire.problem import PROBLEM_TYPE, Signed, error_of, unusable
from .._wire.schema import Misfit
from ..errors import ExactChangeError, failure
from .types import ParsedPayment, PaymentResult, SwapTransaction, TokenBalance

_MAX_BODY_BYTES = 2 * 1024 * 1024
# States of a payment that the caller has signed. By any other state it would sign another.
_AFTER_PAYMENT = ("ready_to_present", "submitted", "settled", "failed")


class Service(NamedTuple):
    """The address of a service, and the means to call it."""

    # The service's URL, without a slash at the end.
    base_url: Hidden
    # Headers of each request. They reach only the service's own origin, because no redirect is
    # followed.
    headers: Sequence[tuple[str, Hidden]]
    http: HttpPort
    # Milliseconds for one call, with all its tries.
    timeout_ms: float
    runtime: Runtime


def bearer(key: str) -> tuple[str, Hidden]:
    """Returns the header that tells a service its key."""
    return "authorization", Hidden(f"Bearer {key}")


class RemoteTransport:
    """The operations of a service. Calls that change nothing are tried up to three times."""

    is_distant = True

    def __init__(self, service: Service) -> None:
        self._service = service

    @classmethod
    def of(cls, config: Config, http: HttpPort) -> RemoteTransport:
        """Returns the transport to the service of a client's options (``api_url``)."""
        key = config.api_key
        headers = [] if key is None else [bearer(key)]
        timeout_ms = config.timeouts.service
        url = config.api_url or Hidden()
        return cls(Service(url, headers, http, timeout_ms, config.runtime))

    def quote(self, request: ResolvedRequest, signal: Signal | None) -> Steps[SwapQuote]:
        fields: dict[str, Any] = {
            "inputMint": request.input_mint,
            "outputMint": request.output_mint,
            "amount": str(request.amount),
            "swapMode": request.swap_mode,
            "slippageBps": request.slippage_bps,
        }
        if request.max_accounts is not None:
            fields["maxAccounts"] = request.max_accounts
        return self.quote_as(fields, signal)

    def quote_as(self, request: Mapping[str, Any], signal: Signal | None) -> Steps[SwapQuote]:
        """Returns a quote for a request with the field names of the REST interface."""
        return quote_of((yield from self._call(QUOTE, request, signal)))

    def build(
        self, wallet: Address, quote: SwapQuote, signal: Signal | None
    ) -> Steps[SwapBuild | Any]:
        """Returns the transaction; the client reads the swap instruction from it."""
        return (yield from self.build_swap(wallet, quote, signal)).transaction

    def build_swap(
        self, wallet: str, quote: SwapQuote, signal: Signal | None
    ) -> Steps[SwapTransaction]:
        """Returns an unsigned transaction for a quote."""
        if not isinstance(cast("object", quote), SwapQuote):
            raise refuse("quote", "must be a quote of this library.")
        fields = {"wallet": wallet, "quote": quote_json(quote)}
        return swap_of((yield from self._call(BUILD_SWAP, fields, signal)))

    def balance(
        self, wallet: Address, mints: Sequence[Address] | None, signal: Signal | None
    ) -> Steps[list[TokenBalance]]:
        fields: dict[str, Any] = {"wallet": wallet}
        if mints is not None:
            # A query without mints would ask for all balances.
            if not mints:
                return (yield from done([]))
            fields["mint"] = list(mints)
        answer = yield from self._call(BALANCE, fields, signal)
        balances = balances_of(answer)
        if mints is not None and len(balances) != len(mints):
            raise unusable("it has not one balance for each mint")
        return balances

    def parse_payment(
        self, parts: Mapping[str, Any], signal: Signal | None
    ) -> Steps[ParsedPayment]:
        """Returns the offers of a 402, from its parts as they came."""
        return parsed_of((yield from self._call(PARSE_PAYMENT, parts, signal)))

    def auto_pay(self, request: Mapping[str, Any], signal: Signal | None) -> Steps[PaymentResult]:
        result = result_of((yield from self._call(AUTO_PAY, request, signal)))
        if _signed_in(request) == "payment" and result.state not in _AFTER_PAYMENT:
            raise unusable("it plans another payment beside the signed one", "payment")
        return result

    def _call(
        self, operation: Operation, request: Mapping[str, Any], signal: Signal | None
    ) -> Steps[Any]:
        _check_request(operation, request)
        sent = _signed_in(request)
        service, peer = self._service, ServicePeer(sent)
        # Send signed transactions only once: the chain shows if they arrived, another try does not.
        http = PeerHttp(
            service.http,
            peer,
            service.timeout_ms,
            service.runtime,
            attempts=3 if sent is None else 1,
            max_body=_MAX_BODY_BYTES,
        )
        own = [("accept", f"application/json, {PROBLEM_TYPE}")]
        url, body = service.base_url + operation.path, b""
        if operation.method == "GET":
            url += f"?{_query(request)}"
        else:
            own.append(("content-type", "application/json"))
            try:
                body = stringify(request).encode()
            except (TypeError, ValueError, RecursionError):
                raise refuse("request", "must be what JSON can hold.") from None
        # A second content type beside ours would make a request that no service can read.
        names = [name for name, _ in own]
        headers = [*own, *(pair for pair in service.headers if pair[0].lower() not in names)]
        answer = yield from bounded(
            service.timeout_ms,
            lambda: peer.late(service.timeout_ms, 1),
            [signal],
            lambda bounded_signal: http.ask(operation.method, url, headers, body, bounded_signal),
        )
        return _read(operation, answer, sent)


class ServicePeer:
    """The errors for failures of a service.

    ``sent`` is what the request had signed: unless the service tells a swap's end, it may still
    land.
    """

    def __init__(self, sent: Signed | None) -> None:
        self._sent: Signed | None = sent
        # Fields of each error while the fate of a signed transaction is not known.
        self._open: dict[str, Any] = {}
        self._advice = "Try again"
        if sent is not None:
            self._open = {"funds": "uncertain", "retry": "same"}
            self._advice = "What was signed may still land: send the same again"

    def failing(self, answer: Answer, attempts: int, retry_after_ms: int) -> Exception:
        problem = _problem_in(answer)
        if problem is not None:
            return error_of(problem, sent=self._sent)
        if answer.status != 429:
            predicate = f"answered {answer.status} in {_times(attempts)}"
            return self._unavailable(predicate, answer.status)
        return failure(
            "rate_limited",
            f"The service is rate limiting this client. {self._advice} in {retry_after_ms} ms.",
            {"retry_after_ms": retry_after_ms},
            **self._open,
        )

    def lost(self, cause: Exception, attempts: int) -> Exception:
        predicate = f"gave no answer, or a redirect, in {_times(attempts)}"
        return self._unavailable(predicate, 0, cause)

    def late(self, timeout_ms: float, attempts: int) -> Exception:
        return failure(
            "timeout",
            f"The service did not answer within {timeout_ms:g} ms. {self._advice}, or give it more "
            "time.",
            {"step": "service", "timeout_ms": timeout_ms},
            **self._open,
        )

    def too_long(self, limit_bytes: int) -> Exception:
        return unusable(f"it is longer than {limit_bytes} bytes", self._sent)

    def is_lasting(self, answer: Answer) -> bool:
        problem = _problem_in(answer)
        return problem is not None and error_of(problem, sent=self._sent).retry == "never"

    def _unavailable(
        self, predicate: str, status: int, cause: Exception | None = None
    ) -> Exception:
        return failure(
            "service_unavailable",
            f"The service {predicate}. {self._advice}, and check its address.",
            {"status": status},
            cause=cause,
            **self._open,
        )


def _signed_in(request: Mapping[str, Any]) -> Signed | None:
    if "signedPayment" in request:
        return "payment"
    return "swap" if "signedSwap" in request else None


def _check_request(operation: Operation, request: Mapping[str, Any]) -> None:
    """Raises ``invalid_option``, which names the field."""
    try:
        operation.request(request)
    except Misfit as misfit:
        # For a query, name only the field, because its sender has no nested values.
        path = misfit.path
        if operation.method == "GET":
            path = re.split("[.[]", path, maxsplit=1)[0]
        raise refuse(path or "request", misfit.rule) from None


def _read(operation: Operation, answer: Answer, sent: Signed | None) -> Any:
    """Returns the answer of a service, if it fits the operation's schema.

    Raises the error of the service's problem, or ``invalid_response``.
    """
    if answer.status != 200:
        raise _refusal_in(answer, sent)
    value = _json_in(answer, "application/json")
    if value is None:
        raise unusable("it is not JSON", sent)
    try:
        return operation.response(value)
    except Misfit as misfit:
        # Field and rule may contain text of the service, so they are not in the message.
        raise unusable(
            f"it is not what {operation.path} promises",
            sent,
            {"field": misfit.path, "rule": misfit.rule},
        )


def _refusal_in(answer: Answer, sent: Signed | None) -> ExactChangeError:
    problem = _problem_in(answer)
    if problem is None:
        reason = f"it has status {answer.status} and no JSON of a service; check the address"
        return unusable(reason, sent)
    return error_of(problem, sent=sent)


def _problem_in(answer: Answer) -> Any:
    """Returns the problem JSON of an answer, unchecked; None if the answer has none."""
    return _json_in(answer, PROBLEM_TYPE)


def _json_in(answer: Answer, type_: str) -> Any:
    """Returns the JSON of an answer with this media type; None for any other answer."""
    media_type = (answer.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if media_type != type_:
        return None
    try:
        return parse_json(answer.body.decode("utf-8-sig"), ANSWER_DEPTH)
    except ValueError:
        # Drop the parser's error, because it quotes the service's text.
        return None


def _query(request: Mapping[str, Any]) -> str:
    pairs = [
        (name, str(item))
        for name, value in request.items()
        for item in (value if is_list(value) else [value])
    ]
    return urlencode(pairs)


def _times(attempts: int) -> str:
    return "one attempt" if attempts == 1 else f"{attempts} attempts"
