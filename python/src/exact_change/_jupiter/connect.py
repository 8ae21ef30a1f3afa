"""Connects a client to Jupiter, and joins its two APIs into one provider."""

from __future__ import annotations

from collections import OrderedDict

from .._base.runtime import Runtime, since_then
from .._http.asking import PeerHttp
from .._http.own import HttpPort
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._swap.types import QuoteIntent, SwapBuild, SwapProvider, SwapQuote
from ..errors import is_code
from .answer import foreign_quote
from .api import JupiterAt, JupiterV1, JupiterV2
from .limiter import jupiter_limiter
from .peer import JupiterPeer

# Jupiter v1 is superseded: after it is switched off, it answers with one of these statuses.
_SUNSET = (401, 404, 410)
# Milliseconds for which a pair is known to have no `ExactOut` route.
_REMEMBER_MS = 60_000
_MAX_REMEMBERED = 256


def connect_jupiter(
    base_url: str,
    api_key: str | None,
    http: HttpPort,
    timeout_ms: float,
    runtime: Runtime,
    taker: Address,
) -> SwapProvider:
    """Joins Jupiter's two APIs into one provider.

    v1 quotes exact outputs; v2 quotes if v1 has no route or is switched off.
    """
    limiter = jupiter_limiter(base_url, api_key, timeout_ms, runtime)
    peer = PeerHttp(http, JupiterPeer(), timeout_ms, runtime, limiter)
    at = JupiterAt(base_url, api_key, peer, runtime)
    return Fallback(JupiterV1(at), JupiterV2(at, taker), runtime)


class Fallback:
    """Joins two providers: asks ``second`` if ``first`` has no route or is switched off.

    Only ``first`` quotes ``ExactOut``. If it cannot quote a pair ``ExactOut``, ``second`` quotes
    the pair next, because its quotes come with their instructions. A rate limit or an outage never
    changes the provider: both are behind the same gateway.
    """

    id = "jupiter"

    def __init__(self, first: SwapProvider, second: SwapProvider, runtime: Runtime) -> None:
        self._first = first
        self._second = second
        self._runtime = runtime
        self._is_gone = False
        # Milliseconds since the epoch at which each pair had no `ExactOut` route.
        self._without: OrderedDict[tuple[Address, Address], int] = OrderedDict()

    def quote(self, intent: QuoteIntent, signal: Signal | None) -> Steps[SwapQuote]:
        if intent.swap_mode == "ExactOut":
            return (yield from self._exact_out(intent, signal))
        order = [self._first, self._second]
        if self._is_gone:
            order = [self._second]
        elif self._is_without(intent):
            order.reverse()
        for provider in order:
            try:
                return (yield from provider.quote(intent, signal))
            except Exception as error:
                passes = is_code(error, "no_route") or self._is_sunset(error)
                if provider is order[-1] or not passes:
                    raise
        raise TypeError("no provider left")

    def build(self, quote: SwapQuote, wallet: Address, signal: Signal | None) -> Steps[SwapBuild]:
        for provider in (self._first, self._second):
            if provider.id != quote.provider:
                continue
            try:
                return (yield from provider.build(quote, wallet, signal))
            except Exception as error:
                # If `first` is switched off, the next quote comes from `second`.
                if provider is self._first:
                    self._is_sunset(error)
                raise
        raise foreign_quote("the quote is of another provider")

    def _exact_out(self, intent: QuoteIntent, signal: Signal | None) -> Steps[SwapQuote]:
        pair = intent.input_mint, intent.output_mint
        if not self._is_gone:
            try:
                return (yield from self._first.quote(intent, signal))
            except Exception as error:
                if not self._is_sunset(error):
                    if is_code(error, "no_route"):
                        self._without[pair] = self._runtime.now()
                        self._without.move_to_end(pair)
                        if len(self._without) > _MAX_REMEMBERED:
                            self._without.popitem(last=False)
                    raise
        # It says itself that it quotes exact inputs only.
        return (yield from self._second.quote(intent, signal))

    def _is_without(self, intent: QuoteIntent) -> bool:
        at = self._without.get((intent.input_mint, intent.output_mint))
        return at is not None and since_then(self._runtime, at) < _REMEMBER_MS

    def _is_sunset(self, error: Exception) -> bool:
        """Whether an error shows that ``first`` is switched off; it is then not asked again."""
        details = getattr(error, "details", {})
        if not is_code(error, "jupiter_unavailable") or details["status"] not in _SUNSET:
            return False
        self._is_gone = True
        return True
