"""Calls that may carry a payment in their first request, and the engine for their 402."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._kernel.hosts import loop_host, threads
from .._kernel.steps import await_
from .._kernel.task import Steps
from .._payer import Payer
from .._payments.call import Call, CallOptions, Reply
from ..errors import ExactChangeError
from .endings import is_left_open

if TYPE_CHECKING:
    from .._payments.engine import Engine


def run_ahead(payer: Payer, call: Call, options: CallOptions) -> Reply | None:
    """Returns the answer to a call that was paid ahead; None if it must be sent unpaid first."""
    engine = payer.made_thread_engine
    steps = None if engine is None else engine.ahead(call, options, threads)
    return None if steps is None else threads.run(steps, call.signal, close_late)


async def run_ahead_on_loop(payer: Payer, call: Call, options: CallOptions) -> Reply | None:
    """Does the work of :func:`run_ahead` on an event loop."""
    # While the seller is asked first, a reader may end its own work, and its answer is lost.
    is_left = await is_left_open(call.method, call.asked_at)
    engine, host = payer.made_loop_engine, loop_host()
    if engine is None or is_left:
        return None
    steps = engine.ahead(call, options, host)
    return None if steps is None else await host.run(steps, call.signal, aclose_late)


def engine_for(payer: Payer, unpaid: Any) -> Engine:
    """Returns the engine to pay for a 402; closes the 402 if the client is closed."""
    try:
        return payer.thread_engine("uncertain")
    except ExactChangeError:
        unpaid.close()
        raise


def close_late(late: Reply | None) -> None:
    """Closes an answer that reaches no caller: it is lost, and is not bought again."""
    if late is not None:
        late.native.close()


def aclose_late(late: Reply | None) -> Steps[Any]:
    """Does the work of :func:`close_late` on an event loop."""
    if late is not None:
        yield from await_(late.native.aclose)
