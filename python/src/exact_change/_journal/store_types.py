"""The archive that a store of attempts may have, and the store's content."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .spent_keys import SpentKey
from .types import Attempt


class Made(NamedTuple):
    """An attempt, and the number of attempts that were made before it."""

    made: int
    attempt: Attempt


class Archive(NamedTuple):
    """Keeps the closed attempts of a store that drops none."""

    # Returns the attempt at a place in the archive.
    recall: Callable[[int], Attempt]
    # Number of newly closed attempts that stay in the store: a call may still work on them.
    recent: int
    # Ids of attempts that closed last, the oldest first.
    past: Sequence[str] = ()


class StoreContent(NamedTuple):
    """The content of a store, without the sums of what is spent."""

    # Number of attempts that were ever made.
    made: int
    # Attempts that stay in the store, in the order in which they were made.
    kept: Sequence[Made]
    # Attempts that go into an archive, in the order in which they were made.
    closed: Sequence[Made]
    keys: Sequence[SpentKey]
