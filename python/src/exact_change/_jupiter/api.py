"""Jupiter's two swap APIs: v1 quotes exact outputs; v2 replaces it."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple
from urllib.parse import urlencode

from .._base.js import stringify
from .._base.json_types import is_list, is_record
from .._base.runtime import Runtime, since_then
from .._http.asking import PeerHttp
from .._http.own import Answer
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.types import QuoteIntent, SwapBuild, SwapQuote
from ..errors import ExactChangeError, failure, is_code
from .answer import foreign_quote, invalid_answer, parse_object, read_build, read_quote
from .refusal import refusal_of

# Age of a `/build` quote up to which its own instructions are used; later it is quoted again.
_BUILD_FRESH_MS = 10_000


class JupiterAt(NamedTuple):
    """The address of Jupiter, and the means to call it."""

    base_url: str
    api_key: str | None
    http: PeerHttp
    runtime: Runtime

    def get(self, path: str, query: Mapping[str, str], signal: Signal | None) -> Steps[Answer]:
        """Sends a GET request."""
        url = self.base_url + f"{path}?{urlencode(query)}"
        return self.http.ask("GET", url, self._key_header(), signal=signal)

    def post(self, path: str, body: object, signal: Signal | None) -> Steps[Answer]:
        """Sends a POST request with a JSON body."""
        headers = [("content-type", "application/json"), *self._key_header()]
        url = self.base_url + path
        return self.http.ask("POST", url, headers, stringify(body).encode(), signal)

    def _key_header(self) -> list[tuple[str, str]]:
        return [] if self.api_key is None else [("x-api-key", self.api_key)]


class JupiterV1:
    """The Swap API v1, which quotes ``ExactOut`` too; the quote goes back as it came."""

    id = "jupiter-v1"

    def __init__(self, at: JupiterAt) -> None:
        self._at = at

    def quote(self, intent: QuoteIntent, signal: Signal | None) -> Steps[SwapQuote]:
        query = {
            **_query(intent),
            "swapMode": intent.swap_mode,
            "restrictIntermediateTokens": "true",
            "instructionVersion": "V2",
        }
        answer = yield from self._at.get("/swap/v1/quote", query, signal)
        raw = _object_in(answer, intent.input_mint, intent.output_mint)
        return read_quote(raw, intent, self.id, self._at.runtime.now())

    def build(self, quote: SwapQuote, wallet: Address, signal: Signal | None) -> Steps[SwapBuild]:
        raw = quote.raw
        if not is_record(raw) or not is_list(raw.get("routePlan")):
            raise foreign_quote()
        # We wrap and unwrap SOL ourselves, so the swap uses the wallet's wrapped SOL account.
        body = {"userPublicKey": wallet, "quoteResponse": raw, "wrapAndUnwrapSol": False}
        answer = yield from self._at.post("/swap/v1/swap-instructions", body, signal)
        built = _object_in(answer, quote.input_mint, quote.output_mint)
        return read_build(built.get("swapInstruction"), built.get("addressLookupTableAddresses"))


class JupiterV2:
    """The Swap API v2, ``GET /build``. It quotes ``ExactIn`` only.

    The quote comes with its instructions. ``taker`` is the wallet to quote for: ``/build`` gives no
    quote without a wallet.
    """

    id = "jupiter-v2"

    def __init__(self, at: JupiterAt, taker: Address) -> None:
        self._at = at
        self._taker = taker
        # The parameter `transactionVersion` is undocumented, but strict clients send it. If the
        # service refuses it, later requests leave it out.
        self._pins_version = True

    def quote(self, intent: QuoteIntent, signal: Signal | None) -> Steps[SwapQuote]:
        if intent.swap_mode == "ExactOut":
            raise _no_exact_out(intent)
        raw = yield from self._request(intent, signal)
        return read_quote(raw, intent, self.id, self._at.runtime.now())

    def build(self, quote: SwapQuote, wallet: Address, signal: Signal | None) -> Steps[SwapBuild]:
        current = quote
        if since_then(self._at.runtime, quote.quoted_at) > _BUILD_FRESH_MS:
            amount = int(quote.in_amount)
            intent = QuoteIntent(
                quote.input_mint, quote.output_mint, amount, "ExactIn", quote.slippage_bps
            )
            current = yield from self.quote(intent, signal)
        if current.min_out < quote.min_out:
            raise failure(
                "quote_mismatch",
                "The price moved before the swap was built. Quote again.",
                {"reason": "the price moved before the swap was built"},
            )
        if not is_record(current.raw):
            raise foreign_quote()
        # Take only the addresses of the tables: we read their contents from the caller's own node.
        tables = current.raw.get("addressesByLookupTableAddress")
        names = list(tables) if is_record(tables) else []
        return read_build(current.raw.get("swapInstruction"), names)

    def _request(self, intent: QuoteIntent, signal: Signal | None) -> Steps[dict[str, Any]]:
        try:
            return (yield from self._send(self._pins_version, intent, signal))
        except ExactChangeError as error:
            is_refused = is_code(error, "jupiter_unavailable") and error.details["status"] == 400
            if not self._pins_version or not is_refused:
                raise
        raw = yield from self._send(False, intent, signal)
        self._pins_version = False
        return raw

    def _send(
        self, pinned: bool, intent: QuoteIntent, signal: Signal | None
    ) -> Steps[dict[str, Any]]:
        query = {**_query(intent), "taker": self._taker, "wrapAndUnwrapSol": "false"}
        if pinned:
            query["transactionVersion"] = "0"
        answer = yield from self._at.get("/swap/v2/build", query, signal)
        raw = _object_in(answer, intent.input_mint, intent.output_mint)
        if raw.get("transactionVersion") not in (None, 0):
            raise invalid_answer("it is not for a version 0 transaction")
        return raw


def _no_exact_out(intent: QuoteIntent) -> ExactChangeError:
    return failure(
        "no_route",
        "This service quotes exact inputs only. Ask for ExactIn.",
        {"input_mint": intent.input_mint, "output_mint": intent.output_mint},
    )


def _query(intent: QuoteIntent) -> dict[str, str]:
    query = {
        "inputMint": intent.input_mint,
        "outputMint": intent.output_mint,
        "amount": str(intent.amount),
        "slippageBps": str(intent.slippage_bps),
    }
    if intent.max_accounts is not None:
        query["maxAccounts"] = str(intent.max_accounts)
    return query


def _object_in(answer: Answer, input_mint: Address, output_mint: Address) -> dict[str, Any]:
    """Returns the JSON object of a successful answer; raises for any other answer."""
    if not 200 <= answer.status < 300:
        raise refusal_of(answer.status, answer.body, input_mint, output_mint)
    raw = parse_object(answer.body)
    # Jupiter has answered errors with status 200.
    if isinstance(raw.get("error"), str):
        raise refusal_of(400, answer.body, input_mint, output_mint)
    return raw
