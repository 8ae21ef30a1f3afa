"""Events of the steps of payments and swaps, and their listeners."""

from __future__ import annotations

import inspect
from typing import Any, Awaitable, Callable, Mapping, NamedTuple, Union

from typing_extensions import Literal, Protocol, get_args

from ._base.options import nearest, refuse, rule_of_names
from ._kernel.steps import bounded, outside, quiet
from ._kernel.task import Steps
from ._receipt import read_receipt

EventName = Literal[
    # A 402 with payment terms came in, or `presign` uses the terms of an earlier call: url, method,
    # offers.
    "payment.required",
    # An entry of `accepts` was chosen; `refused` says why the other entries were not: url, network,
    # mint, amount, decimals, pay_to, refused.
    "payment.chosen",
    # Amounts of the mint: what the wallet can spend, what the payment needs, what is missing: mint,
    # available, required, missing.
    "balance.checked",
    # input_mint, in_amount, max_in_amount, output_mint, out_amount, min_out_amount, provider.
    "swap.quoted",
    # signature, last_valid_block_height.
    "swap.signed",
    # signature, input_mint, in_amount, output_mint, out_amount, provider, fee_lamports, relay_fee,
    # cost (of the swap, as caps count it).
    "swap.confirmed",
    # signature, code, cost.
    "swap.failed",
    # The payment is signed and journaled; it has not left this process yet: payer_signature,
    # last_valid_block_height.
    "payment.signed",
    # url, method.
    "payment.sent",
    # The seller answered the paid request: status, receipt.
    "payment.answered",
    # Our own node shows the payment: receipt.
    "payment.settled",
    # The chain proves that the payment can never land: receipt.
    "payment.unsettled",
    # The answer was lost, or the seller refused a signed payment; the chain decides:
    # payer_signature, last_valid_block_height, code.
    "payment.uncertain",
    # The call failed; `funds` says what landed, or may still land: code, funds, message.
    "payment.failed",
    # The client works, but less well than it could; the message says why: message.
    "warning",
]

_NAMES: tuple[str, ...] = ("*", *get_args(EventName))


class Event(NamedTuple):
    """An event as listeners get it. Amounts in ``details`` are decimal strings of base units."""

    type: EventName
    # Id of the call's first attempt: the same on all events of one call. `receipt.id` names the
    # attempt that an event is about: a second payment, or an earlier payment that the call found.
    id: str
    # Milliseconds since the epoch.
    at: int
    details: Mapping[str, Any]


# A listener that is a coroutine function runs on the loop of an `AsyncClient`.
Listener = Callable[[Event], Union[None, Awaitable[None]]]


class Emit(Protocol):
    """Sends events of one attempt."""

    def __call__(self, type_: EventName, **details: Any) -> Steps[None]:
        """Sends an event to its listeners, and ignores errors that they raise.

        Waits for each listener, at most as long as for a signer.

        ``receipt`` is a receipt as the journal has it.
        """
        ...


class Events:
    """A registry of listeners."""

    def __init__(self, now: Callable[[], int], timeout_ms: float) -> None:
        self._now = now
        self._timeout_ms = timeout_ms
        self._listeners: dict[str, list[Listener]] = {}

    def on(self, type_: str, listener: Listener) -> Callable[[], None]:
        """Listens to an event, or to all (``"*"``). Returns a function that stops listening."""
        if type_ not in _NAMES:
            raise refuse(str(type_), rule_of_names(_NAMES, nearest(str(type_), _NAMES)), "Event")
        listeners = self._listeners.setdefault(type_, [])
        listeners.append(listener)
        is_on = True

        def stop() -> None:
            nonlocal is_on
            if is_on:
                is_on = False
                listeners.remove(listener)

        return stop

    def emitter(self, id_: str) -> Emit:
        """Returns a function that sends events of an attempt."""

        def emit(type_: EventName, **details: Any) -> Steps[None]:
            listeners = [*self._listeners.get(type_, ()), *self._listeners.get("*", ())]
            if not listeners:
                return
            if "receipt" in details:
                details["receipt"] = read_receipt(details["receipt"])
            event = Event(type_, id_, self._now(), details)
            for listener in listeners:
                yield from self._told(listener, event)

        return emit

    def _told(self, listener: Listener, event: Event) -> Steps[None]:
        """Calls a listener, with a limit: if it pays, it may wait for locks of the step."""
        telling = outside(lambda: _tell(listener, event))
        return quiet(bounded(self._timeout_ms, TimeoutError, [], lambda _signal: telling))


def _tell(listener: Listener, event: Event) -> None:
    """Calls a listener, and ignores its errors: it must not stop a payment half way."""
    try:
        answer = listener(event)
        if inspect.isawaitable(answer):
            _follow(answer)
    except Exception:
        return


def _follow(answer: Awaitable[None]) -> None:
    """Runs the coroutine of a listener on the running loop, and ignores its errors."""
    import asyncio

    async def quietly() -> None:
        try:
            await answer
        except Exception:
            return

    try:
        task = asyncio.get_running_loop().create_task(quietly())
    except RuntimeError:
        if inspect.iscoroutine(answer):
            answer.close()
        raise
    _following.add(task)
    task.add_done_callback(_following.discard)


# Running coroutines of listeners, because a loop does not keep a task alive.
_following: set[Any] = set()
