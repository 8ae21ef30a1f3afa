"""What the chain says about offers."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAMS, pinned_mint
from .._journal.balances import Fresh
from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.rpc.types import Account
from .._solana.tokens import associated_token_address, decode_mint, decode_token_account
from .._transport.local import unknown_mint
from .._x402.types import Offer
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .holdings import share_holdings
from .memory import KnownMint, make_room
from .supported_mint import judge_mint

# How long a balance is taken for true without asking again: other payers of the same wallet are
# rare.
_BALANCE_MAX_AGE_MS = 30_000
_MAX_ADDRESSES_A_CALL = 100


class OfferFacts(NamedTuple):
    """What the chain says about one offer."""

    token_program: Address
    decimals: int
    # Our token account.
    source: Address
    # The payee's.
    destination: Address
    # Base units that the wallet holds and has not promised to payments in flight.
    available: int


class ReadOffer(NamedTuple):
    """An offer, and its facts or why it cannot be paid."""

    offer: Offer
    facts: OfferFacts | ExactChangeError


class _Known(NamedTuple):
    # What has to be read.
    unknown: Sequence[Address]
    # What our accounts have available that need not be.
    available: Mapping[Address, int]
    # None of our accounts has enough.
    is_short: bool


_Read = Mapping[Address, "tuple[Account | None, int]"]


def read_offer_accounts(
    context: PaymentContext, offers: Sequence[Offer], signal: Signal | None
) -> Steps[list[ReadOffer]]:
    """Reads what the offers need of the chain in one round, and nothing that is known already.

    If none can be paid without a swap, as far as is known, what the wallet holds is read beside.
    """
    known: list[_Known] = []
    for offer in offers:
        known.append((yield from _look_up(context, offer)))
    if context.config.auto_swap and known and all(one.is_short for one in known):
        yield from share_holdings(context)
    unknown = dict.fromkeys(address for one in known for address in one.unknown)
    accounts = yield from _read_all(context, list(unknown), signal)
    available = {address: amount for one in known for address, amount in one.available.items()}
    read: list[ReadOffer] = []
    for offer in offers:
        facts = yield from _learn(context, offer, accounts, available)
        read.append(ReadOffer(offer, facts))
    return read


def known_available(context: PaymentContext, source: Address) -> Steps[int | None]:
    """The balance of one of our accounts, less what is promised.

    None if it has to be read first.
    """
    return context.ledger.available(source, fresh_in(context))


def fresh_in(context: PaymentContext) -> Fresh:
    """Which balances are taken for true.

    None from before the clock was set back, and those that a machine has seen whose clock is a
    little ahead.
    """
    now = context.now()
    return Fresh(now - _BALANCE_MAX_AGE_MS, now + _BALANCE_MAX_AGE_MS)


def _look_up(context: PaymentContext, offer: Offer) -> Steps[_Known]:
    memory, mint = context.memory, offer.mint
    unknown: list[Address] = [] if mint in memory.mints else [mint]
    available: dict[Address, int] = {}
    known = memory.mints.get(mint) or pinned_mint(context.config.network, mint)
    # An unknown mint's program is read in the same round as the accounts that depend on it, so both
    # are asked for.
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
    is_short = is_known and all(one < offer.amount for one in available.values())
    return _Known(unknown, available, is_short)


def _read_all(
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
    context: PaymentContext, offer: Offer, accounts: _Read, available: Mapping[Address, int]
) -> Steps[OfferFacts | ExactChangeError]:
    mint, pay_to, memory = offer.mint, offer.pay_to, context.memory
    wallet, network = context.config.wallet, context.config.network
    facts = memory.mints.get(mint)
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
    if not _is_claim_of(offer.claimed_decimals, decimals):
        return _other_decimals(mint, decimals)
    destination = associated_token_address(pay_to, mint, program)
    if destination not in memory.payees:
        payee, _ = accounts.get(pay_to, (None, 0))
        receiving, _ = accounts.get(destination, (None, 0))
        problem = _payee_problem(offer, destination, payee, receiving)
        if problem is not None:
            return problem
        make_room(memory.payees)
        memory.payees.add(destination)
    source = associated_token_address(wallet, mint, program)
    read = 0
    if source in accounts:
        account, slot = accounts[source]
        held = None if account is None else decode_token_account(account)
        if held is not None and held.state == "frozen":
            return failure(
                "account_unusable",
                f"The wallet's token account {source} is frozen by the mint's issuer. Pay with "
                "another token.",
                {"account": source, "reason": "frozen"},
            )
        is_usable = held is not None and (held.owner, held.mint) == (wallet, mint)
        read = held.amount if held is not None and is_usable else 0
        yield from context.ledger.see(source, read, context.now(), slot)
    can_spend = available.get(source)
    if can_spend is None:
        can_spend = yield from known_available(context, source)
    if can_spend is None:
        # Another call may have had it forgotten since it was read.
        can_spend = max(0, read - (yield from context.ledger.held(source)))
    return OfferFacts(program, decimals, source, destination, can_spend)


def _is_claim_of(claimed: object, decimals: int) -> bool:
    """A seller that counts in other units than the chain means another price."""
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
    if account is not None and account.mint == offer.mint and account.state == "initialized":
        return None
    return failure(
        "payee_account_missing",
        f"The payee {offer.pay_to} has no usable token account for mint {offer.mint} "
        f"({destination}), so no facilitator can settle. The seller has to create it.",
        {"pay_to": offer.pay_to, "mint": offer.mint, "token_account": destination},
    )
