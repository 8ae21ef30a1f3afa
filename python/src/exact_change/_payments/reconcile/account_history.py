"""The accounts that the wallet's transactions take from, as each node shows them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Callable, Generic, NamedTuple, Sequence, TypeVar

from typing_extensions import Literal

from ..._base.runtime import Runtime
from ..._journal.balances import Reading
from ..._kernel.signals import Signal
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
# About a slot, in milliseconds.
_SLOT_MS = 400
_MAX_SOURCES = 64
_MAX_KNOWN = 10_000


class Source(NamedTuple):
    """An account of the wallet, by what of it transactions take."""

    account: Address
    # Base units of a token account, or lamports.
    unit: Literal["tokens", "lamports"]


class LookedAt(NamedTuple):
    """What a node gave of one transaction."""

    # None if it went well.
    error: str | None
    # None for a version above 0.
    slot: int | None
    # All signatures, fee payer's first. Empty for a version above 0, which is never ours.
    signatures: Sequence[str]
    # What the source held before and after; None if the node does not tell.
    amounts: tuple[int, int] | None


class _Asked(Generic[T]):
    def __init__(self, at: int, min_slot: int, answer: Task[T]) -> None:
        self.at = at
        self.min_slot = min_slot
        self.answer = answer


class _Kept(Generic[T]):
    """Asks at most once a slot; each caller waits for as long as its own signal lets it."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._kept: _Asked[T] | None = None

    def get(self, min_slot: int, signal: Signal | None, ask: Callable[[], Steps[T]]) -> Steps[T]:
        at, kept = self._now(), self._kept
        if kept is None or not 0 <= at - kept.at < _SLOT_MS or kept.min_slot < min_slot:
            answer = yield from start(ask())
            kept = self._kept = _Asked(at, min_slot, answer)
            # What fails is asked again.
            answer.then(lambda: self._check(kept))
        return (yield from join(kept.answer, signal))

    def outdate(self) -> None:
        """The next caller asks anew."""
        self._kept = None

    def _check(self, asked: _Asked[T]) -> None:
        if asked.answer.error is not None and self._kept is asked:
            self._kept = None


