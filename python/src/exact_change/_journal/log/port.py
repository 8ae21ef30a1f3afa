"""What a journal asks of the log that it is kept in."""

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
    """What is to be written, and what it leads to. Nothing changes before it is written."""

    __slots__ = ("inverse", "records", "result")

    def __init__(
        self,
        records: Sequence[LogRecord],
        result: T,
        inverse: Sequence[LogRecord] | None = None,
    ) -> None:
        self.records = records
        self.result = result
        # Its caller is told only once it is on the disk: what takes it back if it does not get
        # there.
        self.inverse = inverse


Decide = Callable[[State], Step[T]]


class Log(Protocol):
    """What processes share: what each of them writes, all read in the same order."""

    @property
    def me(self) -> str:
        """The id of this process."""
        ...

    def run(self, decide: Decide[T]) -> Steps[T]:
        """Takes a step at what the log says, as the next that happens; it is written then."""
        ...

    def later(self, records: Sequence[LogRecord]) -> None:
        """Writes records as soon as that can be done."""
        ...

    def living(self, ids: Iterable[str]) -> Steps[set[str]]:
        """Those of some processes that live. What others leave is taken from them."""
        ...

    def past(self, length: int, owner: Owner, since: float) -> Steps[list[Made]]:
        """Closed attempts that are no longer in it, in the order they were made.

        Those among so many bytes; such that were written before ``since`` may be left out.
        """
        ...


class Share(NamedTuple):
    """A log, and how to let go of it."""

    log: Log
    leave: Callable[[], Steps[None]]
