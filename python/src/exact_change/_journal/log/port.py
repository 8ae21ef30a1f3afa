"""The log that a journal is kept in."""

from __future__ import annotations

from typing import Callable, Generic, Iterable, NamedTuple, Sequence, TypeVar

from typing_extensions import Protocol

from ..._kernel.task import Steps
from ..store_types import Made
from ..types import Owner
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


class Log(Protocol):
    """A log that processes share: all of them read all records in the same order."""

    @property
    def me(self) -> str:
        """The id of this process."""
        ...

    def run(self, decide: Decide[T]) -> Steps[T]:
        """Decides on the current state, and returns once the records of the step are written."""
        ...

    def later(self, records_in: RecordsIn) -> None:
        """Writes records as soon as possible, before any other of this process."""
        ...

    def living(self, ids: Iterable[str]) -> Steps[set[str]]:
        """Returns the ids of the processes that live, and frees claims and locks of ended ones."""
        ...

    def past(self, length: int, owner: Owner, since: float) -> Steps[list[Made]]:
        """Returns closed attempts that the log no longer has, in the order they were made.

        Reads the first ``length`` bytes of the history. It may leave out attempts that were written
        before ``since``.
        """
        ...


class SharedLog(NamedTuple):
    """A share of a log. ``leave`` gives up the share; the last user closes the log."""

    log: Log
    leave: Callable[[], Steps[None]]
