"""A swap transaction: what happens around the one foreign instruction, in numbers and bytes."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import SOLANA_MAINNET, WSOL_MINT
from .._base.token_text import amount_text, funding_link
from .._firewall.expected import SwapExpectation, relay_fee_in
from .._firewall.guard import Floors, OwnAccount, TokenFloor, guard
from .._firewall.relay import relay_fee_of
from .._solana.address import Address
from .._solana.compile import compile_message
from .._solana.instructions import (
    OwnedAccount,
    close_token_account,
    compute_unit_limit,
    compute_unit_price,
    create_token_account,
    sync_native,
    transfer_checked,
    transfer_lamports,
)
from .._solana.types import Instruction, LookupTable
from ..errors import failure
from .budget import SIGNATURE_LAMPORTS, ComputeBudget, LamportBudget
from .read_facts import once_made
from .types import NOTHING_RESERVED, ReservedAmounts

# Fewer accounts, smaller transaction, worse price: what to ask for, one after the other, when a
# swap was `transaction_too_large`. The first try sets no bound.
MAX_ACCOUNTS_LADDER = (48, 40, 32, 24, 20)


class SwapFacts(NamedTuple):
    """What the chain says, and what others have reserved of it."""

    source: OwnAccount
    output: OwnAccount
    # Of the wallet.
    lamports: int
    # What keeps an account without data rent-exempt: what the wallet must be left with.
    wallet_minimum: int
    # Only used if the account does not exist.
    source_rent: int
    output_rent: int
    reserved: ReservedAmounts = NOTHING_RESERVED
    # What the guard lets be missing: what of the reserved may leave while the swap lands.
    leeway: ReservedAmounts = NOTHING_RESERVED


class SwapPlan(NamedTuple):
    """What happens around the swap instruction, in numbers."""

    create_source: bool
    create_output: bool
    # Lamports to wrap before the swap.
    wrap: int
    # Accounts that stay, and whose lamports have to be counted before they can be guarded.
    sync: Sequence[Address]
    close_source: bool
    close_output: bool
    budget: LamportBudget
    floors: Floors
    leeway: ReservedAmounts
    # Lamports that nothing else has reserved.
    available_lamports: int


class Draft(NamedTuple):
    """A composed transaction, with what must be true when it is done."""

    instructions: Sequence[Instruction]
    # The serialized v0 message: what the wallet signs.
    message: bytes
    floors: Floors
    budget: LamportBudget
    leeway: ReservedAmounts
    available_lamports: int
    # Position of the instruction that is not ours; None if all are.
    swap_at: int | None
    # Position of the first guard instruction.
    guard_from: int


def plan_swap(
    expected: SwapExpectation, facts: SwapFacts, compute: ComputeBudget, keep_wrapped: bool
) -> SwapPlan:
    """Works out what to create, wrap and close, and what must be left afterwards.

    Wrapped SOL that the wallet already holds is used before native SOL. A wrapped SOL account is
    closed only if it was empty or missing before, and an output of wrapped SOL is kept if that is
    what the payment is made in. Raises ``insufficient_funds``.
    """
    source, output = facts.source, facts.output
    # No more can be missing than there is.
    leeway = ReservedAmounts(
        min(facts.leeway.input, source.balance),
        min(facts.leeway.output, output.balance),
        min(facts.leeway.lamports, facts.lamports),
    )
    spendable = max(0, source.balance - facts.reserved.input)
    native = expected.input_mint == WSOL_MINT
    takes = expected.max_in + relay_fee_in(expected.relay, expected.input_mint)
    if not native and spendable < takes:
        raise _short(expected, source.decimals, takes, spendable)
    brings = expected.min_out - relay_fee_in(expected.relay, expected.output_mint)
    wrap = max(0, expected.max_in - spendable) if native else 0
    close_source = native and source.balance == 0
    is_wrapped = expected.output_mint == WSOL_MINT
    close_output = is_wrapped and not keep_wrapped and output.balance == 0
    staying = [
        *([] if close_source or wrap else [source]),
        *([] if close_output else [output]),
    ]
    takes_source = once_made(source, facts.source_rent).takes
    made_output = once_made(output, facts.output_rent)
    rents = (
        (not source.exists and native, takes_source, close_source),
        (not output.exists, made_output.takes, close_output),
    )

    def rent_of(closed: bool) -> int:
        return sum(takes for create, takes, closes in rents if create and closes == closed)

    is_own = expected.relay is None
    budget = LamportBudget(
        SIGNATURE_LAMPORTS if is_own else 0,
        compute.priority_fee if is_own else 0,
        rent_of(False) if is_own else 0,
        rent_of(True) if is_own else 0,
        wrap,
        # Of one that is missing too: its rent comes back with what lay at the address.
        (source.lamports if close_source else 0)
        + (output.lamports + brings if close_output else 0),
    )
    uncounted = output.uncounted if output.exists else made_output.uncounted
    source_least = source.balance - leeway.input + source.uncounted
    output_least = output.balance - leeway.output + uncounted
    return SwapPlan(
        native and not source.exists,
        not output.exists,
        wrap,
        [one.address for one in staying if one.uncounted > 0],
        close_source,
        close_output,
        budget,
        Floors(
            expected.wallet,
            # Whether it can be met is for `check_budget`: a wallet that pays has something left.
            max(int(is_own), budget.least(facts.lamports - leeway.lamports)),
            (
                TokenFloor(source, source_least + wrap - takes, close_source),
                TokenFloor(output, output_least + brings, close_output),
            ),
        ),
        leeway,
        max(0, facts.lamports - facts.reserved.lamports),
    )


def compose_swap(
    expected: SwapExpectation,
    instruction: Instruction,
    facts: SwapFacts,
    keep_wrapped: bool,
    compute: ComputeBudget,
    blockhash: str,
    lookup_tables: Sequence[LookupTable],
) -> Draft:
    """Compute budget, missing accounts, wrapping, the swap, a relayer's fee, unwrapping, guard.

    ``instruction``: the one that is not ours; the firewall has passed it. Raises
    ``transaction_too_large``, or ``insufficient_funds``.
    """
    wallet, source, output = expected.wallet, facts.source, facts.output
    fee_payer = expected.fee_payer
    plan = plan_swap(expected, facts, compute, keep_wrapped)
    before = [
        *compute_instructions(compute),
        *([create_own(wallet, source, fee_payer)] if plan.create_source else []),
        *([create_own(wallet, output, fee_payer)] if plan.create_output else []),
        *wrap_into(wallet, source.address, plan.wrap),
        *map(sync_native, plan.sync),
    ]
    body = [
        *before,
        instruction,
        *_pay_relay(expected, facts),
        *([_close_own(wallet, source)] if plan.close_source else []),
        *([_close_own(wallet, output)] if plan.close_output else []),
    ]
    instructions = [*body, *guard(plan.floors)]
    return Draft(
        instructions,
        compile_message(fee_payer, instructions, blockhash, lookup_tables),
        plan.floors,
        plan.budget,
        plan.leeway,
        plan.available_lamports,
        len(before),
        len(body),
    )


def compose_wrap(
    wallet: Address,
    account: OwnAccount,
    amount: int,
    available_lamports: int,
    rent: int,
    compute: ComputeBudget,
    blockhash: str,
) -> Draft:
    """SOL into wrapped SOL: no foreign instruction takes part, so there is no guard."""
    instructions = [
        *compute_instructions(compute),
        *([] if account.exists else [create_own(wallet, account, wallet)]),
        *wrap_into(wallet, account.address, amount),
    ]
    budget = LamportBudget(
        SIGNATURE_LAMPORTS,
        compute.priority_fee,
        0 if account.exists else rent,
        0,
        amount,
        0,
    )
    floor = TokenFloor(account, account.balance + amount, False)
    return Draft(
        instructions,
        compile_message(wallet, instructions, blockhash),
        Floors(wallet, max(0, budget.least(available_lamports)), (floor,)),
        budget,
        NOTHING_RESERVED,
        available_lamports,
        None,
        len(instructions),
    )


def compute_instructions(compute: ComputeBudget) -> list[Instruction]:
    """Limit and price."""
    return [compute_unit_limit(compute.unit_limit), compute_unit_price(compute.unit_price)]


def create_own(wallet: Address, account: OwnAccount, payer: Address) -> Instruction:
    """Makes an account of the wallet's."""
    owned = OwnedAccount(account.address, account.mint, account.token_program)
    return create_token_account(payer, wallet, owned)


