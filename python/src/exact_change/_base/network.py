"""Clusters of Solana, programs, and mints whose facts are pinned."""

from __future__ import annotations

from typing import NamedTuple

from .._spec import table
from .text import trim

_spec = table("networks")

SOLANA_MAINNET: str = _spec["clusters"]["mainnet"]
SOLANA_DEVNET: str = _spec["clusters"]["devnet"]
SOLANA_TESTNET: str = _spec["clusters"]["testnet"]
CLUSTERS: dict[str, str] = {id_: name for name, id_ in _spec["clusters"].items()}

SYSTEM_PROGRAM: str = _spec["programs"]["system"]
TOKEN_PROGRAM: str = _spec["programs"]["token"]
TOKEN_2022_PROGRAM: str = _spec["programs"]["token2022"]
ASSOCIATED_TOKEN_PROGRAM: str = _spec["programs"]["associatedToken"]
COMPUTE_BUDGET_PROGRAM: str = _spec["programs"]["computeBudget"]
MEMO_PROGRAM: str = _spec["programs"]["memo"]
LOOKUP_TABLE_PROGRAM: str = _spec["programs"]["lookupTable"]
JUPITER_PROGRAM: str = _spec["programs"]["jupiter"]
JUPITER_EVENT_AUTHORITY: str = _spec["programs"]["jupiterEventAuthority"]
TOKEN_PROGRAMS = (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)

# The mint of wrapped SOL, which Jupiter also takes for native SOL.
WSOL_MINT: str = _spec["wrappedSol"]
RESERVED_ADDRESSES: frozenset[str] = frozenset(_spec["reserved"])


class PinnedMint(NamedTuple):
    """A mint whose facts are pinned: checked against the chain, never taken from a seller."""

    mint: str
    symbol: str
    decimals: int
    token_program: str
    # Worth one US dollar a token, by its issuer's promise.
    dollar: bool


_mints: dict[str, tuple[PinnedMint, ...]] = {
    network: tuple(
        PinnedMint(one["mint"], one["symbol"], one["decimals"], one["tokenProgram"], one["dollar"])
        for one in mints
    )
    for network, mints in _spec["mints"].items()
}
EVERY_PINNED_MINT: tuple[PinnedMint, ...] = tuple(one for mints in _mints.values() for one in mints)


def to_network(name: str) -> str | None:
    """The CAIP-2 id that a seller's or caller's name stands for; None if it is none we know."""
    known: str | None = _spec["names"].get(trim(name))
    return known


def named_network(name: str) -> str | None:
    """As :func:`to_network`, and by plain names (``"devnet"``), which an option may have."""
    return to_network(name) or to_network(f"solana-{trim(name)}")


def pinned_mints(network: str) -> tuple[PinnedMint, ...]:
    """The pinned mints of a cluster, stablecoins first."""
    return _mints[network if network == SOLANA_MAINNET else SOLANA_DEVNET]


def pinned_mint(network: str, mint_or_symbol: str) -> PinnedMint | None:
    """A pinned mint by its address or symbol (``"USDC"``); None if it is not pinned."""
    for one in pinned_mints(network):
        if mint_or_symbol in (one.mint, one.symbol):
            return one
    return None
