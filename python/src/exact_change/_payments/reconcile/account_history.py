"""The histories of the accounts that the wallet's transactions take from, by node."""

from __future__ import annotations

from collections import OrderedDict
from typing import Callable, Generic, NamedTuple, Sequence, TypeVar

from typing_extensions import Literal

from ..._base.runtime import Runtime
from ..._journal.balances import Reading
from ..._kernel.signals import Signal, check
from ..._kernel.steps import join, quiet, start
from ..._kernel.task import Steps, Task
from ..._solana.address import Address
from ..._solana.rpc.batches import StatusBatch
from ..._solana.rpc.rpc import Rpc
from ..._solana.rpc.types import Account, LandedTransaction, SignatureStatus, Tip
from ..._solana.tokens import decode_token_account
from .history_pages import Listing, Pages, newest_indexed

K = TypeVar("K")
T = TypeVar("T")
# About one slot. Milliseconds.
_SLOT_MS = 400
# The most sources remembered for a node.
_MAX_SOURCES = 64
# The most transactions, and most blockhashes, remembered for a source.
_MAX_KNOWN = 10_000


class Source(NamedTuple):
    """An account of the wallet, and what transactions take from it."""

    account: Address
    # Base units of a token account, or lamports.
    unit: Literal["tokens", "lamports"]


class SeenTransaction(NamedTuple):
    """The facts of one transaction that a node gave."""

    # None if the transaction succeeded.
    error: str | None
    # None for a transaction version above 0.
    slot: int | None
    # All signatures, the fee payer's first. Empty for a version above 0, which this library never
    # signs.
    signatures: Sequence[str]
    # Balance of the source before and after; None if the node does not tell.
    amounts: tuple[int, int] | None


class _Asked(Generic[T]):
    """A question to a node, with the task of its answer."""

    def __init__(self, at: int, min_slot: int, answer: Task[T]) -> None:
        self.at = at
        self.min_slot = min_slot
        self.answer = answer


