"""Chooses the tokens to swap from, and their order."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAMS, WSOL_MINT, pinned_mint
from .._firewall.own_accounts import OWN_ACCOUNT_RULES, OwnAccountSubject
from .._firewall.rule import broken_by
from .._solana.address import Address
from .._solana.tokens import TokenAccount, associated_token_address


class Holding(NamedTuple):
    """A token account of the wallet, as listed by the chain."""

    address: Address
    account: TokenAccount


class Holdings(NamedTuple):
    """The lamports and the token accounts of a wallet."""

    network: str
    wallet: Address
    lamports: int
    tokens: Sequence[Holding]


class CandidateChoice(NamedTuple):
    # The mint to buy.
    output_mint: Address
    # Lamports to keep back for network fees, rent and the wallet's own minimum.
    keep_lamports: int
    # Mints or pinned symbols, in order; no other token is swapped from.
    swap_from: Sequence[str] | None = None
    # Base units that other calls have reserved, by mint; SOL, wrapped or not, is `WSOL_MINT`.
    reserved: Mapping[Address, int] = {}


class Candidate(NamedTuple):
    """A token to swap from, and how much of it may be spent."""

    mint: Address
    available: int


def order_candidates(holdings: Holdings, choice: CandidateChoice) -> list[Candidate]:
    """Returns the tokens to try, best first.

    They are in the caller's own order, or stablecoins, SOL, then other tokens by amount. Leaves out
    the token to buy and tokens that look like an NFT. Also leaves out accounts that no swap can
    use, and SOL if the account for wrapped SOL is one.
    """
    network, wallet = holdings.network, holdings.wallet
    held = {WSOL_MINT: max(0, holdings.lamports - choice.keep_lamports)}
    for holding in holdings.tokens:
        mint, amount = holding.account.mint, holding.account.amount
        if not _is_own(wallet, holding):
            continue
        # A balance of one base unit is an NFT, or not worth a swap.
        if not _is_usable(wallet, holding.account):
            held.pop(mint, None)
        elif amount > 1:
            held[mint] = held.get(mint, 0) + amount
    held.pop(choice.output_mint, None)
    candidates = [
        Candidate(mint, amount - choice.reserved.get(mint, 0)) for mint, amount in held.items()
    ]
    candidates = [candidate for candidate in candidates if candidate.available > 0]
    if choice.swap_from is not None:
        pinned = ((name, pinned_mint(network, name)) for name in choice.swap_from)
        order = [name if known is None else known.mint for name, known in pinned]
        return [candidate for mint in order for candidate in candidates if candidate.mint == mint]

    def rank(candidate: Candidate) -> int:
        known = pinned_mint(network, candidate.mint)
        if known is not None and known.dollar:
            return 0
        return 1 if candidate.mint == WSOL_MINT else 2

    # Stablecoins compare by amount, because all pinned stablecoins have the same decimals.
    return sorted(candidates, key=lambda candidate: (rank(candidate), -candidate.available))


def _is_own(wallet: Address, holding: Holding) -> bool:
    address, account = holding
    return account.token_program in TOKEN_PROGRAMS and address == associated_token_address(
        wallet, account.mint, account.token_program
    )


def _is_usable(wallet: Address, held: TokenAccount) -> bool:
    subject = OwnAccountSubject(wallet, held.mint, held)
    return not held.has_cpi_guard and broken_by(OWN_ACCOUNT_RULES, subject) is None
