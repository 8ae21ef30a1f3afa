"""Names of chains that offers ask for and that the client cannot pay on."""

from __future__ import annotations

from typing import NamedTuple

from .._base.network import CLUSTERS, to_network
from .._base.text import trim

# Chains that sellers name most: CAIP-2 id, x402 v1 name, and common name.
_CHAINS = (
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
    """Why an offer for another network is not paid, and what the caller can do."""

    why: str
    following: str


def other_network(name: str, network: str) -> OtherNetwork:
    """Returns why an offer for another network than the client's is not paid.

    ``name`` is the seller's name of its network; the result does not repeat it. ``network`` is the
    CAIP-2 id of the client's cluster.
    """
    own_cluster = CLUSTERS.get(network, network)
    cluster = CLUSTERS.get(to_network(name) or "")
    if cluster is not None:
        return OtherNetwork(
            f"is for Solana {cluster}, and this client is on {own_cluster}",
            f"Nothing was paid; use a client with network: '{cluster}'.",
        )
    id_ = trim(name)
    chain = next((common for *names, common in _CHAINS if id_ in names), None)
    if chain is None:
        chain = "another EVM chain" if id_.startswith("eip155:") else "another network"
    return OtherNetwork(
        f"is for {chain}, and this client pays on Solana",
        "Nothing was paid; pay it from a wallet of that network, or ask the seller to take Solana.",
    )
