"""What the chain says about a transaction that this wallet signed."""

from __future__ import annotations

from typing import NamedTuple, Union

from typing_extensions import Literal

from ..._kernel.signals import Signal
from ..._kernel.steps import quiet
from ..._kernel.task import Steps
from ..._solana.address import Address
from ..._solana.confirm import UNKNOWN, Landing
from .account_history import AccountHistory, Histories, LookedAt
from .explained_balance import MAX_UNREADABLE, READS_A_LOOK, every_of, is_explained
from .history_pages import Listing
from .sent import Sent


class Landed(NamedTuple):
    """It landed; ``error`` is None if it went well.

    A landed failure can never succeed: the chain takes the same message once.
    """

    signature: str
    slot: int
    error: str | None


# `never`: it did not land and never will.
Fate = Union[Landed, Literal["never", "open"]]

# Named by a transaction in each slot of a cluster.
_VOTE_PROGRAM: Address = "Vote111111111111111111111111111111111111111"
# Blocks after which an index that no busy account tells of is taken to be up to date: about 15
# minutes. None that is honest lags for so long.
_INDEX_BLOCKS = 2_250


def fate_of(histories: Histories, sent: Sent, signal: Signal) -> Steps[Fate]:
    """Asks the chain once what became of a transaction.

    Our own signature in a landed transaction is proof that it landed, and so is the fee payer's
    over our message, which is its id. That it failed is told by two nodes, if there are two, each
    with a transaction that moved nothing, in a final block. That it never will land takes two
    witnesses, which no index can delay together, from two nodes if there are two:

    - the search: at a final slot past the life of the blockhash, as the node itself judges that,
      the source's whole history has no such transaction, and the index of addresses that gives that
      history has come as far;
    - the balance of the source at such a slot lacks nothing that its history does not explain.
    """
    failures: list[Exception] = []
    nodes = histories.of(sent.source)
    in_vain: list[Fate] = []
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
            in_vain.append(fate)
        # One that failed has cost its fee.
        if len(in_vain) >= min(2, len(nodes)):
            landed = [one for one in in_vain if isinstance(one, Landed)]
            return landed[0] if landed else "never"
    if len(failures) == len(nodes):
        raise failures[0]
    return "open"


def _ask_node(node: AccountHistory, sent: Sent, signal: Signal) -> Steps[Fate]:
    fate = yield from _look_for(node, sent, signal)
    if not isinstance(fate, Landed) or fate.error is None:
        return fate
    # On a fork that is dropped it has not failed: the same bytes may land anew, and go well.
    return fate if fate.slot <= (yield from node.tip(signal)).slot else "open"


def _look_for(node: AccountHistory, sent: Sent, signal: Signal) -> Steps[Fate]:
    if sent.is_id:
        by_id = yield from _status_of(node, sent, None, signal)
    else:
        by_id = yield from _claimed(node, sent, signal)
    if by_id is not None:
        return by_id
    tip = yield from node.tip(signal)
    # What landed up to the tip is in what is searched. A node that has not seen the blockhash yet
    # would call it expired: it has to have seen as much as the node that gave it.
    as_of: int | None = None
    if tip.height > sent.last_valid_block_height and tip.slot >= sent.blockhash_slot:
        as_of = yield from node.expired_as_of(sent.blockhash, tip.slot, signal)
    # Before the list is asked for: after it, the index may have come there in between.
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
    # By its id, a transaction is found without the index.
    if as_of is None or not (is_indexed or sent.is_id) or not listing.is_complete:
        return "open"
    if sent.is_id:
        late = yield from _status_of(node, sent, as_of, signal)
        if late is not None:
            return late
    is_whole = yield from is_explained(node, listing, sent, as_of, is_indexed, signal)
    # Among what was read for that, too, may be ours: with another memo, or none, as the node tells
    # it.
    explaining = _recognised(node, listing, sent)
    if explaining is not None:
        return explaining
    if not is_whole:
        return "open"
    # After the search: what a node has dropped meanwhile is no longer in it. One that cannot say
    # may show something older.
    first = yield from quiet(node.rpc.first_slot(signal=signal))
    if first is None:
        is_older = any(one.slot < sent.slot for one in listing.entries)
        return "never" if is_older or listing.older is not None else "open"
    return "never" if first <= sent.slot else "open"


