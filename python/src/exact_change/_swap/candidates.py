"""Which tokens are tried, in which order."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAMS, WSOL_MINT, pinned_mint
from .._solana.address import Address
from .._solana.tokens import TokenAccount, associated_token_address


class Holding(NamedTuple):
    """A token account of the wallet, as listed by the chain."""

    address: Address
    account: TokenAccount


class Holdings(NamedTuple):
    """What a wallet holds."""

    network: str
    wallet: Address
    lamports: int
    tokens: Sequence[Holding]


class CandidateChoice(NamedTuple):
    """What may be swapped from."""

    # What is to be bought.
    output_mint: Address
    # Lamports to keep back for network fees, rent and the wallet's own minimum.
    keep_lamports: int
    # Mints or pinned symbols, in order; nothing else is swapped from.
    swap_from: Sequence[str] | None = None
    # What others have reserved, in base units by mint; SOL, wrapped or not, is `WSOL_MINT`.
    reserved: Mapping[Address, int] = {}
    # What a holding is worth, in any one unit, by mint; those without come last.
    values: Mapping[Address, int] = {}


class Candidate(NamedTuple):
    """A token to swap from, and how much of it may be spent."""

    mint: Address
    available: int


def order_candidates(holdings: Holdings, choice: CandidateChoice) -> list[Candidate]:
    """The tokens to try, best first: the caller's own order, or stablecoins, SOL, then by value.

    Left out are what is to be bought, accounts that are frozen, delegated or not the associated
    one, and what looks like an NFT.
    """
    network, values = holdings.network, choice.values
    held = {
        one.account.mint: one.account.amount
        for one in holdings.tokens
        if _is_spendable(holdings.wallet, one)
    }
    native = max(0, holdings.lamports - choice.keep_lamports)
    held[WSOL_MINT] = held.get(WSOL_MINT, 0) + native
    held.pop(choice.output_mint, None)
    candidates = [
        Candidate(mint, amount - choice.reserved.get(mint, 0)) for mint, amount in held.items()
    ]
    candidates = [one for one in candidates if one.available > 0]
    if choice.swap_from is not None:
        pinned = ((name, pinned_mint(network, name)) for name in choice.swap_from)
        order = [name if known is None else known.mint for name, known in pinned]
        return [one for mint in order for one in candidates if one.mint == mint]

    def rank(one: Candidate) -> int:
        known = pinned_mint(network, one.mint)
        if known is not None and known.dollar:
            return 0
        if one.mint == WSOL_MINT:
            return 1
        return 2 if one.mint in values else 3

    # Stablecoins are compared by amount: those that are pinned all have the same decimals.
    return sorted(candidates, key=lambda one: (rank(one), -values.get(one.mint, one.available)))


def _is_spendable(wallet: Address, holding: Holding) -> bool:
    address, account = holding
    if account.owner != wallet or account.state != "initialized" or account.delegate is not None:
        return False
    if account.close_authority not in (None, wallet) or account.token_program not in TOKEN_PROGRAMS:
        return False
    # One base unit is an NFT, or not worth a swap.
    own = associated_token_address(wallet, account.mint, account.token_program)
    return account.amount > 1 and address == own
