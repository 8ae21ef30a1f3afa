"""Amounts of tokens in words: a token's own metadata may say anything, so only pinned symbols."""

from __future__ import annotations

from .amounts import format_ui_amount
from .network import WSOL_MINT, pinned_mint


def symbol_of(network: str, mint: str) -> str | None:
    """The pinned symbol of a mint."""
    pinned = pinned_mint(network, mint)
    return None if pinned is None else pinned.symbol


def amount_text(network: str, mint: str, amount: int, decimals: int | None = None) -> str:
    """``0.01 USDC``; ``0.01 of <mint>`` if it is not pinned; in base units without decimals."""
    pinned = pinned_mint(network, mint)
    if decimals is None and pinned is not None:
        decimals = pinned.decimals
    if decimals is None:
        return f"{amount} base units of {mint}"
    shown = format_ui_amount(amount, decimals)
    return f"{shown} of {mint}" if pinned is None else f"{shown} {pinned.symbol}"


def sol_text(lamports: int) -> str:
    """Lamports for people: ``0.00203928 SOL``."""
    return f"{format_ui_amount(lamports, 9)} SOL"


def funding_link(wallet: str, mint: str, amount: int, decimals: int) -> str:
    """What a wallet app opens to send a wallet so much of a token (Solana Pay)."""
    link = f"solana:{wallet}?amount={format_ui_amount(amount, decimals)}"
    # Native SOL has no mint, and no wallet app sends wrapped SOL.
    return link if mint == WSOL_MINT else f"{link}&spl-token={mint}"
