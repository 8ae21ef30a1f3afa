"""Asks nodes in turn until one answers, within one deadline."""

from __future__ import annotations

import functools
from typing import Callable, Generic, Sequence, TypeVar

from ..._base.runtime import Runtime
from ..._kernel.signals import Signal
from ..._kernel.steps import both, bounded, done, sleep
from ..._kernel.task import Steps
from ...errors import ExactChangeError
from .fault import Fault, late, to_error, worst_fault
from .health import HEALTHY, NodeHealth, after_fault, take_turns
from .node import Node

T = TypeVar("T")
Ask = Callable[[Node, Signal], Steps[T]]

_ROUNDS = 2
_PAUSE_MS = 250
# Longest pause of a node that is waited for. Milliseconds.
_MAX_PAUSE_MS = 2_000
# Milliseconds for a node that failed lately, because another node can answer the call.
_PROBE_MS = 1_000
# Errors of code that reads an answer with a wrong shape, or one that is nested without an end.
_MISSHAPEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError)


def in_turn(nodes: Sequence[Node], now: int) -> list[Node]:
    """Returns the nodes in the order in which to ask them now."""
    turns, left = take_turns([node.health for node in nodes], now)
    return [
        nodes[place] for place in (*(turn.place for turn in turns), *(place for place, _ in left))
    ]


class Failover:
    """The nodes of one client, asked as one."""

    def __init__(
        self, nodes: Sequence[Node], timeout_ms: float, closing: Signal, runtime: Runtime
    ) -> None:
        self.nodes = nodes
        self.timeout_ms = timeout_ms
        self.closing = closing
        self.runtime = runtime

    def ask(
        self, method: str, ask: Ask[T], signal: Signal | None, *, unchecked: bool = False
    ) -> Steps[T]:
        """Returns the answer of the first node that answers.

        Nodes that failed lately are asked last, and all nodes once more after a short pause. No
        node gets more than its share of the time. ``unchecked``: the answer itself says which
        network it is of. Raises the signal's reason or a ``TransportError``.
        """

        def rounds(stop: Signal) -> Steps[T]:
            return self._rounds(ask, stop, unchecked)

        try:
            return (yield from bounded(self.timeout_ms, late, [signal, self.closing], rounds))
        except Fault as fault:
            # If there is only one node, it caused the timeout of the whole call.
            if len(self.nodes) == 1:
                fault.host = fault.host or self.nodes[0].host
            raise to_error(fault, method, self.timeout_ms)

    def _rounds(self, ask: Ask[T], stop: Signal, unchecked: bool) -> Steps[T]:
        began = self.runtime.now()
        faults: Sequence[Fault] = ()
        for number in range(_ROUNDS):
            now = self.runtime.now()
            left = max(1, began + self.timeout_ms - now)
            pause = self._pause_before(now, left) if number == 0 else _pause_after(faults)
            if pause is None or pause >= left or stop.aborted:
                break
            if pause > 0:
                yield from sleep(pause, stop)
                # Timers may be early, but the pause was as long as the node asked for.
                now = max(now + round(pause), self.runtime.now())
            answer = yield from self._round(ask, stop, unchecked, began, now)
            if isinstance(answer, _Value):
                return answer.value
            faults = answer
        raise worst_fault(faults)

    def _round(
        self, ask: Ask[T], stop: Signal, unchecked: bool, began: int, now: int
    ) -> Steps[_Value[T] | Sequence[Fault]]:
        turns, left = take_turns([node.health for node in self.nodes], now)
        faults = [fault for _, fault in left]
        for number, (place, probe) in enumerate(turns):
            node = self.nodes[place]
            if stop.aborted:
                break
            more = len(turns) - number - 1
            share = max(1, began + self.timeout_ms - now) / (more + 1)
            share = min(share, _PROBE_MS) if probe and more > 0 else share
            before = node.health = node.health._replace(probing=probe)
            try:
                asking = functools.partial(_asked, node, ask, unchecked)
                value = yield from bounded(share, late, [stop], asking)
            except Exception as error:
                if stop.aborted or not isinstance(error, Fault):
                    # A caller that gave up says nothing about the node.
                    _note(node, before, before._replace(probing=False))
                    if stop.aborted and error is stop.reason:
                        raise
                    error = explain(error)
                now = self.runtime.now()
                if not stop.aborted:
                    _note(node, before, after_fault(before, error, now))
                error.host = error.host or node.host
                faults.append(error)
            else:
                _note(node, before, HEALTHY)
                return _Value(value)
        return faults

    def _pause_before(self, now: int, left: float) -> float:
        """Returns the rest of a short pause that the only node has asked for in any call."""
        if len(self.nodes) != 1:
            return 0
        ms = self.nodes[0].health.asked_rest(now)
        return ms if ms <= _MAX_PAUSE_MS and ms < left else 0


class _Value(Generic[T]):
    """An answer; the type tells it from faults."""

    def __init__(self, value: T) -> None:
        self.value = value


def _note(node: Node, before: NodeHealth, after: NodeHealth) -> None:
    """Notes a node's health, unless another call has noted it since: an outage is one failure."""
    if node.health is before:
        node.health = after


def _asked(node: Node, ask: Ask[T], unchecked: bool, signal: Signal) -> Steps[T]:
    # Ask and check the network at the same time, so that a node that takes over is no slower.
    admitted = done(None) if unchecked else node.admit(signal)
    value, _ = yield from both(ask(node, signal), admitted)
    return value


def explain(error: Exception) -> Fault:
    """Returns the fault of an answer with a wrong shape; raises any other error."""
    if isinstance(error, ExactChangeError):
        raise error
    if isinstance(error, _MISSHAPEN):
        return Fault("invalid", "it does not have the shape of an answer to this question")
    raise error


def _pause_after(faults: Sequence[Fault]) -> float | None:
    """Returns the milliseconds to wait before asking again; None if asking again is no use."""
    pauses = [max(_PAUSE_MS, fault.retry_after_ms or 0) for fault in faults if fault.is_transient]
    shortest = min(pauses, default=float("inf"))
    return shortest if shortest <= _MAX_PAUSE_MS else None
