"""The error for a 402 to a paid request, by what the chain has shown so far."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from .._journal.registry import OpenPayment
from ..errors import ExactChangeError, Moved, failure
from .call import Reply
from .reconcile.earlier_errors import paid_by


class Answer(NamedTuple):
    """A 402 to a paid request, with the seller's reason."""

    reply: Reply
    reason: str | None


def bounds_of(open_: OpenPayment) -> dict[str, str]:
    """Returns the signature that finds a payment, and the block height until which it may land."""
    return {
        "payer_signature": open_.payment["payerSignature"],
        "last_valid_block_height": open_.payment["lastValidBlockHeight"],
    }


def rejection(open_: OpenPayment, answer: Answer, moved: Sequence[Moved]) -> ExactChangeError:
    attempt, bounds = open_.attempt, bounds_of(open_)

    def make(message: str, **more: Any) -> ExactChangeError:
        return failure(
            "payment_rejected",
            message,
            {**bounds, "status": answer.reply.status},
            response=answer.reply.evidence,
            untrusted=None if answer.reason is None else {"reason": answer.reason},
            **more,
        )

    paid = paid_by(open_)
    if attempt["state"] == "settled" and paid:
        return make(
            "The seller answered the paid request with 402, and the chain shows the payment. Ask "
            "the seller for its answer with the signature in moved.",
            funds="spent",
            moved=[*moved, *paid],
            retry="never",
        )
    if attempt["state"] == "unsettled":
        return make(
            "The seller answered the paid request with 402, and the payment can no longer land: "
            "nothing was paid. See untrusted['reason'], then try again.",
            funds="untouched",
            moved=moved,
            retry="fresh",
        )
    return make(
        "The seller answered the paid request with 402 again. That is no proof that nothing was "
        f"paid: the payment may still settle until block height "
        f"{bounds['last_valid_block_height']} is final. See untrusted['reason'], and repeat the "
        "call once the chain has decided.",
        funds="uncertain",
        moved=moved,
    )
