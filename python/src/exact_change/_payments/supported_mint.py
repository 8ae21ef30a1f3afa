"""Judges whether payments in a mint are possible."""

from __future__ import annotations

from .._base.network import PinnedMint
from .._solana.tokens import Mint
from .._spec import table
from ..errors import ExactChangeError, failure

_tokens = table("tokens")
# Extensions that do not change what a transfer takes and delivers.
_HARMLESS: frozenset[str] = frozenset(_tokens["harmless"])
# Extensions that a pinned issuer may have while they are idle; `judge_mint` checks their state.
_ISSUERS: frozenset[str] = frozenset(_tokens["ofIssuers"])


def judge_mint(address: str, mint: Mint, pinned: PinnedMint | None) -> ExactChangeError | None:
    """Returns why no payment in a mint is possible, or None.

    It refuses unknown Token-2022 extensions, because a transfer with them may do something else.
    """

    def refuse(reason: str, following: str) -> ExactChangeError:
        return failure(
            "mint_not_supported",
            f"The mint {address} {reason}. {following}",
            {"mint": address, "reason": reason},
        )

    pay_otherwise = "Pay with another token."
    if pinned is not None and (pinned.decimals, pinned.token_program) != (
        mint.decimals,
        mint.token_program,
    ):
        return refuse(
            "is not on this network what it is pinned to be",
            "Check that the RPC node serves the right network.",
        )
    if mint.transfer_fee_bps > 0:
        return refuse(
            "takes a fee from each transfer, so the payee would get less than the price",
            pay_otherwise,
        )
    if mint.transfer_hook_program is not None:
        return refuse("runs a program of its own on each transfer", pay_otherwise)
    if mint.paused:
        return refuse("is paused by its issuer", "Try again later or pay with another token.")
    allowed = _HARMLESS if pinned is None else _HARMLESS | _ISSUERS
    unknown = next((name for name in mint.extensions if name not in allowed), None)
    if unknown is None:
        return None
    return refuse(f"has the extension {unknown}, which is not allowed for it", pay_otherwise)
