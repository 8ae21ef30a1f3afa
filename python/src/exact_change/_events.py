"""What each step of the work tells its listeners."""

from __future__ import annotations

import inspect
from typing import Any, Awaitable, Callable, Mapping, NamedTuple, Union

from typing_extensions import Literal, Protocol

from ._kernel.steps import outside
from ._kernel.task import Steps
from ._receipt import read_receipt

EventName = Literal[
    # A 402 with payment terms came in: url, method, offers.
    "payment.required",
    # One entry of `accepts` was chosen: url, network, mint, amount, decimals, pay_to, refused.
    "payment.chosen",
    # What the wallet can spend of the mint, and what it lacks: mint, available, required, missing.
    "balance.checked",
    # input_mint, in_amount, max_in_amount, output_mint, out_amount, min_out_amount, provider.
    "swap.quoted",
    # signature, last_valid_block_height.
    "swap.signed",
    # signature, the four of amounts and mints, provider, fee_lamports, relay_fee, cost (what caps
    # count).
    "swap.confirmed",
    # signature, code, cost.
    "swap.failed",
    # Signed and journaled; nothing has left yet: payer_signature, last_valid_block_height.
    "payment.signed",
    # url, method.
    "payment.sent",
    # The seller answered the paid request: status, receipt.
    "payment.answered",
    # Our own node shows the payment: receipt.
    "payment.settled",
    # Proved: the payment can never land: receipt.
    "payment.unsettled",
    # The chain decides: payer_signature, last_valid_block_height, code.
    "payment.uncertain",
    # The call failed before anything was signed, or after a swap: code, funds, message.
    "payment.failed",
    # Something works less well than it could: message.
    "warning",
]


class Event(NamedTuple):
    """What happened. Amounts in ``details`` are decimal strings of base units."""

    type: EventName
    # The attempt's: the same on all events of one call.
    id: str
    # Milliseconds since the epoch.
    at: int
    details: Mapping[str, Any]


# One that is a coroutine function runs on the loop of an `AsyncClient`.
Listener = Callable[[Event], Union[None, Awaitable[None]]]


class Emit(Protocol):
    """Tells events of one attempt."""

    def __call__(self, type_: EventName, **details: Any) -> Steps[None]:
        """Tells one; what listeners raise changes nothing.

        ``receipt``: as it is on record.
        """
        ...


class Events:
    """A registry of listeners."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._listeners: dict[str, list[Listener]] = {}

    def on(self, type_: str, listener: Listener) -> Callable[[], None]:
        """Listens to one kind of event, or to all (``"*"``); returns how to stop."""
        all_of_it = self._listeners.setdefault(type_, [])
        all_of_it.append(listener)
        is_on = True

        def stop() -> None:
            nonlocal is_on
            if is_on:
                is_on = False
                all_of_it.remove(listener)

        return stop

    def emitter(self, id_: str) -> Emit:
        """What tells events of an attempt."""

        def emit(type_: EventName, **details: Any) -> Steps[None]:
            listeners = [*self._listeners.get(type_, ()), *self._listeners.get("*", ())]
            if not listeners:
                return
            if "receipt" in details:
                details["receipt"] = read_receipt(details["receipt"])
            event = Event(type_, id_, self._now(), details)
            for listener in listeners:
                yield from outside(lambda one=listener: _tell(one, event))  # type: ignore[misc]

        return emit


def _tell(listener: Listener, event: Event) -> None:
    """A listener that fails is its own problem: it must not stop a payment half way."""
    try:
        answer = listener(event)
        if inspect.isawaitable(answer):
            _follow(answer)
    except Exception:
        return


def _follow(answer: Awaitable[None]) -> None:
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


# A loop keeps no task alive by itself.
_following: set[Any] = set()
