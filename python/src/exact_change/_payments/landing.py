"""Signs and lands a swap while no other payment or swap uses its accounts."""

from __future__ import annotations

import base64
from typing import Callable, NamedTuple, Sequence

from .._events import Emit
from .._journal.types import SignedSwap, SwapOutcome
from .._kernel.signals import Signal, check
from .._kernel.steps import quiet, until_aborted
from .._kernel.task import Steps
from .._receipt import Cost
from .._solana.address import Address
from .._swap.prepare import SwapOutlook
from .._swap.sign import SwapSigned
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .holdings import outdate_holdings
from .reconcile.swap_end import Swapped, end_of_swap, land_swap
from .reconcile.swap_outcome import forget_accounts, remember_after, remember_since

# Name of the lock for work that relies on the wallet's lamports.
LAMPORTS_LOCK = "lamports"


def swap_lock(mint: Address) -> str:
    """Returns the name of the lock for calls that find and make a swap into a mint."""
    return f"swap {mint}"


def mint_lock(mint: Address) -> str:
    """Returns the name of the lock for work that moves a mint's tokens to or from the wallet."""
    return f"mint {mint}"


class SwapHooks(NamedTuple):
    """The callbacks of a swap. All except ``emit`` belong to the payment that needs the swap."""

    emit: Emit
    signal: Signal | None
    # Writes the signed swap to the journal before it is sent.
    on_signed: Callable[[SignedSwap], Steps[None]] | None = None
    # Records the outcome when the chain has decided. Returns the cost.
    on_decided: Callable[[SwapOutcome], Cost] | None = None
    # Runs when the swap has landed, before other payments or swaps can use its output.
    on_confirmed: Callable[[], Steps[None]] | None = None


class Quoted(NamedTuple):
    """The quoted input and output of a swap, in base units."""

    input_mint: Address
    output_mint: Address
    in_amount: int
    out_amount: int
    provider: str


def land_exclusively(
    context: PaymentContext,
    mints: Sequence[Address],
    hooks: SwapHooks,
    sign: Callable[[], Steps[SwapSigned]],
    quoted: Quoted,
) -> Steps[Swapped]:
    """Signs and lands a swap under the locks of its mints and of the wallet's lamports.

    The swap's guard checks balances, so meanwhile no payment leaves from its accounts and no other
    swap of the wallet runs. If the caller gives up, the swap still runs to its end.
    """
    locks = [*map(mint_lock, mints), LAMPORTS_LOCK]
    signals = [hooks.signal, context.closing]
    work = context.locks.hold(locks, lambda: _land(context, mints, hooks, sign, quoted), signals)
    return until_aborted(work, hooks.signal)


def _land(
    context: PaymentContext,
    mints: Sequence[Address],
    hooks: SwapHooks,
    sign: Callable[[], Steps[SwapSigned]],
    quoted: Quoted,
) -> Steps[Swapped]:
    emit = hooks.emit
    check(hooks.signal)
    signed = yield from sign()
    # Check before the write, because a call that gave up has already undone its record.
    check(hooks.signal)
    record = _record_of(signed, quoted)
    signature, expected = signed.signature, signed.expected
    if hooks.on_signed is not None:
        yield from hooks.on_signed(record)
    yield from emit(
        "swap.signed",
        signature=signature,
        last_valid_block_height=record["lastValidBlockHeight"],
    )
    busy = yield from _busy_of(context, expected, mints)
    landing = yield from land_swap(context, record)
    end = yield from end_of_swap(context, record, landing)
    outdate_holdings(context)
    if end is None or end.swapped is None:
        cost = None
        if end is not None and hooks.on_decided is not None:
            cost = hooks.on_decided(end.outcome)
        yield from quiet(forget_accounts(context, record))
        error = _uncertain(record) if end is None or end.error is None else end.error
        yield from emit("swap.failed", signature=signature, code=error.code, cost=cost)
        raise error
    if end.landed is None:
        yield from emit(
            "warning",
            message=f"No node gives the confirmed swap {signature}, so its amounts are reported as "
            "quoted.",
        )
        yield from quiet(forget_accounts(context, record))
        if hooks.on_confirmed is not None:
            least = expected.output_before + expected.min_out
            yield from quiet(remember_since(context, expected.output, end.slot, least))
    else:
        accounts = expected.source, expected.output
        try:
            yield from remember_after(context, end.landed, accounts, busy)
        except Exception:
            # The balance from before the swap must not stay: it would make the payment swap again.
            yield from quiet(forget_accounts(context, record))
    cost = None
    # Without its transaction, a swap costs its whole bound. A payment needs the outcome now. Any
    # other attempt leaves it open, because a node may give the transaction a little later.
    is_left_open = end.landed is None and hooks.on_confirmed is None
    if hooks.on_decided is not None and not is_left_open:
        cost = hooks.on_decided(end.outcome)
    yield from emit(
        "swap.confirmed",
        **end.swapped.record._asdict(),
        fee_lamports=str(end.swapped.fee_lamports),
        cost=cost,
    )
    if hooks.on_confirmed is not None:
        yield from hooks.on_confirmed()
    return end.swapped


def _busy_of(
    context: PaymentContext, expected: SwapOutlook, locked: Sequence[Address]
) -> Steps[frozenset[Address]]:
    """Returns the swap's accounts that payments may leave from while the swap lands."""
    # If the output mint is not locked, new payments may leave from the output account too.
    busy: set[str] = set() if expected.bounds.output_mint in locked else {expected.output}
    for account in (expected.source, expected.output):
        if (yield from quiet(context.ledger.held(account), 1)) > 0:
            busy.add(account)
    return frozenset(busy)


def _record_of(signed: SwapSigned, quoted: Quoted) -> SignedSwap:
    """Returns the record of a swap, which is written before the swap is sent."""
    expected, lifetime = signed.expected, signed.lifetime
    amount, slot = expected.before
    record: SignedSwap = {
        "signature": signed.signature,
        "inputMint": quoted.input_mint,
        "outputMint": quoted.output_mint,
        "provider": quoted.provider,
        "source": expected.source,
        "output": expected.output,
        "blockhash": lifetime.blockhash,
        "blockhashSlot": lifetime.slot,
        "before": {"amount": str(amount), "slot": slot},
        "lastValidBlockHeight": str(lifetime.last_valid_block_height),
        "transaction": base64.b64encode(signed.data).decode(),
        "quoted": {
            "inAmount": str(quoted.in_amount),
            "outAmount": str(quoted.out_amount),
            "feeLamports": str(expected.network_fee + expected.priority_fee),
        },
    }
    if expected.relay is not None:
        record["relay"] = {
            "payerSignature": signed.payer_signature,
            "mint": expected.relay.mint,
            "fee": str(expected.relay.amount),
        }
    return record


def _uncertain(record: SignedSwap) -> ExactChangeError:
    height = record["lastValidBlockHeight"]
    return failure(
        "swap_uncertain",
        "The swap was signed, and no node says what became of it. Look up its signature, or wait "
        f"until block height {height} is final, before trying again.",
        {"signature": record["signature"], "last_valid_block_height": height},
        funds="uncertain",
    )
