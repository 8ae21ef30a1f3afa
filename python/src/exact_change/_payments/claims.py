"""Claims on attempts: a process that ends lets go of all its own."""

from __future__ import annotations

from typing import Any, Callable, Sequence, TypeVar

from .._journal.registry import OpenPayment, OwnClaim
from .._kernel.hosts import this_host, threads
from .._kernel.signals import Signal
from .._kernel.steps import all_of, bounded, join, note_until_settled, quiet, settled, start
from .._kernel.task import Steps, Task, begin
from ..errors import failure
from .context import PaymentContext
from .saving import start_apart, written
from .task import Purpose

T = TypeVar("T")


def body_claim(id_: str) -> str:
    """The claim on an attempt whose answer is on its way to its reader.

    A process that ends before takes it back.
    """
    return f"body of {id_}"


def take_claims(context: PaymentContext, names: Sequence[str], steps: Steps[T]) -> Steps[T]:
    """Runs steps that take claims for this call.

    They end though its event loop is closed meanwhile; :func:`drop_gone` undoes them then.
    """
    host, journal = (yield from this_host()), context.config.journal
    # The wallet's own journal answers at once.
    taking = None if journal is None else (yield from start_apart(context, steps))
    claim = OwnClaim(host, taking, journal, context.claims)
    context.wallet.claims.update(dict.fromkeys(names, claim))
    return (yield from steps if taking is None else join(taking))


def note_dropped(context: PaymentContext, names: Sequence[str]) -> None:
    """The claims of a call have ended."""
    for name in names:
        context.wallet.claims.pop(name, None)


def drop_claims(context: PaymentContext, names: Sequence[str]) -> Steps[None]:
    """Ends claims of this process."""
    yield from context.claims.drop(names)
    note_dropped(context, names)


def drop_gone(context: PaymentContext) -> Steps[None]:
    """Ends the claims of calls whose event loop was closed: this process lives, they do not.

    What they had sent may have arrived, as that of a process that was killed. Also those in other
    journals of this process: another may be one of the same file or database.
    """
    for claim in list(context.wallet.claims.values()):
        if not claim.host.is_gone:
            continue
        # Once for all that look: a second drop would end what is claimed anew after the first.
        known = claim.dropping
        if known is None or known.error is not None:
            known = claim.dropping = begin(threads, _drop_all(context, claim))
        try:
            yield from join(known)
        except Exception:
            # The other journal may be closed, or gone for good.
            if claim.journal is context.config.journal:
                raise


def _drop_all(context: PaymentContext, claim: OwnClaim) -> Steps[None]:
    # What is not written yet would be claimed after it was let go.
    if claim.taking is not None:
        yield from settled(claim.taking)
    own = context.wallet.claims
    names = [name for name, one in own.items() if one is claim]
    yield from claim.claims.drop(names)
    for name in names:
        if own.get(name) is claim:
            del own[name]


def release_claims(
    context: PaymentContext, open_: OpenPayment, claims: Sequence[str], signal: Signal | None
) -> Steps[None]:
    """Lets go of an attempt, or of its answer, after all that is being written of it.

    A call that takes it up then finds it as it is. A caller that has given up is not kept waiting;
    the next call at this wallet is, or it would take the attempt for one that is still at work, and
    pay beside it. Never raises.
    """
    task = yield from start_release(context, open_, claims)
    yield from quiet(join(task, signal))


def start_release(
    context: PaymentContext, open_: OpenPayment, claims: Sequence[str]
) -> Steps[Task[Any]]:
    """The same, not waited for."""

    def let_go() -> Steps[None]:
        yield from written(open_)
        yield from drop_claims(context, claims)

    return delay_next_call(context, let_go)


def delay_next_call(context: PaymentContext, work: Callable[[], Steps[Any]]) -> Steps[Task[Any]]:
    """Has the next call at this wallet wait for work that is begun. It never raises."""
    task = yield from start_apart(context, quiet(work()))
    note_until_settled(context.wallet.releasing, task, None)
    return task


def delaying_equal_calls(
    context: PaymentContext, purpose: Purpose, steps: Steps[T], signal: Signal | None
) -> Steps[T]:
    """Runs a purchase. If its caller gives up, equal calls at this wallet wait for its end.

    They may mean the same purchase, and would take this one for another that is under way. No
    other call waits, for its event loop may stand still.
    """
    task = yield from start(steps)

    def note() -> None:
        named = (purpose.fingerprint, purpose.idempotency_key)
        note_until_settled(context.wallet.given_up, task, named)

    forget = None if signal is None else signal.on_abort(note)
    try:
        return (yield from join(task))
    finally:
        if forget is not None:
            forget()


def equal_calls_ended(
    context: PaymentContext, purpose: Purpose, signal: Signal | None
) -> Steps[None]:
    """Waits for the end of equal purchases that their callers have given up.

    Raises ``timeout`` after ``timeouts.payment``, with uncertain funds.
    """
    equal = [
        task
        for task, other in list(context.wallet.given_up.items())
        if _may_be(purpose, *other) and not task.host.is_gone
    ]
    if not equal:
        return
    within_ms = context.config.timeouts.payment

    def late() -> Exception:
        return failure(
            "timeout",
            "An equal call was given up, and what it has begun did not end within "
            f"{within_ms:g} ms: a payment may be on record. Let its event loop run, then repeat "
            "the same call: it never pays twice.",
            {"step": "earlier_call", "timeout_ms": within_ms},
            funds="uncertain",
            retry="same",
        )

    ends = [settled(task) for task in equal]
    yield from bounded(within_ms, late, [signal], lambda _: all_of(ends))


def _may_be(purpose: Purpose, fingerprint: str, key: str | None) -> bool:
    """Whether a call may mean the same purchase."""
    is_keyed = key is not None and purpose.idempotency_key == key
    return is_keyed or purpose.fingerprint == fingerprint


def claims_released(context: PaymentContext, signal: Signal | None) -> Steps[None]:
    """Waits until the calls that have ended at this wallet have let go."""
    releasing = [one for one in context.wallet.releasing if not one.host.is_gone]
    if releasing:
        waiting = yield from start(all_of([settled(one) for one in releasing]))
        yield from join(waiting, signal)
