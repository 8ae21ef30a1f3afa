"""Keys and names by which a journal in a file finds attempts in its history."""

from __future__ import annotations

from typing import Sequence

from ..attempts import FROM_SERVICE, is_from_service, owner_of, request_name
from ..spent_keys import Remembered, SpentKey, SpentKeys, spent_key_of
from ..states import counted_at
from ..store_types import Made
from ..types import Attempt, Owner


class SpentNames(SpentKeys):
    """Spent keys of callers and names of services' payments, which are counted apart.

    A service makes many names, and they must not push out a key.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names = SpentKeys()

    def add(self, owner: Owner, key: str, purchase: Remembered, at: float) -> None:
        if _is_of_service(key):
            self._names.add(owner, key, purchase, at)
        else:
            super().add(owner, key, purchase, at)

    def find(self, owner: Owner, key: str) -> list[Remembered]:
        return self._names.find(owner, key) if _is_of_service(key) else super().find(owner, key)

    def content(self) -> list[SpentKey]:
        # Keys are last, because a release that counts both together drops what comes first.
        return [*self._names.content(), *super().content()]


def spent_names_of(closed: Sequence[Made], places: Sequence[int]) -> list[SpentKey]:
    """Returns the keys and names by which attempts must be found once they are in the history.

    ``places`` are the places of the attempts in the history.
    """
    return [
        SpentKey(owner_of(made.attempt), key, place, counted_at(made.attempt))
        for made, place in zip(closed, places)
        for key in _names_of(made.attempt)
    ]


def _is_of_service(key: str) -> bool:
    return key.startswith(request_name(FROM_SERVICE))


def _names_of(attempt: Attempt) -> list[str]:
    key = spent_key_of(attempt)
    names = [] if key is None else [key]
    # The caller of a service may repeat a payment's step, which needs no idempotency key.
    is_repeatable = is_from_service(attempt) and "payment" in attempt
    return [*names, request_name(attempt["fingerprint"])] if is_repeatable else names
