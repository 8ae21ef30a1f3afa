"""Token amounts for people. Only pinned symbols: a token's own metadata may say anything."""

from __future__ import annotations

from .amounts import format_ui_amount
from .network import WSOL_MINT, pinned_mint


def symbol_of(network: str, mint: str) -> str | None:
    """Returns the pinned symbol of a mint; None if the mint is not pinned."""
    pinned = pinned_mint(network, mint)
    return None if pinned is None else pinned.symbol


def amount_text(network: str, mint: str, amount: int, decimals: int | None = None) -> str:
    """Returns ``0.01 USDC``, or ``0.01 of <mint>`` if the mint is not pinned.

    If the decimals are unknown, the text is in base units.
    """
    pinned = pinned_mint(network, mint)
    if decimals is None and pinned is not None:
        decimals = pinned.decimals
    if decimals is None:
        return f"{amount} base units of {mint}"
    shown = format_ui_amount(amount, decimals)
    return f"{shown} of {mint}" if pinned is None else f"{shown} {pinned.symbol}"


def sol_text(lamports: int) -> str:
    """Formats lamports for people: ``0.00203928 SOL``."""
    return f"{format_ui_amount(lamports, 9)} SOL"


def funding_link(wallet: str, mint: str, amount: int, decimals: int) -> str:
    """Returns a Solana Pay link with which a wallet app sends this amount to the wallet."""
    link = f"solana:{wallet}?amount={format_ui_amount(amount, decimals)}"
    # For wrapped SOL the link asks for native SOL: no wallet app sends wrapped SOL.
    return link if mint == WSOL_MINT else f"{link}&spl-token={mint}"