def _reaches_index(
    node: AccountHistory, sent: Sent, slot: int, height: int, signal: Signal
) -> Steps[bool]:
    """Whether the node's index of addresses has come to a slot."""
    last = sent.last_valid_block_height
    if last >= 0 and height > last + _INDEX_BLOCKS:
        return True
    busy = [*([] if sent.mint is None else [sent.mint]), _VOTE_PROGRAM]
    return (yield from node.reach(busy, slot, signal)) >= slot


def _status_of(
    node: AccountHistory, sent: Sent, min_slot: int | None, signal: Signal
) -> Steps[Fate | None]:
    """By its id, as far back as the node remembers; ``open`` while it is not confirmed."""
    (status,) = yield from node.rpc.statuses(
        [sent.signature], history=True, min_slot=min_slot, signal=signal
    )
    if status is None:
        return None
    if status.commitment == "processed":
        return "open"
    told = Landed(sent.signature, status.slot, status.error)
    return (yield from _landed_as(node, told, signal))


def _listed(
    node: AccountHistory, listing: Listing, sent: Sent, signal: Signal
) -> Steps[Fate | None]:
    """The index may know of it before the statuses do."""
    for entry in listing.entries:
        if entry.signature == sent.signature:
            told = Landed(entry.signature, entry.slot, entry.error)
            return (yield from _landed_as(node, told, signal))
    return None


def _landed_as(node: AccountHistory, told: Landed, signal: Signal) -> Steps[Fate]:
    """A failure is believed only if the transaction itself says it."""
    if told.error is None:
        return told
    # What it says of itself is more than what others do.
    found = yield from node.read(told.signature, signal)
    judged = _judge(node, found, told.signature, told.slot, told.signature)
    return "open" if judged is None else judged


def _claimed(node: AccountHistory, sent: Sent, signal: Signal) -> Steps[Fate | None]:
    """The node is asked in vain at worst: it must not keep the search from being made."""
    if sent.claim is None:
        return None
    status = yield from quiet(node.status_of(sent.claim, signal))
    signal.check()
    # That it failed is for the list to say, which tells the slot of now.
    if status is None or status.error is not None or status.commitment == "processed":
        return None
    return Landed(sent.claim, status.slot, None)


def _judge(
    node: AccountHistory, found: LookedAt | None, signature: str, slot: int | None, ours: str
) -> Fate | None:
    """``slot``: what a node tells now.

    A failure that was read before, in another slot, may have been on a fork that was dropped.
    """
    if found is None or found.slot is None or ours not in found.signatures:
        return None
    if found.error is None:
        return Landed(signature, found.slot, None)
    if found.slot == slot:
        return _failed_as(node, found, signature)
    node.forget(signature)
    return "open"


def _failed_as(node: AccountHistory, found: LookedAt, signature: str) -> Fate:
    """One that failed moved no tokens: an error beside amounts that changed says nothing."""
    amounts = found.amounts
    has_moved = amounts is not None and amounts[0] != amounts[1]
    if found.slot is None or (has_moved and node.source.unit == "tokens"):
        return "open"
    return Landed(signature, found.slot, found.error)


def _recognised(node: AccountHistory, listing: Listing, sent: Sent) -> Fate | None:
    """Ours among all that was read of a list."""
    for entry in every_of(listing):
        found = node.known(entry.signature)
        fate = _judge(node, found, entry.signature, entry.slot, sent.signature)
        if fate is not None:
            return fate
    return None


def _search(
    node: AccountHistory, listing: Listing, sent: Sent, signal: Signal
) -> Steps[Fate | None]:
    """Looks for the transaction among those of its source.

    None if it is not there, ``open`` if that cannot be told yet. All that is listed is looked at,
    not what came after its slot alone: what a node says of a slot may be wrong.
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


def _may_be(memo: str | None, ours: str | None, tells_memos: bool) -> bool:
    """A memo that the node does not tell, or an empty one, excludes nothing.

    Unless the node tells those of others.
    """
    if ours is None:
        return True
    return ours in memo if memo else not tells_memos


def landing_of(fate: Fate) -> Landing:
    """A fate as what became of a transaction of ours that is being sent."""
    if isinstance(fate, Landed):
        if fate.error is None:
            return Landing("confirmed", fate.slot, signature=fate.signature)
        return Landing("failed", fate.slot, fate.error, fate.signature)
    return UNKNOWN if fate == "open" else Landing("expired")