class AccountHistory:
    """One source as one node shows it.

    Answers are kept for a slot, so that all open payments of the source share each question.
    """

    def __init__(self, rpc: Rpc, source: Source, batch: StatusBatch, runtime: Runtime) -> None:
        self.rpc = rpc
        self.source = source
        self._batch = batch
        self._looked: dict[str, LookedAt] = OrderedDict()
        self._expired: dict[str, int] = OrderedDict()
        self._tips: _Kept[Tip] = _Kept(runtime.now)
        self._balances: _Kept[Reading] = _Kept(runtime.now)
        self._listings: _Kept[Pages] = _Kept(runtime.now)
        self._reaches: _Kept[int] = _Kept(runtime.now)

    def tip(self, signal: Signal | None) -> Steps[Tip]:
        """The newest final block."""
        return self._tips.get(0, signal, lambda: self.rpc.tip("finalized"))

    def expired_as_of(
        self, blockhash: str, min_slot: int, signal: Signal | None
    ) -> Steps[int | None]:
        """The slot as of which no further block can include it, and all before is final.

        None while that may change.
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
        """The newest slot that the node's index of addresses shows of busy accounts.

        What is listed from then on is listed after that.
        """

        def ask() -> Steps[int]:
            newest = yield from newest_indexed(self.rpc, busy, enough)
            # A list of before may be older than this.
            self._listings.outdate()
            return newest

        return self._reaches.get(enough, signal, ask)

    def since(self, slot: int, min_slot: int, signal: Signal | None) -> Steps[Listing]:
        """What landed in ``slot`` or later, as of ``min_slot`` or later."""

        def ask() -> Steps[Pages]:
            return Pages(self.rpc, self.source.account, min_slot)
            yield

        pages = yield from self._listings.get(min_slot, signal, ask)
        listing = yield from start(pages.since(slot))
        return (yield from join(listing, signal))

    def read(self, id_: str, signal: Signal | None) -> Steps[LookedAt | None]:
        """A transaction by its id; None if the node does not give it.

        Raises only the signal's reason.
        """
        known = self._looked.get(id_)
        if known is not None:
            return known
        found = yield from quiet(self.rpc.transaction(id_, signal=signal))
        if signal is not None:
            signal.check()
        # An answer to another question would hide the transaction from every later look.
        if found is None:
            return None
        if not isinstance(found, str) and list(found.signatures[:1]) != [id_]:
            return None
        looked = _looked_at(found, self.source)
        _keep(self._looked, id_, looked, _MAX_KNOWN)
        return looked

    def status_of(self, id_: str, signal: Signal) -> Steps[SignatureStatus | None]:
        """The status of a transaction by its id, asked for together with those of other sources."""
        return self._batch.status_of(id_, signal)

    def known(self, id_: str) -> LookedAt | None:
        """As :meth:`read` gave it before."""
        return self._looked.get(id_)

    def forget(self, id_: str) -> None:
        """What it gave was wrong, or may have been: the next look asks anew."""
        self._looked.pop(id_, None)

    def balance(self, min_slot: int, signal: Signal | None) -> Steps[Reading]:
        """What the source holds at ``finalized``, as of ``min_slot`` or later."""

        def ask() -> Steps[Reading]:
            slot, accounts = yield from self.rpc.accounts(
                [self.source.account], commitment="finalized", min_slot=min_slot
            )
            return Reading(amount_in(accounts[0], self.source), slot)

        return self._balances.get(min_slot, signal, ask)

    def outdate(self) -> None:
        """What is kept is older than what its caller has heard."""
        for kept in (self._tips, self._balances, self._listings, self._reaches):
            kept.outdate()


class Histories:
    """The histories of sources, at each node by itself."""

    def __init__(self, rpc: Rpc, runtime: Runtime) -> None:
        self._rpc = rpc
        self._runtime = runtime
        self._nodes: dict[Rpc, tuple[OrderedDict[Source, AccountHistory], StatusBatch]] = {}

    def of(self, source: Source) -> list[AccountHistory]:
        """At each node, those that failed lately last."""
        found: list[AccountHistory] = []
        for node in self._rpc.alone():
            if node not in self._nodes:
                self._nodes[node] = OrderedDict(), StatusBatch(node, self._runtime)
            known, batch = self._nodes[node]
            history = known.pop(source, None)
            if history is None:
                history = AccountHistory(node, source, batch, self._runtime)
            # What was asked for last is forgotten last.
            _keep(known, source, history, _MAX_SOURCES)
            found.append(history)
        return found

    def outdate(self, source: Source) -> None:
        """What is kept of a source is older than what its caller has heard."""
        for known, _ in self._nodes.values():
            if source in known:
                known[source].outdate()


def amount_in(account: Account | None, source: Source) -> int:
    """What an account holds of what its source counts."""
    if account is None:
        return 0
    if source.unit == "lamports":
        return account.lamports
    held = decode_token_account(account)
    return 0 if held is None else held.amount


def _looked_at(found: LandedTransaction | str, source: Source) -> LookedAt:
    if isinstance(found, str):
        return LookedAt(None, None, (), None)
    if source.unit == "lamports":
        amounts = found.lamports.get(source.account)
    else:
        amounts = _tokens_of(found, source.account)
    return LookedAt(found.error, found.slot, found.signatures, amounts)


def _tokens_of(found: LandedTransaction, account: Address) -> tuple[int, int] | None:
    """An account that is yet to be made, or is closed, holds nothing."""
    for change in found.token_changes:
        if change.account == account:
            return change.before, change.after
    return (0, 0) if found.tells_tokens else None


def _keep(kept: dict[K, T], key: K, value: T, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]
