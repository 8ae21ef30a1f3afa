"""Connects a client to Jupiter."""

from __future__ import annotations

from .._base.runtime import Runtime
from .._http.asking import PeerHttp
from .._http.own import HttpPort
from .._solana.address import Address
from .._swap.types import SwapProvider
from .api import JupiterAt, JupiterV1, JupiterV2
from .fallback import Fallback
from .limiter import jupiter_limiter
from .peer import JupiterPeer


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
