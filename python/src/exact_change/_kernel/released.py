"""Releases what steps hold, also if the steps are collected."""

from __future__ import annotations

from typing import Callable, TypeVar

from .task import Steps
from .workers import workers

T = TypeVar("T")


def released(steps: Steps[T], release: Callable[[], None]) -> Steps[T]:
    """Calls ``release`` in a turn after steps, also if they are collected before their end.

    A finalizer may run in any code, whatever lock its thread holds, so it takes no lock itself.
    """
    workers.watch_graves()
    try:
        value = yield from steps
    except GeneratorExit:
        workers.bury(release)
        raise
    except BaseException:
        release()
        raise
    release()
    return value
