"""A Solana node, or several with failover: each method is steps."""

from __future__ import annotations

import base64
from typing import Any, Callable, Sequence, TypeVar

from ..._base.json_types import record_of
from ..._base.network import TOKEN_PROGRAMS
from ..._base.runtime import Runtime, since_then
from ..._http.own import HttpPort
from ..._kernel.signals import Signal
from ..._kernel.steps import all_of, both, done
from ..._kernel.task import Steps
from ..address import Address, is_address
from ..types import Lifetime
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
    Accounts,
    Commitment,
    LandedTransaction,
    OwnedToken,
    OwnedTokens,
    SignatureInfo,
    SignatureStatus,
    Simulation,
    Tip,
)

T = TypeVar("T")
_COMMITMENT: Commitment = "confirmed"
# Rent follows from a constant of the cluster, which changes between epochs at most. A transaction
# that counts on an older one fails in simulation.
_RENT_MS = 10 * 60_000
_MAX_RENTS = 64
# What a version above 0 is, which is never ours.
NEWER = "newer"


class Rpc:
    """Every call is bounded by a deadline.

    Raises a ``TransportError`` that says nothing moved, or the signal's reason. Reads are at
    ``confirmed`` unless they say otherwise. ``min_slot``: the node answers from this slot or
    later, or fails.
    """

    def __init__(self, failover: Failover) -> None:
        self._all = failover
        self._singles: dict[Node, Rpc] = {}
        # Lamports by size, and when they were asked for.
        self._rents: dict[int, tuple[int, int]] = {}

    def accounts(
        self,
        addresses: Sequence[Address],
        *,
        commitment: Commitment = _COMMITMENT,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Accounts]:
        """At most 100 addresses a call."""
        settings = {**_settings(min_slot, commitment), "encoding": "base64"}

        def read(result: Any) -> Accounts:
            values = values_in(result, len(addresses))
            accounts = [None if one is None else read_account(one) for one in values]
            return Accounts(slot_in(result, min_slot), accounts)

        params = [_checked(addresses), settings]
        return self._ask("getMultipleAccounts", params, read, signal)

    def token_accounts(
        self, owner: Address, *, min_slot: int | None = None, signal: Signal | None = None
    ) -> Steps[OwnedTokens]:
        """Token accounts of an owner, of both token programs."""
        settings = {**_settings(min_slot), "encoding": "base64"}

        def read(result: Any) -> OwnedTokens:
            accounts = [
                OwnedToken(_address(one["pubkey"]), read_account(one["account"]))
                for one in record_of(result)["value"]
            ]
            return OwnedTokens(slot_in(result, min_slot), accounts)

        (address,) = _checked([owner])
        parts = yield from all_of(
            [
                self._ask(
                    "getTokenAccountsByOwner",
                    [address, {"programId": program}, settings],
                    read,
                    signal,
                )
                for program in TOKEN_PROGRAMS
            ]
        )
        every = [one for part in parts for one in part.accounts]
        return OwnedTokens(min(part.slot for part in parts), every)

    def latest_blockhash(
        self, *, min_slot: int | None = None, signal: Signal | None = None
    ) -> Steps[Lifetime]:
        """The newest blockhash; what the node says of its life is held against its own height."""

        def ask(node: Node, stop: Signal) -> Steps[Lifetime]:
            earlier = node.last_tip
            question = node.ask("getLatestBlockhash", [_settings(min_slot)], stop)
            first: Steps[Tip | None] = done(None)
            if earlier is None:
                first = _tip_of(node, _COMMITMENT, min_slot, stop)
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
                    tip = yield from _tip_of(node, _COMMITMENT, min_slot, stop)
                if not may_live_until(latest, tip):
                    raise Fault(
                        "invalid",
                        "the last valid block height is none that its own block height allows",
                    )
            node.last_tip = tip_at(latest)
            return latest

        return self._all.ask("getLatestBlockhash", ask, signal)

    def tip(
        self,
        commitment: Commitment,
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Tip]:
        """The newest block at a commitment."""
        return self._all.ask(
            "getEpochInfo", lambda node, stop: _tip_of(node, commitment, min_slot, stop), signal
        )

    def is_blockhash_valid(
        self,
        blockhash: str,
        *,
        commitment: Commitment = _COMMITMENT,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[tuple[int, bool]]:
        """Whether a transaction with it can land yet, as of the slot."""

        def read(result: Any) -> tuple[int, bool]:
            return slot_in(result, min_slot), _bool(record_of(result).get("value"))

        params = [blockhash, _settings(min_slot, commitment)]
        return self._ask("isBlockhashValid", params, read, signal)

    def first_slot(self, *, signal: Signal | None = None) -> Steps[int]:
        """The oldest slot that the node's history still holds."""
        return self._ask("getFirstAvailableBlock", [], whole, signal)

    def rent(self, size: int, *, signal: Signal | None = None) -> Steps[int]:
        """Lamports that make an account of ``size`` bytes rent-exempt, at most 10 minutes old."""
        runtime = self._all.runtime
        known = self._rents.get(size)
        if known is not None and since_then(runtime, known[1]) < _RENT_MS:
            return known[0]

        def read(result: Any) -> int:
            lamports = whole(result)
            if lamports == 0:
                raise Fault("invalid", "rent is never zero")
            return lamports

        params = [size, {"commitment": _COMMITMENT}]
        at = runtime.now()
        lamports = yield from self._ask("getMinimumBalanceForRentExemption", params, read, signal)
        # A token account has one of few sizes, whatever its mint.
        if len(self._rents) >= _MAX_RENTS:
            self._rents.clear()
        self._rents[size] = (lamports, at)
        return lamports

    def priority_fees(
        self, accounts: Sequence[Address], *, signal: Signal | None = None
    ) -> Steps[list[int]]:
        """Micro-lamports per compute unit that recent transactions paid on writable accounts."""

        def read(result: Any) -> list[int]:
            return [whole(one["prioritizationFee"]) for one in result]

        return self._ask("getRecentPrioritizationFees", [_checked(accounts)], read, signal)

    def simulate(
        self,
        transaction: bytes,
        watch: Sequence[Address],
        *,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[Simulation]:
        """Runs wire bytes without landing them: no signature verified, the blockhash replaced."""
        settings = {
            **_settings(min_slot),
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
            if value.get("err") is None and len(shown) != len(watch):
                raise Fault("invalid", "it has not as many accounts as were asked for")
            padded = [*shown, *[None] * (len(watch) - len(shown))]
            accounts: list[Account | None] = [
                None if one is None else read_account(one) for one in padded
            ]
            inner = value.get("innerInstructions")
            return Simulation(
                slot_in(result, min_slot),
                raw_error(value.get("err")),
                texts_in(value.get("logs")),
                whole(value.get("unitsConsumed") or 0),
                accounts,
                read_inner(inner) if inner else None,
            )

        params = [base64.b64encode(transaction).decode(), settings]
        return self._ask("simulateTransaction", params, read, signal)

    def send(self, transaction: bytes, *, signal: Signal | None = None) -> Steps[None]:
        """Hands wire bytes to the node: no preflight, no retries of its own."""
        settings = {"encoding": "base64", "skipPreflight": True, "maxRetries": 0}
        params = [base64.b64encode(transaction).decode(), settings]
        return self._ask("sendTransaction", params, lambda _result: None, signal)

    def statuses(
        self,
        signatures: Sequence[str],
        *,
        history: bool = False,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[list[SignatureStatus | None]]:
        """What became of signatures."""

        def read(result: Any) -> list[SignatureStatus | None]:
            slot_in(result, min_slot)
            values = values_in(result, len(signatures))
            return [None if one is None else read_status(one) for one in values]

        params = [list(signatures), {"searchTransactionHistory": history}]
        return self._ask("getSignatureStatuses", params, read, signal)

    def transaction(
        self, signature: str, *, signal: Signal | None = None
    ) -> Steps[LandedTransaction | str | None]:
        """A landed transaction, None if the node does not know it, ``NEWER`` if never ours."""
        settings = {
            "commitment": _COMMITMENT,
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

        return self._all.ask("getTransaction", ask, signal)

    def signatures_for(
        self,
        address: Address,
        *,
        limit: int,
        before: str | None = None,
        min_slot: int | None = None,
        signal: Signal | None = None,
    ) -> Steps[list[SignatureInfo]]:
        """Transactions of an account, newest first."""
        settings: dict[str, Any] = {**_settings(min_slot), "limit": limit}
        if before is not None:
            settings["before"] = before

        def read(result: Any) -> list[SignatureInfo]:
            return [
                SignatureInfo(
                    str(one["signature"]),
                    whole(one["slot"]),
                    error_text(one.get("err")),
                    one["memo"] if isinstance(one.get("memo"), str) else None,
                )
                for one in result
            ]

        params = [*_checked([address]), settings]
        return self._ask("getSignaturesForAddress", params, read, signal)

    def genesis_hash(self, *, signal: Signal | None = None) -> Steps[str]:
        """The hash of the first block."""
        return self._all.ask(
            "getGenesisHash", lambda node, stop: node.genesis(stop), signal, unchecked=True
        )

    def alone(self) -> list[Rpc]:
        """Each node by itself, the same object each time, those that failed lately last."""
        nodes = self._all.nodes
        if len(nodes) == 1:
            return [self]
        for node in nodes:
            if node not in self._singles:
                one = Failover([node], self._all.timeout_ms, self._all.closing, self._all.runtime)
                self._singles[node] = Rpc(one)
        return [self._singles[node] for node in in_turn(nodes, self._all.runtime.now())]

    def close(self) -> None:
        """Ends every call that is under way."""
        self._all.closing.abort(Fault("unavailable", "the connection was closed"))

    def _ask(
        self,
        method: str,
        params: Sequence[Any],
        read: Callable[[Any], T],
        signal: Signal | None,
    ) -> Steps[T]:
        def ask(node: Node, stop: Signal) -> Steps[T]:
            return read((yield from node.ask(method, params, stop)))

        return self._all.ask(method, ask, signal)


def connect(
    urls: Sequence[str],
    http: HttpPort,
    runtime: Runtime,
    timeout_ms: float,
    network: str | None = None,
) -> Rpc:
    """Connects to one or several nodes. Opens nothing until it is asked something."""
    closing = Signal()
    nodes = [Node(url, http, runtime, network, timeout_ms, closing) for url in urls]
    return Rpc(Failover(nodes, timeout_ms, closing, runtime))


def _tip_of(node: Node, commitment: Commitment, min_slot: int | None, signal: Signal) -> Steps[Tip]:
    result = yield from node.ask("getEpochInfo", [_settings(min_slot, commitment)], signal)
    info = object_in(result)
    slot = slot_in({"context": {"slot": info["absoluteSlot"]}}, min_slot)
    return Tip(slot, whole(info["blockHeight"]))


def _settings(min_slot: int | None, commitment: Commitment = _COMMITMENT) -> dict[str, Any]:
    settings: dict[str, Any] = {"commitment": commitment}
    return settings if min_slot is None else {**settings, "minContextSlot": min_slot}


def _checked(addresses: Sequence[Address]) -> list[Address]:
    return [_address(one) for one in addresses]


def _address(value: object) -> Address:
    if not is_address(value):
        raise TypeError("Not a Solana address.")
    return value


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise Fault("invalid", "it is neither true nor false")
    return value
