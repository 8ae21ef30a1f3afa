"""Steps that count, but are not on the disk yet."""

from __future__ import annotations

from typing import Iterable, Sequence

from ..log.records import LogRecord


class UnsyncedStep:
    """A step, by the ids of its attempts."""

    def __init__(self, ids: set[str]) -> None:
        self.ids = ids
        # Whether a later record names an attempt of the step.
        self.is_superseded = False


class UnsyncedSteps:
    """Watches steps until they are on the disk.

    If a sync fails late, the caller of its step may have given up before, and another call may have
    presented the payment since.
    """

    def __init__(self) -> None:
        self._steps: list[UnsyncedStep] = []

    def begin(self, inverse: Sequence[LogRecord]) -> UnsyncedStep:
        """Begins to watch a step, by the records that would revert it."""
        step = UnsyncedStep({id_ for record in inverse for id_ in _attempt_ids_in(record)})
        self._steps.append(step)
        return step

    def end(self, step: UnsyncedStep) -> None:
        self._steps.remove(step)

    def note(self, records: Sequence[LogRecord]) -> None:
        """Notes records that count."""
        for step in self._steps:
            named = (id_ for record in records for id_ in _attempt_ids_in(record))
            step.is_superseded = step.is_superseded or not step.ids.isdisjoint(named)


def _attempt_ids_in(record: LogRecord) -> Iterable[str]:
    if "put" in record:
        return (record["put"]["id"],)
    if "release" in record:
        return (record["release"],)
    ids: Sequence[str] = record.get("claim") or record.get("drop") or ()
    return ids
