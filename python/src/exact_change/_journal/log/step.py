"""A step at a log: it reads the state, and writes records."""

from __future__ import annotations

from typing import Callable, Generic, Sequence, TypeVar

from .records import LogRecord
from .state import State

T = TypeVar("T")


class Step(Generic[T]):
    """Records to write, and the caller's result. The state changes only once they are written."""

    __slots__ = ("inverse", "records", "result")

    def __init__(
        self,
        records: Sequence[LogRecord],
        result: T,
        inverse: Sequence[LogRecord] | None = None,
    ) -> None:
        self.records = records
        self.result = result
        # If set, the step returns only once its records are on the disk. If they do not get there,
        # these records revert the step.
        self.inverse = inverse


Decide = Callable[[State], Step[T]]
# Returns records to write; empty if the state needs none.
RecordsIn = Callable[[State], Sequence[LogRecord]]
