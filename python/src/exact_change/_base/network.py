"""Solana clusters, program ids, and mints with pinned facts."""

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
# Programs of Merkle trees with assets and tokens as leaves.
COMPRESSION_PROGRAMS: frozenset[str] = frozenset(_spec["compressionPrograms"])

# The mint of wrapped SOL, which Jupiter also takes for native SOL.
WSOL_MINT: str = _spec["wrappedSol"]
RESERVED_ADDRESSES: frozenset[str] = frozenset(_spec["reserved"])


class PinnedMint(NamedTuple):
    """A mint with pinned facts: checked against the chain, never taken from a seller."""

    mint: str
    symbol: str
    decimals: int
    token_program: str
    # Whether the issuer promises one US dollar for each token.
    dollar: bool


_mints: dict[str, tuple[PinnedMint, ...]] = {
    network: tuple(
        PinnedMint(
            mint["mint"], mint["symbol"], mint["decimals"], mint["tokenProgram"], mint["dollar"]
        )
        for mint in mints
    )
    for network, mints in _spec["mints"].items()
}
EVERY_PINNED_MINT: tuple[PinnedMint, ...] = tuple(
    mint for mints in _mints.values() for mint in mints
)


def to_network(name: str) -> str | None:
    """Returns the CAIP-2 id of the name that a seller or caller gives; None if it is unknown."""
    known: str | None = _spec["names"].get(trim(name))
    return known


def named_network(name: str) -> str | None:
    """Same as :func:`to_network`, but also takes ``"devnet"``, which an option may hold."""
    return to_network(name) or to_network(f"solana-{trim(name)}")


def pinned_mints(network: str) -> tuple[PinnedMint, ...]:
    """Returns the pinned mints of a cluster, stablecoins first."""
    return _mints[network if network == SOLANA_MAINNET else SOLANA_DEVNET]


def pinned_mint(network: str, mint_or_symbol: str) -> PinnedMint | None:
    """Returns a pinned mint by its address or symbol (``"USDC"``); None if it is not pinned."""
    for pinned in pinned_mints(network):
        if mint_or_symbol in (pinned.mint, pinned.symbol):
            return pinned
    return None
