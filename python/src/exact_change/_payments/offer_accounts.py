"""Reads the facts on the chain that offers need."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAMS, pinned_mint
from .._journal.balances import Fresh
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.rpc.types import Account
from .._solana.tokens import associated_token_address, decode_mint, decode_token_account
from .._swap.read_facts import unknown_mint
from .._x402.types import Offer
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .holdings import start_holdings_read
from .memory import KnownMint, make_room
from .supported_mint import judge_mint

# Milliseconds for which a known balance is used without a new read, because few wallets have a
# second payer.
_BALANCE_MAX_AGE_MS = 30_000
_MAX_ADDRESSES_A_CALL = 100


class OfferFacts(NamedTuple):
    token_program: Address
    decimals: int
    # The wallet's token account.
    source: Address
    # The payee's token account.
    destination: Address
    # Base units that the wallet holds, less those held for payments in flight.
    available: int


class ReadOffer(NamedTuple):
    """An offer, with its facts or the reason why it cannot be paid."""

    offer: Offer
    facts: OfferFacts | ExactChangeError


class _Known(NamedTuple):
    mint: KnownMint | None
    # Addresses to read.
    unknown: Sequence[Address]
    # Available base units of the wallet's accounts with a known balance.
    available: Mapping[Address, int]
    # Whether all balances are known, and no account has enough.
    is_short: bool


# Accounts by address, each with the slot of the read.
_Read = Mapping[Address, "tuple[Account | None, int]"]


def read_offer_accounts(
    context: PaymentContext, offers: Sequence[Offer], signal: Signal | None
) -> Steps[list[ReadOffer]]:
    """Reads the unknown facts of all offers in one round.

    If the known balances show that each offer needs a swap, it also starts a read of the wallet.
    """
    known: list[_Known] = []
    for offer in offers:
        known.append((yield from _look_up(context, offer)))
    if context.config.auto_swap and known and all(entry.is_short for entry in known):
        yield from start_holdings_read(context)
    unknown = dict.fromkeys(address for entry in known for address in entry.unknown)
    accounts = yield from read_all(context, list(unknown), signal)
    available = {address: amount for entry in known for address, amount in entry.available.items()}
    read: list[ReadOffer] = []
    for offer, entry in zip(offers, known):
        facts = yield from _learn(context, offer, entry.mint, accounts, available)
        read.append(ReadOffer(offer, facts))
    return read


def known_available(context: PaymentContext, source: Address) -> Steps[int | None]:
    """Returns the known balance of a wallet's account, less its holds; None if it must be read."""
    return context.ledger.available(source, fresh_in(context))


def fresh_in(context: PaymentContext) -> Fresh:
    """Returns the range of times of reads that count as fresh.

    It extends into the future, because another machine's clock may be a little ahead. A read far in
    the future is from before the clock was set back, so it is not fresh.
    """
    now = context.now()
    return Fresh(now - _BALANCE_MAX_AGE_MS, now + _BALANCE_MAX_AGE_MS)


def _look_up(context: PaymentContext, offer: Offer) -> Steps[_Known]:
    memory, mint = context.memory, offer.mint
    facts = memory.mints.get(mint)
    unknown: list[Address] = [mint] if facts is None else []
    available: dict[Address, int] = {}
    known = facts or pinned_mint(context.config.network, mint)
    # If the mint is unknown, its token program is read in this round too. The accounts depend on
    # it, so read them for both programs.
    programs = TOKEN_PROGRAMS if known is None else (known.token_program,)
    for program in programs:
        source = associated_token_address(context.config.wallet, mint, program)
        destination = associated_token_address(offer.pay_to, mint, program)
        amount = yield from known_available(context, source)
        if amount is None:
            unknown.append(source)
        else:
            available[source] = amount
        if destination not in memory.payees:
            unknown += [offer.pay_to, destination]
    is_known = len(available) == len(programs)
    is_short = is_known and all(units < offer.amount for units in available.values())
    return _Known(facts, unknown, available, is_short)


def read_all(
    context: PaymentContext, addresses: Sequence[Address], signal: Signal | None
) -> Steps[_Read]:
    found: dict[Address, tuple[Account | None, int]] = {}
    for start in range(0, len(addresses), _MAX_ADDRESSES_A_CALL):
        page = addresses[start : start + _MAX_ADDRESSES_A_CALL]
        slot, accounts = yield from context.rpc.accounts(page, signal=signal)
        for address, account in zip(page, accounts):
            found[address] = account, slot
    return found


