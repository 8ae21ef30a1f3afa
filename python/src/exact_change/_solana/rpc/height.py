"""Whether a blockhash can live until a height, by what a node says of its blocks."""

from __future__ import annotations

from ..types import Lifetime
from .types import Tip

# Blocks for which a transaction may use a blockhash: Solana's MAX_PROCESSING_AGE.
_LIFE = 150
# Blocks by which the replies of one address may differ that several nodes answer for.
_SLACK = 32
# Of so many slots in a row at least one has a block.
_SLOTS_A_BLOCK = 4
# Of so many slots in a row at most one has no block, as a rule.
_SLOTS_A_SKIP = 8
# Slots for which an earlier height tells the next one well enough: about ten minutes.
_MAX_SLOTS = 1_500


def may_live_until(latest: Lifetime, tip: Tip) -> bool:
    """It lives for 150 blocks, and a chain grows by at most one block a slot, and not many fewer.

    ``tip``: of the same node, a little before or after.
    """
    grown = max(0, latest.slot - tip.slot)
    last = latest.last_valid_block_height
    return (
        tip.height + grown // _SLOTS_A_BLOCK - _SLACK < last
        and last <= tip.height + grown + _LIFE + _SLACK
    )


def follows_from(latest: Lifetime, earlier: Tip) -> bool:
    """Whether it follows from an earlier one, so that the node's own need not be asked for."""
    grown = max(0, latest.slot - earlier.slot)
    height = tip_at(latest).height
    least = earlier.height + grown - grown // _SLOTS_A_SKIP - _SLACK
    return grown <= _MAX_SLOTS and least <= height <= earlier.height + grown + _SLACK


def tip_at(latest: Lifetime) -> Tip:
    """The height that a blockhash tells, which was the latest at its slot."""
    return Tip(latest.slot, latest.last_valid_block_height - _LIFE)
