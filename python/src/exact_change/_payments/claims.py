"""Claims on attempts. The claims of a process end with it."""

from __future__ import annotations

from typing import Any, Callable, Sequence, TypeVar

from .._journal.registry import OpenPayment, OwnClaim
from .._kernel.hosts import this_host, threads
from .._kernel.signals import Signal
from .._kernel.steps import all_of, bounded, join, note_until_settled, quiet, settled, start
from .._kernel.task import Steps, Task, begin
from ..errors import failure
from .context import PaymentContext
from .saving import last_write_ended, start_apart
from .task import Purpose

T = TypeVar("T")


def body_claim(id_: str) -> str:
    """Returns the name of the claim on an attempt while the caller reads its answer."""
    return f"body of {id_}"


def take_claims(context: PaymentContext, names: Sequence[str], steps: Steps[T]) -> Steps[T]:
    """Runs steps that take claims for this call.

    The steps run to their end even if the call's event loop closes;
    :func:`drop_abandoned_claims` then drops the claims.
    """
    host, journal = (yield from this_host()), context.config.journal
    # Without a journal option, the memory journal answers at once.
    taking = None if journal is None else (yield from start_apart(context, steps))
    claim = OwnClaim(host, taking, journal, context.claims)
    context.wallet.claims.update(dict.fromkeys(names, claim))
    return (yield from steps if taking is None else join(taking))


def forget_claims(context: PaymentContext, names: Sequence[str]) -> None:
    """Forgets the claims of a call that have ended."""
    for name in names:
        context.wallet.claims.pop(name, None)


def drop_claims(context: PaymentContext, names: Sequence[str]) -> Steps[None]:
    # First: the drop may fail, and is repeated then; and a call may take the claims anew meanwhile.
    forget_claims(context, names)
    yield from context.claims.drop(names)


def drop_abandoned_claims(context: PaymentContext) -> Steps[None]:
    """Drops the claims of calls on closed event loops, because such calls never go on.

    Their payments may have arrived, as those of a killed process. It also drops claims in the other
    journals of this process, because several journals may use the same file or database.
    """
    for claim in list(context.wallet.claims.values()):
        if not claim.host.is_gone:
            continue
        # All calls share one drop: a second drop would end a claim taken after the first.
        dropping = claim.dropping
        if dropping is None or dropping.error is not None:
            dropping = claim.dropping = begin(threads, _drop_all(context, claim))
        try:
            yield from join(dropping)
        except Exception:
            # Another client's journal may be closed, or may not exist any more.
            if claim.journal is context.config.journal:
                raise


def _drop_all(context: PaymentContext, claim: OwnClaim) -> Steps[None]:
    # Wait for the take, else it could claim the attempt after the drop.
    if claim.taking is not None:
        yield from settled(claim.taking)
    wallet_claims = context.wallet.claims
    names = [name for name, other in wallet_claims.items() if other is claim]
    try:
        yield from claim.claims.drop(names)
    finally:
        # Even if it fails: it is repeated then, unless the journal is closed and has no claims.
        for name in names:
            if wallet_claims.get(name) is claim:
                del wallet_claims[name]


def release_claims(
    context: PaymentContext, open_: OpenPayment, claims: Sequence[str], signal: Signal | None
) -> Steps[None]:
    """Drops claims on an attempt or its answer, after the writes about it that are under way.

    So the next call that takes up the attempt finds its true state. A caller that has given up does
    not wait. The next call at this wallet waits: else it would find the attempt claimed, take it
    for a parallel purchase, and pay beside it. Never raises.
    """
    task = yield from start_release(context, open_, claims)
    yield from quiet(join(task, signal))


def start_release(
    context: PaymentContext, open_: OpenPayment, claims: Sequence[str]
) -> Steps[Task[Any]]:
    """Starts a release as in :func:`release_claims`, and returns its task."""

    def let_go() -> Steps[None]:
        yield from last_write_ended(open_)
        yield from drop_claims(context, claims)

    return delay_next_call(context, let_go)


def delay_next_call(context: PaymentContext, work: Callable[[], Steps[Any]]) -> Steps[Task[Any]]:
    """Starts work that the next call at this wallet waits for. The task never raises.

    It runs on threads: that call may block the event loop of this call, or come after its stop.
    """
    task = yield from start(quiet(work()), threads)
    note_until_settled(context.wallet.releasing, task, None)
    return task


def delaying_equal_calls(
    context: PaymentContext, purpose: Purpose, steps: Steps[T], signal: Signal | None
) -> Steps[T]:
    """Runs a purchase. If its caller gives up, equal calls at this wallet wait for its end.

    An equal call may mean the same purchase, and must not take it for a parallel purchase. Other
    calls do not wait, because the event loop of this purchase may stand still.
    """
    task = yield from start(steps)

    def note() -> None:
        request = (purpose.fingerprint, purpose.idempotency_key)
        note_until_settled(context.wallet.given_up, task, request)

    forget = None if signal is None else signal.on_abort(note)
    try:
        return (yield from join(task))
    finally:
        if forget is not None:
            forget()


def equal_calls_ended(
    context: PaymentContext, purpose: Purpose, signal: Signal | None
) -> Steps[None]:
    """Waits until equal purchases end that their callers have given up.

    Raises ``timeout`` after ``timeouts.payment``, with uncertain funds.
    """
    given_up = context.wallet.given_up
    equal: list[Task[Any]] = []
    for task, request in list(given_up.items()):
        if task.host.is_gone:
            given_up.pop(task, None)
        elif _may_be(purpose, *request):
            equal.append(task)
    yield from _ended(equal, context.config.timeouts.payment, "An equal call was given up", signal)


def _ended(
    tasks: Sequence[Task[Any]], within_ms: float, why: str, signal: Signal | None
) -> Steps[None]:
    """Waits until tasks of earlier calls end. Raises ``timeout`` with uncertain funds."""

    def late() -> Exception:
        return failure(
            "timeout",
            f"{why}, and what it has begun did not end within {within_ms:g} ms: a payment may be "
            "on record. Let its event loop run, then repeat the same call, to find that payment.",
            {"step": "earlier_call", "timeout_ms": within_ms},
            funds="uncertain",
            retry="same",
        )

    ends = [settled(task) for task in tasks]
    if ends:
        yield from bounded(within_ms, late, [signal], lambda _: all_of(ends))


def _may_be(purpose: Purpose, fingerprint: str, key: str | None) -> bool:
    """Returns whether a call with this fingerprint or key may mean the same purchase."""
    is_keyed = key is not None and purpose.idempotency_key == key
    return is_keyed or purpose.fingerprint == fingerprint


def claims_released(context: PaymentContext, signal: Signal | None) -> Steps[None]:
    """Waits until the ended calls at this wallet have dropped their claims.

    Takes back deliveries to readers on closed event loops, because they did not get the answer.
    Raises ``timeout`` after three times ``timeouts.journal``, with uncertain funds: an ended call
    may write twice and drop its claims.
    """
    delivering = context.wallet.delivering
    for take_back, host in list(delivering.items()):
        if host.is_gone and delivering.pop(take_back, None) is not None:
            yield from take_back()
    releasing = list(context.wallet.releasing)
    within_ms = 3 * context.config.timeouts.journal
    yield from _ended(releasing, within_ms, "An earlier call of this wallet has ended", signal)