def _pay_relay(expected: SwapExpectation, facts: SwapFacts) -> list[Instruction]:
    """After the swap: the fee may be in what that brings."""
    fee = relay_fee_of(expected)
    if fee is None:
        return []
    side = facts.source if fee.mint == facts.source.mint else facts.output
    source, destination, mint, program, amount = fee
    wallet = expected.wallet
    return [transfer_checked(source, mint, destination, wallet, amount, side.decimals, program)]


def wrap_into(wallet: Address, account: Address, lamports: int) -> list[Instruction]:
    """Moves SOL into a wrapped SOL account and makes its balance count."""
    if lamports == 0:
        return []
    return [transfer_lamports(wallet, account, lamports), sync_native(account)]


def _close_own(wallet: Address, account: OwnAccount) -> Instruction:
    # Closing any other account would not unwrap: a bug of ours, not an input.
    if account.mint != WSOL_MINT:
        raise TypeError("only a wrapped SOL account is closed")
    return close_token_account(account.address, wallet, wallet, account.token_program)


def _short(expected: SwapExpectation, decimals: int, required: int, available: int) -> Exception:
    mint, wallet = expected.input_mint, expected.wallet
    most, spendable = (
        amount_text(SOLANA_MAINNET, mint, one, decimals) for one in (required, available)
    )
    link = funding_link(wallet, mint, required - available, decimals)
    return failure(
        "insufficient_funds",
        f"The swap may take up to {most}, and the wallet {wallet} can spend {spendable}. "
        f"Fund it ({link}).",
        {
            "mint": mint,
            "required": str(required),
            "available": str(available),
            "link": link,
        },
    )
