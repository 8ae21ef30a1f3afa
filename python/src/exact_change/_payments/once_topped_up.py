"""Waits for top-ups that count against the caps."""

from __future__ import annotations

from typing import Callable, TypeVar

from .._kernel.signals import Signal
from .._kernel.steps import done
from .._kernel.task import Steps
from .._solana.address import Address
from ..errors import ExactChangeError, is_code
from .context import PaymentContext
from .landing import swap_lock
from .reconcile.orphans import attempts_in_state

T = TypeVar("T")


def top_up_url(mint: Address) -> str:
    return f"top-up:{mint}"


def once_topped_up(
    context: PaymentContext, ask: Callable[[], Steps[T]], signal: Signal | None
) -> Steps[T]:
    """Asks; if a cap refuses, asks once more after a running top-up of any process has ended.

    A running top-up counts with its bound, and may cost less in the end. A top-up that waits for
    approval is not waited for: it does not count yet, and a person may take long. The caller holds
    no lock that a swap takes.
    """
    try:
        return (yield from ask())
    except ExactChangeError as error:
        if not _may_fit_later(context, error):
            raise
    yield from _top_ups_ended(context, signal)
    return (yield from ask())


def work_once_topped_up(
    context: PaymentContext, work: Callable[[], Steps[T]], signal: Signal | None
) -> Steps[T]:
    """As ``once_topped_up``, for work that gets quotes and may ask a person.

    It is repeated only if a top-up was waited for.
    """
    try:
        return (yield from work())
    except ExactChangeError as error:
        if not _may_fit_later(context, error) or not (yield from _top_ups_ended(context, signal)):
            raise
    return (yield from work())


def _may_fit_later(context: PaymentContext, error: ExactChangeError) -> bool:
    return context.config.policy.top_up is not None and is_code(error, "budget_exhausted")


def _top_ups_ended(context: PaymentContext, signal: Signal | None) -> Steps[bool]:
    """Returns whether a top-up was waited for."""
    rule = context.config.policy.top_up
    if rule is None:
        return False
    mint = rule.pinned.mint
    reserved = yield from attempts_in_state(context, "reserved")
    if not any(each["url"] == top_up_url(mint) and "swapping" in each for each in reserved):
        return False
    locks = [swap_lock(mint)]
    yield from context.locks.hold(locks, lambda: done(None), [signal, context.closing])
    return True
