"""What goes into a store of attempts as a whole, and comes out of it."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .spent_keys import SpentKey
from .types import Attempt


class Made(NamedTuple):
    """An attempt, and how many were made before it."""

    made: int
    attempt: Attempt


class Archive(NamedTuple):
    """Where a store that keeps all attempts puts those that are closed."""

    # The attempt that stands there.
    recall: Callable[[int], Attempt]
    # So many stay, of those that were closed last: a call may still be at them.
    recent: int
    # Ids of some that were closed last, the oldest first.
    past: Sequence[str] = ()


class StoreContent(NamedTuple):
    """All that a store knows, but for what is spent."""

    # How many attempts were made.
    made: int
    # Those that stay, and those that are to go into an archive: in the order they were made.
    kept: Sequence[Made]
    closed: Sequence[Made]
    keys: Sequence[SpentKey]
