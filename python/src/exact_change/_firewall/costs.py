"""What a foreign transaction costs, and what it must leave."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from .._base.network import TOKEN_PROGRAM, WSOL_MINT
from .._solana.address import Address
from .._swap.budget import SIGNATURE_LAMPORTS
from .._swap.read_facts import Making
from .compute_budget import priority_fee_of
from .expected import Surroundings
from .guard import Floors, OwnAccount, TokenFloor
from .surroundings import closes_wrapped, created_in, wrapped_in


class Costs(NamedTuple):
    """What a foreign transaction costs besides what it swaps, in lamports, and what it leaves."""

    network_fee: int
    priority_fee: int
    # Of accounts that stay.
    rent: int
    floors: Floors


class Before(NamedTuple):
    """What the chain says about the wallet before a foreign transaction runs."""

    lamports: int
    source: OwnAccount
    output: OwnAccount
    # Its wrapped SOL account: one of the two, or neither.
    wrapped: OwnAccount
    # What making each account takes that does not exist.
    makings: Mapping[Address, Making]


def costs_of(subject: Surroundings, before: Before) -> Costs:
    """Works out what must be left when a transaction that is not ours has done what was agreed.

    The most may be gone from the source, the least must have come to the output, and SOL may only
    have gone where the instructions around the swap send it.
    """
    expected, wrapped = subject.expected, before.wrapped
    closes, wrap = closes_wrapped(subject), wrapped_in(subject)
    # What is created and closed again gives its rent back.
    staying = {
        address for address in created_in(subject) if not (closes and address == expected.wrapped)
    }
    rent = sum(before.makings[address].takes for address in staying if address in before.makings)
    # What any program can have counted while it runs.
    held = wrapped.balance + wrapped.uncounted
    least_wrapped = max(
        0,
        held
        + wrap
        - (expected.max_in if expected.input_mint == WSOL_MINT else 0)
        + (expected.min_out if expected.output_mint == WSOL_MINT else 0),
    )
    # Of one that is made too: what it takes to make it comes back, with what lay at the address.
    returned = wrapped.lamports - held + least_wrapped if closes else 0

    def floor(account: OwnAccount, least: int) -> TokenFloor:
        is_wrapped = (account.mint, account.token_program) == (WSOL_MINT, TOKEN_PROGRAM)
        closed = closes and account.address == expected.wrapped
        return TokenFloor(account, least_wrapped if is_wrapped else least, closed)

    priority_fee = priority_fee_of(subject.instructions) or 0
    spent = SIGNATURE_LAMPORTS + priority_fee + rent + wrap
    floors = Floors(
        expected.wallet,
        max(1, before.lamports - spent + returned),
        (
            floor(before.source, max(0, before.source.balance - expected.max_in)),
            floor(before.output, before.output.balance + expected.min_out),
        ),
    )
    return Costs(SIGNATURE_LAMPORTS, priority_fee, rent, floors)
