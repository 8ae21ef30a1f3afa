"""Signs and lands a swap while nothing else touches what it touches."""

from __future__ import annotations

import base64
from typing import Callable, NamedTuple, Sequence

from .._events import Emit
from .._journal.types import SignedSwap, SwapOutcome
from .._kernel.signals import Signal, check
from .._kernel.steps import all_of, quiet, until_aborted
from .._kernel.task import Steps
from .._receipt import Cost
from .._solana.address import Address
from .._swap.prepare import SwapOutlook
from .._swap.sign import SwapSigned
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .holdings import outdate_holdings
from .reconcile.swap_end import Swapped, end_of_swap, land_swap
from .reconcile.swap_outcome import remember_after

# The lock of what counts on the wallet's lamports.
LAMPORTS_LOCK = "lamports"


def swap_lock(mint: Address) -> str:
    """The lock of what finds and makes a swap into a mint."""
    return f"swap {mint}"


def mint_lock(mint: Address) -> str:
    """The lock of what moves a mint's tokens out of or into the wallet."""
    return f"mint {mint}"


class Watch(NamedTuple):
    """What is told of a swap on its way. All but ``emit`` are steps of the payment it is for."""

    emit: Emit
    signal: Signal | None
    # Writes the signed swap down before it leaves.
    on_signed: Callable[[SignedSwap], Steps[None]] | None = None
    # Takes down what became of it, once the chain has decided. Says what it cost.
    on_decided: Callable[[SwapOutcome], Cost] | None = None
    # When the proceeds are there, before any other payment or swap may touch them.
    on_confirmed: Callable[[], Steps[None]] | None = None


class Quoted(NamedTuple):
    """What a swap was quoted to take and to bring, in base units."""

    input_mint: Address
    output_mint: Address
    in_amount: int
    out_amount: int
    provider: str


def exclusively(
    context: PaymentContext,
    mints: Sequence[Address],
    watch: Watch,
    sign: Callable[[], Steps[SwapSigned]],
    quoted: Quoted,
) -> Steps[Swapped]:
    """No payment leaves from the accounts that it touches, and no other swap of the wallet runs.

    The guard at its end holds them to the balances that were read before. The caller may stop
    waiting; the swap goes on to its end.
    """
    locks = [*map(mint_lock, mints), LAMPORTS_LOCK]
    signals = [watch.signal, context.closing]
    work = context.locks.hold(locks, lambda: _land(context, mints, watch, sign, quoted), signals)
    return until_aborted(work, watch.signal)


def _land(
    context: PaymentContext,
    mints: Sequence[Address],
    watch: Watch,
    sign: Callable[[], Steps[SwapSigned]],
    quoted: Quoted,
) -> Steps[Swapped]:
    emit = watch.emit
    check(watch.signal)
    signed = yield from sign()
    # Before it is written: a call that gave up has undone already what there was.
    check(watch.signal)
    record = _record_of(signed, quoted)
    signature, expected = signed.signature, signed.expected
    if watch.on_signed is not None:
        yield from watch.on_signed(record)
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
        if end is not None and watch.on_decided is not None:
            cost = watch.on_decided(end.outcome)
        yield from _forget_both(context, expected)
        error = _uncertain(record) if end is None or end.error is None else end.error
        yield from emit("swap.failed", signature=signature, code=error.code, cost=cost)
        raise error
    if end.landed is None:
        yield from emit(
            "warning",
            message=f"No node gives the confirmed swap {signature}, so its amounts are reported as "
            "quoted.",
        )
        yield from _forget_both(context, expected)
        if watch.on_confirmed is not None:
            # What the swap's guard has proved that there is: a node that is behind would show less,
            # and a second swap be made for it.
            least = expected.output_before + expected.min_out
            yield from quiet(context.ledger.see(expected.output, least, context.now()))
    else:
        accounts = expected.source, expected.output
        yield from quiet(remember_after(context, end.landed, accounts, busy))
    cost = None if watch.on_decided is None else watch.on_decided(end.outcome)
    yield from emit(
        "swap.confirmed",
        **end.swapped.record._asdict(),
        fee_lamports=str(end.swapped.fee_lamports),
        cost=cost,
    )
    if watch.on_confirmed is not None:
        yield from watch.on_confirmed()
    return end.swapped


def _busy_of(
    context: PaymentContext, expected: SwapOutlook, locked: Sequence[Address]
) -> Steps[frozenset[Address]]:
    """Which of its accounts payments may leave from while it lands."""
    # New ones, too, if its mint is not locked.
    busy: set[str] = set() if expected.bounds.output_mint in locked else {expected.output}
    for account in (expected.source, expected.output):
        if (yield from quiet(context.ledger.held(account), 1)) > 0:
            busy.add(account)
    return frozenset(busy)


def _record_of(signed: SwapSigned, quoted: Quoted) -> SignedSwap:
    """What is put on record of a swap before it leaves."""
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
        "The swap was sent, and no node says what became of it. Look up its signature, or wait "
        f"until block height {height} is final, before trying again.",
        {"signature": record["signature"], "last_valid_block_height": height},
        funds="uncertain",
    )


def _forget_both(context: PaymentContext, expected: SwapOutlook) -> Steps[None]:
    """What they hold now is not known any more.

    If that cannot be noted, it is read anew when it is old.
    """
    accounts = [expected.source, expected.output]
    yield from quiet(all_of([context.ledger.forget(one) for one in accounts]))
