"""Finds out what the chain says about a transaction that the wallet signed."""

from __future__ import annotations

from typing import NamedTuple, Union

from typing_extensions import Literal

from ..._kernel.signals import Signal
from ..._kernel.steps import quiet
from ..._kernel.task import Steps
from ..._solana.address import Address
from ..._solana.confirm import UNKNOWN, Landing
from .account_history import AccountHistory, Histories, SeenTransaction
from .explained_balance import MAX_UNREADABLE, READS_A_LOOK, every_of, is_explained
from .history_pages import Listing
from .sent import SentTransaction


class Landed(NamedTuple):
    """The fate of a transaction that landed.

    A landed failure can never succeed, because the chain takes the same message once.
    """

    signature: str
    slot: int
    # None if the transaction succeeded.
    error: str | None


# `never`: the transaction did not land, and never will.
Fate = Union[Landed, Literal["never", "open"]]

# Each slot of a cluster has transactions that name this program.
_VOTE_PROGRAM: Address = "Vote111111111111111111111111111111111111111"
# Blocks after which an address index counts as current even if no busy account proves it: about 15
# minutes. No honest index lags that long.
_INDEX_BLOCKS = 2_250


def fate_of(histories: Histories, sent: SentTransaction, signal: Signal) -> Steps[Fate]:
    """Asks the chain once for the fate of a transaction.

    Success: one node shows a landed transaction with the wallet's signature. The fee payer's
    signature of the same message, which is the transaction's id, proves it too.

    Failure: a node shows the failed transaction in a final block, and it moved no tokens. A second
    node, if there is one, must say the same, or "never".

    Never: two nodes, if there are two, each give two witnesses. A late index cannot fake both.

    - The search: at a final slot after the blockhash expired at that node, the source's whole
      history has no such transaction. The node's address index has reached that slot.
    - The balance: at such a slot, the history explains the whole balance of the source.
    """
    failures: list[Exception] = []
    nodes = histories.of(sent.source)
    not_paid: list[Fate] = []
    for node in nodes:
        try:
            fate = yield from _ask_node(node, sent, signal)
        except Exception as error:
            if signal.aborted:
                raise
            failures.append(error)
            continue
        if isinstance(fate, Landed) and fate.error is None:
            return fate
        if fate != "open":
            not_paid.append(fate)
        # Prefer a landed failure to `never`, because it has cost its fee.
        if len(not_paid) >= min(2, len(nodes)):
            landed = [fate for fate in not_paid if isinstance(fate, Landed)]
            return landed[0] if landed else "never"
    if len(failures) == len(nodes):
        raise failures[0]
    return "open"


def _ask_node(node: AccountHistory, sent: SentTransaction, signal: Signal) -> Steps[Fate]:
    fate = yield from _look_for(node, sent, signal)
    if not isinstance(fate, Landed) or fate.error is None:
        return fate
    # A failure counts only in a final block. On a dropped fork, the same bytes may land again and
    # succeed.
    return fate if fate.slot <= (yield from node.tip(signal)).slot else "open"


def _look_for(node: AccountHistory, sent: SentTransaction, signal: Signal) -> Steps[Fate]:
    if sent.is_id:
        by_id = yield from _status_of(node, sent, None, signal)
    else:
        by_id = yield from _claimed(node, sent, signal)
    if by_id is not None:
        return by_id
    tip = yield from node.tip(signal)
    # The search covers all blocks up to the tip. The tip must have reached the slot of the
    # blockhash: a node that has not seen a blockhash calls it expired.
    as_of: int | None = None
    if tip.height > sent.last_valid_block_height and tip.slot >= sent.blockhash_slot:
        as_of = yield from node.expired_as_of(sent.blockhash, tip.slot, signal)
    # Check the index before the listing. After it, the index could have advanced in between.
    is_indexed = as_of is not None and (
        yield from _reaches_index(node, sent, as_of, tip.height, signal)
    )
    earliest = sent.slot if sent.before is None else min(sent.slot, sent.before.slot)
    listing = yield from node.since(earliest, tip.slot if as_of is None else as_of, signal)
    if sent.is_id:
        found = yield from _listed(node, listing, sent, signal)
    else:
        found = yield from _search(node, listing, sent, signal)
    if found is not None:
        return found
    # A transaction with a known id is found without the index.
    if as_of is None or not (is_indexed or sent.is_id) or not listing.is_complete:
        return "open"
    if sent.is_id:
        status_fate = yield from _status_of(node, sent, as_of, signal)
        if status_fate is not None:
            return status_fate
    is_whole = yield from is_explained(node, listing, sent, as_of, is_indexed, signal)
    # The balance check reads more transactions, and ours may be among them if the node listed it
    # with a wrong memo.
    recognised = _recognised(node, listing, sent)
    if recognised is not None:
        return recognised
    if not is_whole:
        return "open"
    # Ask after the search, because a node may drop old blocks during it. If the node cannot tell
    # its first block, an older transaction in its listing proves that it reaches back far enough.
    first = yield from quiet(node.rpc.first_slot(signal=signal))
    if first is None:
        has_older = any(entry.slot < sent.slot for entry in listing.entries)
        return "never" if has_older or listing.older is not None else "open"
    return "never" if first <= sent.slot else "open"


