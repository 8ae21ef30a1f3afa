"""Checks the last valid block height of a blockhash against a node's block height."""

from __future__ import annotations

from ..types import Lifetime
from .types import Tip

# Blocks for which a transaction may use a blockhash: Solana's MAX_PROCESSING_AGE.
_LIFE = 150
# Blocks by which replies may differ if several nodes answer for one address.
_SLACK = 32
# Slots in a row of which at least one has a block.
_SLOTS_A_BLOCK = 4
# Slots in a row of which usually at most one has no block.
_SLOTS_A_SKIP = 8
# Slots, about ten minutes, after which an earlier height is too old to check a later height.
_MAX_SLOTS = 1_500


def may_live_until(latest: Lifetime, tip: Tip) -> bool:
    """Returns whether a blockhash may live until the height that the node states.

    It lives for 150 blocks, and a chain grows by at most one block a slot, and not many fewer.
    ``tip``: of the same node, a little before or after.
    """
    grown = max(0, latest.slot - tip.slot)
    last = latest.last_valid_block_height
    return (
        tip.height + grown // _SLOTS_A_BLOCK - _SLACK < last
        and last <= tip.height + grown + _LIFE + _SLACK
    )


def follows_from(latest: Lifetime, earlier: Tip) -> bool:
    """Returns whether the height follows from an earlier tip, so that no new tip is needed."""
    grown = max(0, latest.slot - earlier.slot)
    height = tip_at(latest).height
    least = earlier.height + grown - grown // _SLOTS_A_SKIP - _SLACK
    return grown <= _MAX_SLOTS and least <= height <= earlier.height + grown + _SLACK


def tip_at(latest: Lifetime) -> Tip:
    """Returns the tip at the slot of a blockhash, by its last valid block height."""
    return Tip(latest.slot, latest.last_valid_block_height - _LIFE)
