"""Lands signed swaps, and returns the end of a decided swap: its amounts, or its error."""

from __future__ import annotations

import base64
from typing import Any, Mapping, NamedTuple

from ..._journal.types import SignedSwap, SwapOutcome
from ..._kernel.signals import Signal
from ..._kernel.task import Steps
from ..._receipt import PaidSwap
from ..._solana.confirm import Landing, land_transaction
from ..._solana.rpc.types import LandedTransaction
from ...errors import ExactChangeError, failure
from ..context import PaymentContext
from .fate import fate_of, landing_of
from .sent import sent_swap
from .swap_outcome import (
    Sides,
    failure_fee,
    own_fee,
    read_landed,
    relay_fee_of,
    rent_in,
    swap_amounts_of,
)


class Swapped(NamedTuple):
    record: PaidSwap
    fee_lamports: int
    # None if no node gives the transaction, or its numbers contradict each other.
    rent_lamports: int | None = None


class SwapEnd(NamedTuple):
    """The end of a decided swap: either ``swapped`` or ``error`` is set."""

    swapped: Swapped | None
    error: ExactChangeError | None
    # The outcome to put on record.
    outcome: SwapOutcome
    # The landed transaction. If no node gives it, `swapped` has the quoted amounts.
    landed: LandedTransaction | None = None
    # The slot of a confirmed swap.
    slot: int = 0


def land_swap(context: PaymentContext, swap: SignedSwap) -> Steps[Landing]:
    """Sends a signed swap until the chain has decided, or the client closes."""
    sent = sent_swap(swap, context.config.wallet)

    def look_back(signal: Signal) -> Steps[Landing]:
        return landing_of((yield from fate_of(context.histories, sent, signal)))

    return land_transaction(
        context.rpc,
        context.config.runtime,
        base64.b64decode(swap["transaction"]),
        int(swap["lastValidBlockHeight"]),
        look_back,
        context.closing,
    )


def ask_swap(
    context: PaymentContext, swap: SignedSwap, signal: Signal | None = None
) -> Steps[Landing]:
    """Asks the chain once about a signed swap; sends nothing."""
    sent = sent_swap(swap, context.config.wallet)
    fate = yield from fate_of(
        context.histories, sent, context.closing if signal is None else signal
    )
    return landing_of(fate)


def end_of_swap(
    context: PaymentContext, swap: SignedSwap, landing: Landing
) -> Steps[SwapEnd | None]:
    """Returns the end of a swap; None if the chain has not decided."""
    signature, wallet = swap["signature"], context.config.wallet
    if landing.outcome == "unknown":
        return None
    if landing.outcome == "expired":
        expired: SwapOutcome = {"state": "failed", "code": "swap_expired"}
        return SwapEnd(None, swap_expired(signature), expired)
    signature = landing.signature or signature
    landed = yield from read_landed(context, signature)
    if landing.outcome == "failed":
        fee = failure_fee(landed, wallet, "relay" in swap)
        outcome: SwapOutcome = {"state": "failed", "code": "swap_failed"}
        if fee is not None:
            outcome["feeLamports"] = str(fee)
        details = {
            "signature": signature,
            "reason": landing.error,
            "fee_lamports": outcome.get("feeLamports", swap["quoted"]["feeLamports"]),
        }
        return SwapEnd(None, swap_failed(details), outcome)
    swapped = _swapped_by(swap, signature, landed, wallet)
    confirmed: SwapOutcome = {
        "state": "confirmed",
        "inAmount": swapped.record.in_amount,
        "outAmount": swapped.record.out_amount,
        "feeLamports": str(swapped.fee_lamports),
    }
    if swapped.rent_lamports is not None:
        confirmed["rentLamports"] = str(swapped.rent_lamports)
    return SwapEnd(swapped, None, confirmed, landed, landing.slot)


def _swapped_by(
    swap: SignedSwap, signature: str, landed: LandedTransaction | None, wallet: str
) -> Swapped:
    quoted, is_relayed = swap["quoted"], "relay" in swap
    mints = swap["inputMint"], swap["outputMint"]
    sides = Sides(*mints, swap["source"], swap["output"], is_relayed)
    taken, brought = int(quoted["inAmount"]), int(quoted["outAmount"])
    # A wrap moves SOL between the wallet's own accounts, so the sum of their changes is not its
    # amount.
    if landed is not None and sides.input_mint != sides.output_mint:
        taken, brought = swap_amounts_of(landed, wallet, sides)
    record = PaidSwap(
        signature,
        sides.input_mint,
        str(taken),
        sides.output_mint,
        str(brought),
        swap["provider"],
        relay_fee_of(swap),
    )
    if landed is None:
        return Swapped(record, int(quoted["feeLamports"]))
    fee = own_fee(landed, is_relayed)
    return Swapped(record, fee, rent_in(landed, wallet, sides))


def swap_failed(details: Mapping[str, Any], cause: Exception | None = None) -> ExactChangeError:
    """Returns the error of a swap that landed and failed.

    ``cause``: the error of the second try, if that did not land.
    """
    again = "" if cause is None else ", and a second try came to nothing: see the cause"
    return failure(
        "swap_failed",
        f"The swap landed and failed, so only {details['fee_lamports']} lamports of network fee "
        f"are gone{again}. Try again.",
        details,
        cause=cause,
    )


def swap_expired(signature: str) -> ExactChangeError:
    """Returns the error of a swap that provably never lands."""
    return failure(
        "swap_expired",
        "The swap did not land before its blockhash expired, and now never can. Try again.",
        {"signature": signature},
    )
