"""A service that signs as fee payer, in the words of Kora's JSON-RPC."""

from __future__ import annotations

import base64
from typing import Any, Mapping, NamedTuple, Sequence

from .._base.base64_text import decode_base64
from .._base.js import ANSWER_DEPTH, MAX_SAFE, parse_json, stringify
from .._base.json_types import Record, is_list, is_number, is_record, record_of
from .._base.runtime import Runtime
from .._http.asking import PeerHttp
from .._http.own import Answer, HttpPort
from .._kernel.signals import Signal
from .._kernel.steps import both
from .._kernel.task import Steps
from .._solana.address import Address, is_address
from ..errors import ExactChangeError, failure

# No honest answer is longer.
_MAX_BODY_BYTES = 256 * 1024


class RelayerFacts(NamedTuple):
    """The facts that a relayer tells about itself."""

    # Signs as fee payer.
    fee_payer: Address
    # Owner of the token accounts that its fees go to.
    pay_to: Address
    # The tokens that it takes fees in; None if it takes any token.
    mints: Sequence[str] | None = None


class Relayer:
    """A relayer that speaks Kora's JSON-RPC; sends no request by itself.

    Its answers are hints: the transaction that it signed is judged before the wallet signs. Raises
    ``TransportError``.
    """

    def __init__(
        self, url: str, api_key: str | None, http: HttpPort, timeout_ms: float, runtime: Runtime
    ) -> None:
        self._url = url
        self._headers = [("content-type", "application/json")]
        if api_key is not None:
            self._headers.append(("x-api-key", api_key))
        self._http = PeerHttp(
            http, RelayerPeer(), timeout_ms, runtime, attempts=1, max_body=_MAX_BODY_BYTES
        )

    def facts(self, signal: Signal | None) -> Steps[RelayerFacts]:
        """Asks the relayer for the facts about itself."""
        payer, config = yield from both(
            self._call("getPayerSigner", None, signal), self._call("getConfig", None, signal)
        )
        fee_payer, pay_to = payer.get("signer_address"), payer.get("payment_address")
        if not is_address(fee_payer) or not is_address(pay_to):
            raise _unusable("it names no payer")
        paid = record_of(config.get("validation_config")).get("allowed_spl_paid_tokens")
        return RelayerFacts(fee_payer, pay_to, _mints_of(paid))

    def fee(
        self, transaction: bytes, mint: Address, facts: RelayerFacts, signal: Signal | None
    ) -> Steps[int]:
        """Returns the fee in base units of a mint, for a transaction as wire bytes."""
        params = {**_params_of(transaction, facts), "fee_token": mint}
        answer = yield from self._call("estimateTransactionFee", params, signal)
        addresses = answer.get("signer_pubkey"), answer.get("payment_address")
        if addresses != (facts.fee_payer, facts.pay_to):
            raise _unusable("it names another payer than before")
        fee = answer.get("fee_in_token")
        # Kora sends a JSON number, which holds only 53 bits.
        if not is_number(fee) or not 0 <= fee <= MAX_SAFE or fee != int(fee):
            raise _unusable("its fee is no amount")
        return int(fee)

    def sign(self, transaction: bytes, facts: RelayerFacts, signal: Signal | None) -> Steps[bytes]:
        """Returns the transaction as the relayer signed it, in wire bytes."""
        answer = yield from self._call("signTransaction", _params_of(transaction, facts), signal)
        signed = answer.get("signed_transaction")
        data = decode_base64(signed) if isinstance(signed, str) else None
        if data is None:
            raise _unusable("its transaction is not base64")
        return data

    def _call(
        self, method: str, params: Mapping[str, Any] | None, signal: Signal | None
    ) -> Steps[Record]:
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
        if params is not None:
            request["params"] = params
        body = stringify(request).encode()
        answer = yield from self._http.ask("POST", self._url, self._headers, body, signal)
        return _result_of(answer)


class RelayerPeer:
    """The errors for failed requests to a relayer."""

    def failing(self, answer: Answer, attempts: int, retry_after_ms: int) -> Exception:
        if answer.status == 429:
            return failure(
                "rate_limited",
                f"The relayer is rate limiting this client. Wait {retry_after_ms} ms.",
                {"retry_after_ms": retry_after_ms},
            )
        message = f"The relayer answered {answer.status}. Try again later."
        return _unavailable(message, answer.status)

    def lost(self, cause: Exception, attempts: int) -> Exception:
        message = "The relayer could not be reached. Try again, and check relayer.url."
        return _unavailable(message, 0, cause=cause)

    def late(self, timeout_ms: float, attempts: int) -> Exception:
        return failure(
            "timeout",
            f"The relayer did not answer within {timeout_ms:g} ms. Try again, or raise "
            "timeouts.service.",
            {"step": "relayer", "timeout_ms": timeout_ms},
        )

    def too_long(self, limit_bytes: int) -> Exception:
        return _unusable(f"it is longer than {limit_bytes} bytes")

    def is_lasting(self, answer: Answer) -> bool:
        return False


def _params_of(transaction: bytes, facts: RelayerFacts) -> Mapping[str, Any]:
    return {
        "transaction": base64.b64encode(transaction).decode(),
        "signer_key": facts.fee_payer,
        # The wallet's signature is still missing.
        "sig_verify": False,
    }


def _mints_of(paid: object) -> Sequence[str] | None:
    """Reads the tokens of a relayer's rules, which name none if it takes any."""
    if is_list(paid):
        return [mint for mint in paid if isinstance(mint, str)]
    if paid is None or paid == "All":
        return None
    raise _unusable("it names no tokens that it takes fees in")


def _result_of(answer: Answer) -> Record:
    try:
        response = record_of(parse_json(answer.body, ANSWER_DEPTH))
    except ValueError:
        response = {}
    error, result = response.get("error"), response.get("result")
    if is_record(error):
        message = error.get("message")
        untrusted = {"message": message if isinstance(message, str) else ""}
        refused = "The relayer refused; its reason is in untrusted."
        raise _unavailable(refused, answer.status, untrusted=untrusted)
    if not is_record(result):
        raise _unusable("it is no JSON-RPC result")
    return result


def _unavailable(message: str, status: int, **more: Any) -> ExactChangeError:
    return failure("service_unavailable", message, {"status": status}, **more)


def _unusable(reason: str) -> ExactChangeError:
    return failure(
        "invalid_response",
        f"The relayer's answer cannot be used: {reason}. Try again, and check relayer.url.",
        {"service": "relayer", "reason": reason},
    )
