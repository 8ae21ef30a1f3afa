"""One node of Solana: JSON-RPC over HTTP."""

from __future__ import annotations

import itertools
import json
from typing import Any, Sequence

from ..._base.backoff import asked_wait
from ..._base.js import parse_json
from ..._base.json_types import is_integer, is_record
from ..._base.runtime import Runtime
from ..._http.own import Answer, HttpPort, LostError, Request, TooLongError
from ..._kernel.signals import Signal
from ..._kernel.steps import bounded, join, start
from ..._kernel.task import Steps, Task
from ..address import is_address
from .fault import Fault, json_rpc_fault, late, shown_host
from .health import HEALTHY, NodeHealth
from .types import Tip

# Far more than the accounts of any swap or the tokens of any wallet: a foreign transaction may
# name a hundred accounts of 10 MB each.
_MAX_BODY_BYTES = 64 * 1024 * 1024
_ids = itertools.count(1)


class Node:
    """A node, with its health and the network that it serves."""

    def __init__(
        self,
        url: str,
        http: HttpPort,
        runtime: Runtime,
        network: str | None,
        timeout_ms: float,
        closing: Signal,
    ) -> None:
        self.url = url
        self.host = shown_host(url)
        self.health: NodeHealth = HEALTHY
        # The tip by its last blockhash.
        self.last_tip: Tip | None = None
        self._http = http
        self._runtime = runtime
        self._network = network
        self._timeout_ms = timeout_ms
        self._closing = closing
        self._genesis: Task[str] | None = None

    def ask(self, method: str, params: Sequence[Any], signal: Signal | None) -> Steps[Any]:
        """Returns the result of a call; raises :class:`Fault`."""
        id_ = next(_ids)
        question = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        request = Request(
            "POST",
            self.url,
            [("content-type", "application/json"), ("accept", "application/json")],
            json.dumps(question, separators=(",", ":")).encode(),
            self._timeout_ms,
            _MAX_BODY_BYTES,
        )
        try:
            answer = yield from self._http.send(request, signal)
        except LostError as error:
            raise Fault("unavailable", "the connection failed", cause=error)
        except TooLongError:
            # The answer of another node is not shorter.
            reason = f"its answer is longer than {_MAX_BODY_BYTES} bytes"
            raise Fault("refused", reason) from None
        return self._result_in(answer, id_)

    def genesis(self, signal: Signal | None) -> Steps[str]:
        """Returns the hash of its first block; calls that wait share the request."""
        if self._genesis is None or self._genesis.error is not None:
            self._genesis = yield from start(
                bounded(self._timeout_ms, late, [self._closing], self._ask_genesis)
            )
        return (yield from join(self._genesis, signal))

    def admit(self, signal: Signal | None) -> Steps[None]:
        """Raises :class:`Fault` unless the node serves our network."""
        if self._network is None:
            return
        actual = network_of((yield from self.genesis(signal)))
        if actual != self._network:
            raise Fault("foreign", "it serves another network", networks=(self._network, actual))

    def _ask_genesis(self, signal: Signal) -> Steps[str]:
        hash_ = yield from self.ask("getGenesisHash", [], signal)
        if not is_address(hash_):
            raise Fault("invalid", "the genesis hash is not one")
        return hash_

    def _result_in(self, answer: Answer, id_: int) -> Any:
        if not 200 <= answer.status < 300:
            wait = asked_wait(answer.headers.get, self._runtime.now())
            raise Fault(
                "rate_limited" if answer.status == 429 else "unavailable",
                f"it answered with status {answer.status}",
                retry_after_ms=wait,
            )
        try:
            reply = parse_json(answer.body)
        except ValueError:
            reply = None
        if not is_record(reply):
            raise Fault("invalid", "it is not a JSON object")
        error = reply.get("error")
        if error is not None:
            code = error.get("code") if is_record(error) else None
            if not is_integer(code):
                raise Fault("invalid", "it is an error without a code")
            said = error.get("message")
            raise json_rpc_fault(code, said if isinstance(said, str) else None)
        if reply.get("id") != id_:
            raise Fault("invalid", "it answers another question")
        return reply.get("result")


def network_of(genesis_hash: str) -> str:
    """Returns the CAIP-2 id of the network with this first block."""
    return f"solana:{genesis_hash[:32]}"
