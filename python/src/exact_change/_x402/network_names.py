"""Chains that offers are for and that are not paid on, in words."""

from __future__ import annotations

from typing import NamedTuple

from .._base.network import CLUSTERS, to_network
from .._base.text import trim

# Those that sellers name most: CAIP-2 id, x402 v1 name, and what people call them.
_OTHERS = (
    ("eip155:8453", "base", "Base"),
    ("eip155:84532", "base-sepolia", "Base Sepolia"),
    ("eip155:1", "ethereum", "Ethereum"),
    ("eip155:137", "polygon", "Polygon"),
    ("eip155:80002", "polygon-amoy", "Polygon Amoy"),
    ("eip155:42161", "arbitrum", "Arbitrum"),
    ("eip155:43114", "avalanche", "Avalanche"),
    ("eip155:43113", "avalanche-fuji", "Avalanche Fuji"),
    ("eip155:1329", "sei", "Sei"),
)


class OtherNetwork(NamedTuple):
    """Why an offer for another network is not paid, and what to do."""

    why: str
    following: str


def other_network(name: str, network: str) -> OtherNetwork:
    """``name``: the seller's own, which is not repeated. ``network``: the client's, CAIP-2."""
    own = CLUSTERS.get(network, network)
    cluster = CLUSTERS.get(to_network(name) or "")
    if cluster is not None:
        return OtherNetwork(
            f"is for Solana {cluster}, and this client is on {own}",
            f"Nothing was paid; use a client with network: '{cluster}'.",
        )
    id_ = trim(name)
    chain = next((called for *names, called in _OTHERS if id_ in names), None)
    if chain is None:
        chain = "another EVM chain" if id_.startswith("eip155:") else "another network"
    return OtherNetwork(
        f"is for {chain}, and this client pays on Solana",
        "Nothing was paid; pay it from a wallet of that network, or ask the seller to take Solana.",
    )