def _reaches_index(
    node: AccountHistory, sent: SentTransaction, slot: int, height: int, signal: Signal
) -> Steps[bool]:
    """Returns whether the node's address index has reached a slot."""
    last = sent.last_valid_block_height
    if last >= 0 and height > last + _INDEX_BLOCKS:
        return True
    busy = [*([] if sent.mint is None else [sent.mint]), _VOTE_PROGRAM]
    return (yield from node.reach(busy, slot, signal)) >= slot


def _status_of(
    node: AccountHistory, sent: SentTransaction, min_slot: int | None, signal: Signal
) -> Steps[Fate | None]:
    """Returns the fate by the id's status; ``open`` if it is not confirmed, None if unknown."""
    (status,) = yield from node.rpc.statuses(
        [sent.signature], history=True, min_slot=min_slot, signal=signal
    )
    if status is None:
        return None
    if status.commitment == "processed":
        return "open"
    claimed = Landed(sent.signature, status.slot, status.error)
    return (yield from _landed_as(node, claimed, signal))


def _listed(
    node: AccountHistory, listing: Listing, sent: SentTransaction, signal: Signal
) -> Steps[Fate | None]:
    """Finds the transaction in the listing, because the index may show it before the statuses."""
    for entry in listing.entries:
        if entry.signature == sent.signature:
            claimed = Landed(entry.signature, entry.slot, entry.error)
            return (yield from _landed_as(node, claimed, signal))
    return None


def _landed_as(node: AccountHistory, claimed: Landed, signal: Signal) -> Steps[Fate]:
    """Returns a claimed success; checks a claimed failure in the transaction itself."""
    if claimed.error is None:
        return claimed
    found = yield from node.read(claimed.signature, signal)
    judged = _judge(node, found, claimed.signature, claimed.slot, claimed.signature)
    return "open" if judged is None else judged


def _claimed(node: AccountHistory, sent: SentTransaction, signal: Signal) -> Steps[Fate | None]:
    """Asks for the status of the id that the seller claims; an error does not stop the search."""
    if sent.claim is None:
        return None
    status = yield from quiet(node.status_of(sent.claim, signal))
    signal.check()
    # A failure is left to the listing, which shows the current slot.
    if status is None or status.error is not None or status.commitment == "processed":
        return None
    return Landed(sent.claim, status.slot, None)


def _judge(
    node: AccountHistory,
    found: SeenTransaction | None,
    signature: str,
    slot: int | None,
    our_signature: str,
) -> Fate | None:
    """Returns the fate of a transaction with our signature; None if it is another transaction.

    ``slot``: the slot that the node tells now. If a failure was read in another slot, it may be
    from a dropped fork.
    """
    if found is None or found.slot is None or our_signature not in found.signatures:
        return None
    if found.error is None:
        return Landed(signature, found.slot, None)
    if found.slot == slot:
        return _failed_as(node, found, signature)
    node.forget(signature)
    return "open"


def _failed_as(node: AccountHistory, found: SeenTransaction, signature: str) -> Fate:
    """Returns the fate of a failed transaction; ``open`` if its answer contradicts itself.

    A failed transaction moves no tokens, so changed amounts contradict the error.
    """
    amounts = found.amounts
    has_moved = amounts is not None and amounts[0] != amounts[1]
    if found.slot is None or (has_moved and node.source.unit == "tokens"):
        return "open"
    return Landed(signature, found.slot, found.error)


def _recognised(node: AccountHistory, listing: Listing, sent: SentTransaction) -> Fate | None:
    """Returns the fate of our transaction if it is among the read entries of a listing."""
    for entry in every_of(listing):
        found = node.known(entry.signature)
        fate = _judge(node, found, entry.signature, entry.slot, sent.signature)
        if fate is not None:
            return fate
    return None


def _search(
    node: AccountHistory, listing: Listing, sent: SentTransaction, signal: Signal
) -> Steps[Fate | None]:
    """Searches the transaction in the listing of its source.

    Returns None if it is not there, and ``open`` if that is not certain yet. It looks at entries of
    all slots, because a node may give a wrong slot.
    """
    tells_memos = any(entry.memo for entry in listing.entries)
    reads, unreadable = 0, 0
    for entry in listing.entries:
        if not _may_be(entry.memo, sent.memo, tells_memos):
            continue
        signature = entry.signature
        if node.known(signature) is None:
            reads += 1
            if reads > READS_A_LOOK:
                return "open"
        found = yield from node.read(signature, signal)
        fate = _judge(node, found, signature, entry.slot, sent.signature)
        if fate is not None:
            return fate
        if found is None:
            unreadable += 1
            if unreadable >= MAX_UNREADABLE:
                return "open"
    return None if unreadable == 0 else "open"


def _may_be(memo: str | None, our_memo: str | None, tells_memos: bool) -> bool:
    """Returns whether an entry with this memo may be our transaction.

    A missing or empty memo excludes it only if the node shows memos of other entries.
    """
    if our_memo is None:
        return True
    return our_memo in memo if memo else not tells_memos


def landing_of(fate: Fate) -> Landing:
    """Converts a fate to the landing of a transaction that is being sent."""
    if isinstance(fate, Landed):
        if fate.error is None:
            return Landing("confirmed", fate.slot, signature=fate.signature)
        return Landing("failed", fate.slot, fate.error, fate.signature)
    return UNKNOWN if fate == "open" else Landing("expired")
