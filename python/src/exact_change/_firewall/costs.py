"""Computes the costs of a foreign transaction, and the floors that it must leave."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from .._base.network import TOKEN_PROGRAM, WSOL_MINT
from .._solana.address import Address
from .._swap.budget import SIGNATURE_LAMPORTS
from .._swap.read_facts import CreationCost
from .compute_budget import priority_fee_of
from .expected import Surroundings
from .guard import Floors, OwnAccount, TokenFloor, claimed_by
from .surroundings import closes_wrapped, created_in, wrapped_in


class Costs(NamedTuple):
    """Costs of a foreign transaction besides the swapped amounts, in lamports, and its floors."""

    network_fee: int
    priority_fee: int
    # Rent of accounts that stay.
    rent: int
    floors: Floors
    # Whether lamports beyond a rent stay in an account, where no guard sees them.
    leaves_excess: bool


class Before(NamedTuple):
    """State of the wallet on chain before a foreign transaction runs."""

    lamports: int
    source: OwnAccount
    output: OwnAccount
    # The wallet's wrapped SOL account; it may also be `source` or `output`.
    wrapped: OwnAccount
    # Lamports that it takes to create each missing account, and that are wrapped SOL then.
    makings: Mapping[Address, CreationCost]
    # Lamports of the source and the output beyond their rents.
    excess: Mapping[Address, int]


def costs_of(subject: Surroundings, before: Before) -> Costs:
    """Computes what the wallet must hold after a foreign transaction did what was agreed.

    The source may lose ``max_in``, and the output must gain ``min_out``. Other SOL may only go
    where the instructions around the swap send it.
    """
    expected, wrapped = subject.expected, before.wrapped
    closes, wrap = closes_wrapped(subject), wrapped_in(subject)
    # An account that is created and closed again gives its rent back.
    staying = {
        address for address in created_in(subject) if not (closes and address == expected.wrapped)
    }
    rent = sum(before.makings[address].takes for address in staying if address in before.makings)
    # Uncounted lamports belong to the balance, because any program may count them (`SyncNative`).
    held = wrapped.balance + wrapped.uncounted
    least_wrapped = max(
        0,
        held
        + wrap
        - (expected.max_in if expected.input_mint == WSOL_MINT else 0)
        + (expected.min_out if expected.output_mint == WSOL_MINT else 0),
    )
    # Also right for an account that the transaction makes: its rent leaves and returns, so only the
    # lamports that lay at its address come back on top.
    returned = wrapped.lamports - held + least_wrapped if closes else 0

    def floor(account: OwnAccount, least: int) -> TokenFloor:
        is_wrapped = (account.mint, account.token_program) == (WSOL_MINT, TOKEN_PROGRAM)
        closed = closes and account.address == expected.wrapped
        return TokenFloor(account, least_wrapped if is_wrapped else least, closed)

    claimed = {claimed_by(placed, expected) for placed in subject.placed()}
    claims = sum(excess for address, excess in before.excess.items() if address in claimed)
    priority_fee = priority_fee_of(subject.instructions) or 0
    spent = SIGNATURE_LAMPORTS + priority_fee + rent + wrap
    floors = Floors(
        expected.wallet,
        max(1, before.lamports - spent + returned + claims),
        (
            floor(before.source, max(0, before.source.balance - expected.max_in)),
            floor(before.output, before.output.balance + expected.min_out),
        ),
    )
    leaves_excess = claims < sum(before.excess.values())
    return Costs(SIGNATURE_LAMPORTS, priority_fee, rent, floors, leaves_excess)
