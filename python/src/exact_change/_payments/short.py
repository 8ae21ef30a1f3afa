"""Errors for a price that the wallet cannot pay."""

from __future__ import annotations

import sys

from .._base.network import WSOL_MINT
from .._base.token_text import amount_text, funding_link, sol_text
from .._journal.balances import Fresh
from .._journal.types import Owner
from .._kernel.steps import quiet
from .._kernel.task import Steps
from .._solana.address import Address
from .._x402.types import Offer
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .offer_accounts import OfferFacts

# Lamports that a payment out of SOL leaves in the wallet for fees, and for the rent of accounts
# that a swap may create. The real amounts are checked against the wallet before the signature.
KEEP_LAMPORTS = 8_000_000


def too_little_held(
    owner: Owner, offer: Offer, facts: OfferFacts, *, auto_swap: bool
) -> ExactChangeError:
    """Returns the error for a wallet that holds too little of an offer's token.

    Advises to allow swaps, unless a swap was possible (``auto_swap``).
    """
    with_swaps = "Turn auto_swap on to swap from another token, or fund the wallet"
    advice = "Fund the wallet" if auto_swap else with_swaps
    price = amount_text(owner.network, offer.mint, offer.amount, facts.decimals)
    message = f"The price is {price}, and {_holding(owner, offer.mint, facts)}. {advice}"
    return _too_little(owner, offer.mint, offer.amount, facts, message)


def no_token_covers(
    context: PaymentContext, mint: Address, needed: int, facts: OfferFacts
) -> ExactChangeError:
    """Returns the error if also no token that may be swapped is worth the difference."""
    owner = context.owner
    swap_from = context.config.swap_from
    allowed = "" if swap_from is None else "of swap_from that "
    takes_sol = swap_from is None or WSOL_MINT in swap_from
    kept = f", beyond {sol_text(KEEP_LAMPORTS)} for fees," if takes_sol else ""
    need = amount_text(owner.network, mint, needed, facts.decimals)
    message = (
        f"The payment needs {need}, {_holding(owner, mint, facts)}, and no token "
        f"{allowed}it holds{kept} is worth the difference. Fund the wallet"
    )
    return _too_little(owner, mint, needed, facts, message)


def outdate_balance(context: PaymentContext, facts: OfferFacts) -> Steps[None]:
    """Makes the next call read a short balance again, because the wallet may be funded meanwhile.

    The balance is kept with an old time: a reading that follows no known balance would subtract
    payments that have landed twice, until their holds end. It is the balance of now, because a
    payment may have left since the facts were read.
    """

    def outdate() -> Steps[None]:
        amount = yield from context.ledger.available(facts.source, Fresh(0, sys.maxsize))
        if amount is not None:
            yield from context.ledger.see(facts.source, amount, 0)

    yield from quiet(outdate())


def _holding(owner: Owner, mint: Address, facts: OfferFacts) -> str:
    available = amount_text(owner.network, mint, facts.available, facts.decimals)
    return f"the wallet {owner.wallet} can spend {available}"


def _too_little(
    owner: Owner, mint: Address, required: int, facts: OfferFacts, message: str
) -> ExactChangeError:
    # Not below 0: the balance may have grown since it was found too small.
    missing = max(required - facts.available, 0)
    link = funding_link(owner.wallet, mint, missing, facts.decimals)
    details = {
        "mint": mint,
        "required": str(required),
        "available": str(facts.available),
        "link": link,
    }
    return failure("insufficient_funds", f"{message} ({link}).", details)
