"""Transactions that are too old for any node to remember."""

from __future__ import annotations

from typing import Sequence

from ..._kernel.steps import all_of, quiet
from ..._kernel.task import Steps
from ..._solana.rpc.types import Tip
from ..context import PaymentContext
from .sent import SentTransaction

# A blockhash is valid for a minute or two; after a day only the history of a node can tell.
_FORGOTTEN_MS = 24 * 60 * 60_000
# About a day of blocks, and of slots.
_FORGOTTEN_BLOCKS = 216_000


def is_forgotten(context: PaymentContext, at: int, sent: SentTransaction) -> Steps[bool]:
    """Returns whether a transaction can no longer land, and is too old for nodes to remember.

    ``at`` is when the transaction was made, in milliseconds since the epoch. The clock alone does
    not decide, because clocks jump. Each node has to confirm it by two numbers: a node may report
    one wrong number.
    """
    if context.now() - at <= _FORGOTTEN_MS:
        return False
    height = sent.last_valid_block_height + _FORGOTTEN_BLOCKS
    slot = sent.slot + _FORGOTTEN_BLOCKS
    tips: Sequence[Tip | None] = yield from all_of(
        [quiet(node.tip("finalized", signal=context.closing)) for node in context.rpc.alone()]
    )
    return all(tip is not None and tip.height > height and tip.slot > slot for tip in tips)
