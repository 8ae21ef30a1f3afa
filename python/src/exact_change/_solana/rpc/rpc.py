"""A Solana node, or several nodes with failover."""

from __future__ import annotations

import base64
from typing import Any, Sequence, TypeVar

from ..._base.json_types import record_of
from ..._base.runtime import Runtime
from ..._http.own import HttpPort
from ..._kernel.signals import Signal
from ..._kernel.steps import both, done
from ..._kernel.task import Steps
from ..address import Address, is_address
from ..types import Lifetime
from .accounts import CONFIRMED, AccountReads, checked, settings_for
from .failover import Failover, in_turn
from .fault import NEWER_VERSION, Fault
from .height import follows_from, may_live_until, tip_at
from .inner import read_inner
from .node import Node
from .reply import (
    error_text,
    object_in,
    raw_error,
    read_account,
    read_landed,
    read_status,
    slot_in,
    texts_in,
    values_in,
    whole,
)
from .types import (
    Account,
    Commitment,
    LandedTransaction,
    SignatureInfo,
    SignatureStatus,
    Simulation,
    Tip,
)

T = TypeVar("T")
# Stands for a transaction of a version above 0, which is never ours.
NEWER = "newer"


class Rpc(AccountReads):
    """The calls of nodes, each with a deadline.

    Raises a ``TransportError`` that says that nothing moved, or the signal's reason. Reads are at
    ``confirmed``, unless a method says otherwise. ``min_slot``: the node answers from this slot or
    later, or fails.
    """

    def __init__(self, failover: Failover) -> None:
        super().__init__(failover)
        self._singles: dict[Node, Rpc] = {}

    def latest_blockhash(self, min_slot: int | None) -> Steps[Lifetime]:
        """Returns the newest blockhash, if its life fits the node's own block height."""

        def ask(node: Node, stop: Signal) -> Steps[Lifetime]:
            earlier = node.last_tip
            question = node.ask("getLatestBlockhash", [settings_for(min_slot)], stop)
            first: Steps[Tip | None] = done(None)
            if earlier is None:
                first = _tip_of(node, CONFIRMED, min_slot, stop)
            result, tip = yield from both(question, first)
            value = object_in(record_of(result).get("value"))
            blockhash = value["blockhash"]
            # A blockhash is 32 bytes in base58, as an address is.
            if not is_address(blockhash):
                raise Fault("invalid", "the blockhash is not one")
            slot = slot_in(result, min_slot)
            latest = Lifetime(blockhash, whole(value["lastValidBlockHeight"]), slot)
            if earlier is None or not follows_from(latest, earlier):
                if tip is None:
                    tip = yield from _tip_of(node, CONFIRMED, min_slot, stop)
                if not may_live_until(latest, tip):
                    raise Fault(
                        "invalid",
                        "the last valid block height does not fit its block height",
                    )
            node.last_tip = tip_at(latest)
            return latest

        return self.failover.ask("getLatestBlockhash", ask, None)

    def tip(
        self,
        commitment: Commitment,
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Tip]:
        """Returns the newest block at a commitment."""
        return self.failover.ask(
            "getEpochInfo", lambda node, stop: _tip_of(node, commitment, min_slot, stop), signal
        )

    def is_blockhash_valid(
        self,
        blockhash: str,
        *,
        commitment: Commitment = CONFIRMED,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[tuple[int, bool]]:
        """Returns a slot, and whether a transaction with the blockhash can still land then."""

        def read(result: Any) -> tuple[int, bool]:
            return slot_in(result, min_slot), _bool(record_of(result).get("value"))

        params = [blockhash, settings_for(min_slot, commitment)]
        return self.ask("isBlockhashValid", params, read, signal)

    def first_slot(self, *, signal: Signal | None = None) -> Steps[int]:
        """Returns the oldest slot in the node's history."""
        return self.ask("getFirstAvailableBlock", [], whole, signal)

    def simulate(
        self,
        transaction: bytes,
        watch: Sequence[Address],
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Simulation]:
        """Runs wire bytes without landing them; needs no signature and no valid blockhash."""
        settings = {
            **settings_for(min_slot),
            "encoding": "base64",
            "sigVerify": False,
            "replaceRecentBlockhash": True,
            "innerInstructions": True,
            "accounts": {"encoding": "base64", "addresses": list(watch)},
        }

        def read(result: Any) -> Simulation:
            value = object_in(record_of(result).get("value"))
            shown: list[Any] = value.get("accounts") or []
            # A transaction that fails before it runs has no accounts to show.
            if value["err"] is None and len(shown) != len(watch):
                raise Fault("invalid", "it has not as many accounts as were asked for")
            padded = [*shown, *[None] * (len(watch) - len(shown))]
            accounts: list[Account | None] = [
                None if value is None else read_account(value) for value in padded
            ]
            inner = value.get("innerInstructions")
            return Simulation(
                slot_in(result, min_slot),
                raw_error(value["err"]),
                texts_in(value.get("logs")),
                whole(value.get("unitsConsumed") or 0),
                accounts,
                read_inner(inner) if inner else None,
            )

        params = [base64.b64encode(transaction).decode(), settings]
        return self.ask("simulateTransaction", params, read, signal)

    def send(self, transaction: bytes, *, signal: Signal | None = None) -> Steps[None]:
        """Hands wire bytes to the node, which makes no preflight and no retries."""
        settings = {"encoding": "base64", "skipPreflight": True, "maxRetries": 0}
        params = [base64.b64encode(transaction).decode(), settings]
        return self.ask("sendTransaction", params, lambda _result: None, signal)

    def statuses(
        self,
        signatures: Sequence[str],
        *,
        history: bool = False,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[list[SignatureStatus | None]]:
        def read(result: Any) -> list[SignatureStatus | None]:
            slot_in(result, min_slot)
            values = values_in(result, len(signatures))
            return [None if value is None else read_status(value) for value in values]

        params = [list(signatures), {"searchTransactionHistory": history}]
        return self.ask("getSignatureStatuses", params, read, signal)

    def transaction(
        self, signature: str, *, signal: Signal | None = None
    ) -> Steps[LandedTransaction | str | None]:
        """Returns a landed transaction; None if the node does not know it.

        Returns ``NEWER`` for a version that is never ours.
        """
        settings = {
            "commitment": CONFIRMED,
            "encoding": "json",
            "maxSupportedTransactionVersion": 0,
        }

        def ask(node: Node, stop: Signal) -> Steps[LandedTransaction | str | None]:
            try:
                result = yield from node.ask("getTransaction", [signature, settings], stop)
            except Fault as fault:
                if fault.code == NEWER_VERSION:
                    return NEWER
                raise
            return None if result is None else read_landed(result)

        return self.failover.ask("getTransaction", ask, signal)

    def signatures_for(
        self,
        address: Address,
        *,
        limit: int,
        before: str | None = None,
        min_slot: int | None = None,
    ) -> Steps[list[SignatureInfo]]:
        """Returns transactions of an account, newest first."""
        settings: dict[str, Any] = {**settings_for(min_slot), "limit": limit}
        if before is not None:
            settings["before"] = before

        def read(result: Any) -> list[SignatureInfo]:
            return [
                SignatureInfo(
                    str(entry["signature"]),
                    whole(entry["slot"]),
                    error_text(entry["err"]),
                    entry["memo"] if isinstance(entry.get("memo"), str) else None,
                )
                for entry in result
            ]

        params = [*checked([address]), settings]
        return self.ask("getSignaturesForAddress", params, read, None)

    def genesis_hash(self, *, signal: Signal | None = None) -> Steps[str]:
        return self.failover.ask(
            "getGenesisHash", lambda node, stop: node.genesis(stop), signal, unchecked=True
        )

    def alone(self) -> list[Rpc]:
        """Returns an object for each node, always the same; nodes that failed lately come last."""
        nodes = self.failover.nodes
        if len(nodes) == 1:
            return [self]
        for node in nodes:
            if node not in self._singles:
                single = Failover(
                    [node], self.failover.timeout_ms, self.failover.closing, self.failover.runtime
                )
                self._singles[node] = Rpc(single)
        return [self._singles[node] for node in in_turn(nodes, self.failover.runtime.now())]

    def close(self, reason: Exception | None = None) -> None:
        """Ends all calls under way, with ``reason`` as their error if it is given."""
        closed = Fault("unavailable", "the connection was closed")
        self.failover.closing.abort(closed if reason is None else reason)


def connect(
    urls: Sequence[str],
    http: HttpPort,
    runtime: Runtime,
    timeout_ms: float,
    network: str | None = None,
) -> Rpc:
    """Connects to one or several nodes. Opens nothing before the first call."""
    closing = Signal()
    nodes = [Node(url, http, runtime, network, timeout_ms, closing) for url in urls]
    return Rpc(Failover(nodes, timeout_ms, closing, runtime))


def _tip_of(node: Node, commitment: Commitment, min_slot: int | None, signal: Signal) -> Steps[Tip]:
    result = yield from node.ask("getEpochInfo", [settings_for(min_slot, commitment)], signal)
    info = object_in(result)
    slot = slot_in({"context": {"slot": info["absoluteSlot"]}}, min_slot)
    return Tip(slot, whole(info["blockHeight"]))


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise Fault("invalid", "it is neither true nor false")
    return value
