"""Plans and composes a swap transaction around the swap, which is its only foreign instruction."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._base.network import WSOL_MINT
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
    withdraw_excess_lamports,
)
from .._solana.types import Instruction, LookupTable
from .budget import SIGNATURE_LAMPORTS, ComputeBudget, LamportBudget
from .read_facts import creation_cost, too_little_input
from .types import NOTHING_RESERVED, ReservedAmounts

# Values of `max_accounts` to try in turn after a swap was `transaction_too_large`. Fewer accounts
# make a smaller transaction and a worse price, so the first quote has no limit.
MAX_ACCOUNTS_LADDER = (48, 40, 32, 24, 20)


class SwapFacts(NamedTuple):
    """State of the wallet on chain, and the amounts that our other transactions have reserved."""

    source: OwnAccount
    output: OwnAccount
    # Lamports of the wallet.
    lamports: int
    # Lamports that keep the wallet, an account without data, rent-exempt.
    wallet_minimum: int
    # Lamports that keep each token account rent-exempt; only used if it does not exist.
    source_rent: int
    output_rent: int
    # Lamports of each account beyond its rent, which the wallet can withdraw.
    source_excess: int
    output_excess: int
    reserved: ReservedAmounts = NOTHING_RESERVED
    # Amounts that the guard lets be missing, because they may leave while the swap lands.
    leeway: ReservedAmounts = NOTHING_RESERVED


class SwapPlan(NamedTuple):
    create_source: bool
    create_output: bool
    # Lamports to wrap before the swap.
    wrap: int
    # Accounts that stay and have uncounted lamports, which must be counted before the guard.
    sync: Sequence[Address]
    # Accounts with lamports beyond their rent. The wallet withdraws these before the swap: the
    # venue could do so too, and the guard sees only lamports of the wallet.
    claims: Sequence[OwnAccount]
    close_source: bool
    close_output: bool
    budget: LamportBudget
    floors: Floors
    leeway: ReservedAmounts
    available_lamports: int


class Draft(NamedTuple):
    """A composed transaction, and the floors that it must leave."""

    instructions: Sequence[Instruction]
    # The serialized v0 message that the wallet signs.
    message: bytes
    floors: Floors
    budget: LamportBudget
    leeway: ReservedAmounts
    available_lamports: int
    # Position of the swap; None if all instructions are ours.
    swap_at: int | None
    # Position of the first guard instruction.
    guard_from: int


def plan_swap(
    expected: SwapExpectation, facts: SwapFacts, compute: ComputeBudget, keep_wrapped: bool
) -> SwapPlan:
    """Plans what to create, wrap and close, and what must be left afterwards.

    Wrapped SOL that the wallet already holds is used before native SOL. A wrapped SOL account is
    closed only if it was empty or missing before. With ``keep_wrapped``, an output of wrapped SOL
    stays wrapped, because the payment is made in it. Raises ``insufficient_funds``.
    """
    source, output = facts.source, facts.output
    # No more than the balance can be missing.
    leeway = ReservedAmounts(
        min(facts.leeway.input, source.balance),
        min(facts.leeway.output, output.balance),
    )
    spendable = max(0, source.balance - facts.reserved.input)
    native = expected.input_mint == WSOL_MINT
    takes = expected.max_in + relay_fee_in(expected.relay, expected.input_mint)
    if not native and spendable < takes:
        raise too_little_input(expected.wallet, source, takes, spendable)
    brings = expected.min_out - relay_fee_in(expected.relay, expected.output_mint)
    wrap = max(0, expected.max_in - spendable) if native else 0
    close_source = native and source.balance == 0
    is_wrapped = expected.output_mint == WSOL_MINT
    close_output = is_wrapped and not keep_wrapped and output.balance == 0
    staying = [
        *([] if close_source or wrap else [source]),
        *([] if close_output else [output]),
    ]
    takes_source = creation_cost(source, facts.source_rent).takes
    made_output = creation_cost(output, facts.output_rent)
    rents = (
        (not source.exists and native, takes_source, close_source),
        (not output.exists, made_output.takes, close_output),
    )

    def rent_of(closed: bool) -> int:
        return sum(takes for create, takes, closes in rents if create and closes == closed)

    wallet_pays = expected.relay is None
    # With a relayer, no lamport of the wallet may move.
    excess = ((source, facts.source_excess), (output, facts.output_excess)) if wallet_pays else ()
    budget = LamportBudget(
        SIGNATURE_LAMPORTS if wallet_pays else 0,
        compute.priority_fee if wallet_pays else 0,
        rent_of(False) if wallet_pays else 0,
        rent_of(True) if wallet_pays else 0,
        wrap,
        # Also right for a missing account: the lamports at its address come back besides its rent.
        (source.lamports if close_source else 0)
        + (output.lamports + brings if close_output else 0)
        + sum(lamports for _, lamports in excess),
    )
    uncounted = output.uncounted if output.exists else made_output.uncounted
    source_least = source.balance - leeway.input + source.uncounted
    output_least = output.balance - leeway.output + uncounted
    return SwapPlan(
        native and not source.exists,
        not output.exists,
        wrap,
        [account.address for account in staying if account.uncounted > 0],
        [account for account, lamports in excess if lamports > 0],
        close_source,
        close_output,
        budget,
        Floors(
            expected.wallet,
            # A wallet that pays fees must keep 1 lamport or more; `check_budget` decides if it can.
            max(int(wallet_pays), budget.least(facts.lamports)),
            (
                TokenFloor(source, source_least + wrap - takes, close_source),
                TokenFloor(output, output_least + brings, close_output),
            ),
        ),
        leeway,
        facts.lamports,
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
    """Composes the transaction around ``instruction``, the swap, which the firewall has passed.

    Raises ``transaction_too_large``, or ``insufficient_funds`` if the source holds too little.
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
        *(
            withdraw_excess_lamports(account.address, wallet, wallet, account.token_program)
            for account in plan.claims
        ),
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
    """Composes a transaction that wraps SOL: no guard, because it has no foreign instruction."""
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
    """Returns the instructions that set limit and price."""
    return [compute_unit_limit(compute.unit_limit), compute_unit_price(compute.unit_price)]


def create_own(wallet: Address, account: OwnAccount, payer: Address) -> Instruction:
    owned = OwnedAccount(account.address, account.mint, account.token_program)
    return create_token_account(payer, wallet, owned)


def _pay_relay(expected: SwapExpectation, facts: SwapFacts) -> list[Instruction]:
    """Returns the transfer of a relayer's fee: after the swap, which may bring its tokens."""
    fee = relay_fee_of(expected)
    if fee is None:
        return []
    side = facts.source if fee.mint == facts.source.mint else facts.output
    source, destination, mint, program, amount = fee
    wallet = expected.wallet
    return [transfer_checked(source, mint, destination, wallet, amount, side.decimals, program)]


def wrap_into(wallet: Address, account: Address, lamports: int) -> list[Instruction]:
    """Moves SOL into a wrapped SOL account and has it counted (``SyncNative``)."""
    if lamports == 0:
        return []
    return [transfer_lamports(wallet, account, lamports), sync_native(account)]


def _close_own(wallet: Address, account: OwnAccount) -> Instruction:
    # Closing any other account would unwrap nothing: it can only be a bug of ours.
    if account.mint != WSOL_MINT:
        raise TypeError("only a wrapped SOL account is closed")
    return close_token_account(account.address, wallet, wallet, account.token_program)