class _Kept(Generic[T]):
    """Keeps an answer for the time of a slot; callers in that time share it."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._kept: _Asked[T] | None = None

    def get(self, min_slot: int, signal: Signal | None, ask: Callable[[], Steps[T]]) -> Steps[T]:
        """Returns the kept answer if it is recent and as of ``min_slot``, else asks again.

        The signal ends only this caller's wait.
        """
        at, kept = self._now(), self._kept
        if kept is None or not 0 <= at - kept.at < _SLOT_MS or kept.min_slot < min_slot:
            answer = yield from start(ask())
            kept = self._kept = _Asked(at, min_slot, answer)
            # If the question fails, the next caller asks again.
            answer.then(lambda: self._drop_failed(kept))
        return (yield from join(kept.answer, signal))

    def outdate(self) -> None:
        """Drops the answer, so that the next caller asks again."""
        self._kept = None

    def _drop_failed(self, asked: _Asked[T]) -> None:
        if asked.answer.error is not None and self._kept is asked:
            self._kept = None


class AccountHistory:
    """The history of one source at one node.

    Answers are kept for the time of a slot, so that all open payments of the source share them.
    """

    def __init__(self, rpc: Rpc, source: Source, batch: StatusBatch, runtime: Runtime) -> None:
        self.rpc = rpc
        self.source = source
        self._batch = batch
        self._seen: dict[str, SeenTransaction] = OrderedDict()
        self._expired: dict[str, int] = OrderedDict()
        self._tips: _Kept[Tip] = _Kept(runtime.now)
        self._balances: _Kept[Reading] = _Kept(runtime.now)
        self._listings: _Kept[Pages] = _Kept(runtime.now)
        self._reaches: _Kept[int] = _Kept(runtime.now)

    def tip(self, signal: Signal | None) -> Steps[Tip]:
        """Returns the newest final block."""
        return self._tips.get(0, signal, lambda: self.rpc.tip("finalized"))

    def expired_as_of(
        self, blockhash: str, min_slot: int, signal: Signal | None
    ) -> Steps[int | None]:
        """Returns a final slot after which no block can include the blockhash.

        None while the blockhash may still be valid.
        """
        known = self._expired.get(blockhash)
        if known is not None:
            return known
        slot, is_valid = yield from self.rpc.is_blockhash_valid(
            blockhash, commitment="finalized", min_slot=min_slot, signal=signal
        )
        if is_valid:
            return None
        _keep(self._expired, blockhash, slot, _MAX_KNOWN)
        return slot

    def reach(self, busy: Sequence[Address], enough: int, signal: Signal | None) -> Steps[int]:
        """Returns the newest slot that the node's address index shows for busy accounts.

        Later listings are asked for after this answer, so their index has come at least as far.
        """

        def ask() -> Steps[int]:
            newest = yield from newest_indexed(self.rpc, busy, enough)
            # A kept listing may be older than this answer.
            self._listings.outdate()
            return newest

        return self._reaches.get(enough, signal, ask)

    def since(self, slot: int, min_slot: int, signal: Signal | None) -> Steps[Listing]:
        """Lists the transactions of ``slot`` or later, at a node that has reached ``min_slot``."""

        def ask() -> Steps[Pages]:
            return Pages(self.rpc, self.source.account, min_slot)
            yield

        pages = yield from self._listings.get(min_slot, signal, ask)
        listing = yield from start(pages.since(slot))
        return (yield from join(listing, signal))

    def read(self, id_: str, signal: Signal | None) -> Steps[SeenTransaction | None]:
        """Returns the facts of a transaction by its id; None if the node does not give it.

        Raises only the signal's reason.
        """
        known = self._seen.get(id_)
        if known is not None:
            return known
        found = yield from quiet(self.rpc.transaction(id_, signal=signal))
        check(signal)
        # Do not remember the answer for another transaction: it would hide this transaction.
        if found is None:
            return None
        if not isinstance(found, str) and list(found.signatures[:1]) != [id_]:
            return None
        seen = _seen_transaction(found, self.source)
        _keep(self._seen, id_, seen, _MAX_KNOWN)
        return seen

    def status_of(self, id_: str, signal: Signal) -> Steps[SignatureStatus | None]:
        """Returns the status of a transaction by its id; one request serves several sources."""
        return self._batch.status_of(id_, signal)

    def known(self, id_: str) -> SeenTransaction | None:
        """Returns the facts of a transaction that :meth:`read` has returned before."""
        return self._seen.get(id_)

    def forget(self, id_: str) -> None:
        """Forgets facts that may be wrong, so that the next :meth:`read` asks again."""
        self._seen.pop(id_, None)

    def balance(self, min_slot: int, signal: Signal | None) -> Steps[Reading]:
        """Returns the final balance of the source, as of ``min_slot`` or later."""

        def ask() -> Steps[Reading]:
            slot, accounts = yield from self.rpc.accounts(
                [self.source.account], commitment="finalized", min_slot=min_slot
            )
            return Reading(amount_in(accounts[0], self.source), slot)

        return self._balances.get(min_slot, signal, ask)

    def outdate(self) -> None:
        """Drops kept answers, because the caller may know of a newer state."""
        for kept in (self._tips, self._balances, self._listings, self._reaches):
            kept.outdate()


class Histories:
    """The histories of sources, separate for each node."""

    def __init__(self, rpc: Rpc, runtime: Runtime) -> None:
        self._rpc = rpc
        self._runtime = runtime
        self._nodes: dict[Rpc, tuple[OrderedDict[Source, AccountHistory], StatusBatch]] = {}

    def of(self, source: Source) -> list[AccountHistory]:
        """Returns the source's history at each node; nodes that failed recently come last."""
        found: list[AccountHistory] = []
        for node in self._rpc.alone():
            if node not in self._nodes:
                self._nodes[node] = OrderedDict(), StatusBatch(node, self._runtime)
            known, batch = self._nodes[node]
            history = known.pop(source, None)
            if history is None:
                history = AccountHistory(node, source, batch, self._runtime)
            # Insert it again at the end: the least recently used source is dropped first.
            _keep(known, source, history, _MAX_SOURCES)
            found.append(history)
        return found

    def outdate(self, source: Source) -> None:
        """Drops kept answers about a source, because the caller may know of a newer state."""
        for known, _ in self._nodes.values():
            if source in known:
                known[source].outdate()


def amount_in(account: Account | None, source: Source) -> int:
    """Returns the balance of an account in the unit of its source."""
    if account is None:
        return 0
    if source.unit == "lamports":
        return account.lamports
    decoded = decode_token_account(account)
    return 0 if decoded is None else decoded.amount


def _seen_transaction(found: LandedTransaction | str, source: Source) -> SeenTransaction:
    if isinstance(found, str):
        return SeenTransaction(None, None, (), None)
    if source.unit == "lamports":
        amounts = found.lamports.get(source.account)
    else:
        amounts = _tokens_of(found, source.account)
    return SeenTransaction(found.error, found.slot, found.signatures, amounts)


def _tokens_of(found: LandedTransaction, account: Address) -> tuple[int, int] | None:
    """Returns a token account's balance before and after; (0, 0) if the account does not exist."""
    for change in found.token_changes:
        if change.account == account:
            return change.before, change.after
    return (0, 0) if found.tells_tokens else None


def _keep(kept: dict[K, T], key: K, value: T, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]
