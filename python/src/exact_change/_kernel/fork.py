"""A forked child has the memory of its parent and none of its threads, sockets and locks."""

from __future__ import annotations

import os
from typing import Callable

_resets: list[Callable[[], None]] = []


def after_fork(reset: Callable[[], None]) -> None:
    """Calls ``reset`` in each child, before any other code of it."""
    _resets.append(reset)


def _in_child() -> None:
    for reset in _resets:
        reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