def _learn(
    context: PaymentContext,
    offer: Offer,
    facts: KnownMint | None,
    accounts: _Read,
    available: Mapping[Address, int],
) -> Steps[OfferFacts | ExactChangeError]:
    # The memory may have been emptied since the look-up: what was not read was known.
    mint, pay_to, memory = offer.mint, offer.pay_to, context.memory
    wallet, network = context.config.wallet, context.config.network
    if facts is None:
        account, _ = accounts.get(mint, (None, 0))
        decoded = None if account is None else decode_mint(account)
        if decoded is None:
            return unknown_mint(mint)
        problem = judge_mint(mint, decoded, pinned_mint(network, mint))
        if problem is not None:
            return problem
        facts = KnownMint(decoded.token_program, decoded.decimals)
        make_room(memory.mints)
        memory.mints[mint] = facts
    program, decimals = facts
    if not _matches_claim(offer.claimed_decimals, decimals):
        return _other_decimals(mint, decimals)
    destination = associated_token_address(pay_to, mint, program)
    source = associated_token_address(wallet, mint, program)
    if offer.fee_payer in (destination, source):
        return failure(
            "unsupported_offer",
            f"The fee payer {offer.fee_payer} of the offer is a token account, which can pay no "
            "fee. The seller has to name its facilitator's wallet.",
            {"reason": "fee payer is a token account"},
        )
    if destination in accounts:
        payee, _ = accounts.get(pay_to, (None, 0))
        receiving, _ = accounts.get(destination, (None, 0))
        problem = _payee_problem(offer, destination, payee, receiving)
        if problem is not None:
            return problem
        make_room(memory.payees)
        memory.payees.add(destination)
    balance = 0
    if source in accounts:
        account, slot = accounts[source]
        decoded_source = None if account is None else decode_token_account(account)
        if decoded_source is not None and decoded_source.state == "frozen":
            return failure(
                "account_unusable",
                f"The wallet's token account {source} is frozen by the mint's issuer. Pay with "
                "another token.",
                {"account": source, "reason": "frozen"},
            )
        is_usable = decoded_source is not None and (
            (decoded_source.owner, decoded_source.mint) == (wallet, mint)
        )
        balance = decoded_source.amount if decoded_source is not None and is_usable else 0
        yield from context.ledger.see(source, balance, context.now(), slot)
    can_spend = available.get(source)
    if can_spend is None:
        can_spend = yield from known_available(context, source)
    if can_spend is None:
        # Another call may have made the ledger forget the balance since the read.
        can_spend = max(0, balance - (yield from context.ledger.held(source)))
    return OfferFacts(program, decimals, source, destination, can_spend)


def _matches_claim(claimed: object, decimals: int) -> bool:
    """Returns False for wrong claimed decimals, because the seller then means another price."""
    if claimed is None or claimed == str(decimals):
        return True
    return not isinstance(claimed, bool) and claimed == decimals


def _other_decimals(mint: Address, decimals: int) -> ExactChangeError:
    return failure(
        "unsupported_offer",
        f"The offer claims other decimals than the {decimals} that mint {mint} has. Nothing was "
        "paid; the seller has to correct its terms.",
        {"reason": "claims other decimals than its mint has"},
    )


def _payee_problem(
    offer: Offer, destination: Address, payee: Account | None, receiving: Account | None
) -> ExactChangeError | None:
    if payee is not None and payee.owner in TOKEN_PROGRAMS:
        return failure(
            "unsupported_offer",
            f"The payee {offer.pay_to} is itself a token account or mint, not a wallet. The seller "
            "has to name the owner.",
            {"reason": "payee is a token account"},
        )
    account = None if receiving is None else decode_token_account(receiving)
    if account is not None and (account.requires_memo or account.is_confidential):
        # In `exact` payments the compute-unit price comes right before the transfer.
        takes, reason = (
            ("without a memo before it", "payee requires a memo before each transfer")
            if account.requires_memo
            else ("that is not confidential", "payee takes confidential transfers alone")
        )
        return failure(
            "unsupported_offer",
            f"The payee's token account {destination} takes no transfer {takes}, so no "
            "facilitator can settle. The seller has to switch that off.",
            {"reason": reason},
        )
    if account is not None and account.mint == offer.mint and account.state == "initialized":
        return None
    return failure(
        "payee_account_missing",
        f"The payee {offer.pay_to} has no usable token account for mint {offer.mint} "
        f"({destination}), so no facilitator can settle. The seller has to create it.",
        {"pay_to": offer.pay_to, "mint": offer.mint, "token_account": destination},
    )
