"""Events that wait to be told to webhooks. This library adds them, and delivers none."""

from __future__ import annotations

import itertools
import os
from typing import Any, Mapping

from ..notices import events_of
from ..types import Attempt
from .records import LogRecord

# The most that is kept for the endpoints of one caller, of one wallet's events, and in all.
_MOST_OF_ONE = 10_000
_MOST_IN_ALL = 50_000


class Outbox:
    """The jobs and endpoints of a journal."""

    def __init__(self) -> None:
        self._jobs: dict[str, Mapping[str, Any]] = {}
        # Ids by the caller or wallet that has them, oldest first.
        self._owned: dict[str, dict[str, None]] = {}
        self._endpoints: dict[str, Mapping[str, Any]] = {}
        # No id is given twice, also by processes that follow each other on one file, or share it.
        self._name = os.urandom(8).hex()
        self._count = itertools.count(1)

    def adding(self, before: Attempt, after: Attempt | None, now: int) -> list[LogRecord]:
        """What is to be told of a change of an attempt, if there is an endpoint to be told."""
        if all("disabledAt" in one for one in self._endpoints.values()):
            return []
        return [
            {
                "job": {
                    "event": event,
                    "failures": 0,
                    "dueAt": now,
                    "id": f"{self._name}-{next(self._count)}",
                }
            }
            for event in events_of(before, after, now)
        ]

    def trimming(self) -> list[LogRecord]:
        """What has to go, as there is too much of it."""
        gone: list[LogRecord] = []
        left = {owner: list(ids) for owner, ids in self._owned.items()}
        for ids in left.values():
            gone += [{"jobDone": id_} for id_ in ids[: max(0, len(ids) - _MOST_OF_ONE)]]
            del ids[: max(0, len(ids) - _MOST_OF_ONE)]
        while len(self._jobs) - len(gone) > _MOST_IN_ALL:
            most = max(left.values(), key=len)
            gone.append({"jobDone": most.pop(0)})
        return gone

    def apply(self, record: LogRecord) -> None:
        """Takes a record down."""
        if "job" in record:
            job = record["job"]
            self._jobs[job["id"]] = job
            self._owned.setdefault(_owner_of(job), {})[job["id"]] = None
        elif "jobDone" in record:
            done = self._jobs.pop(record["jobDone"], None)
            if done is not None:
                own = self._owned[_owner_of(done)]
                del own[done["id"]]
                if not own:
                    del self._owned[_owner_of(done)]
        elif "endpoint" in record:
            self._endpoints[record["endpoint"]["id"]] = record["endpoint"]
        elif "endpointGone" in record:
            self._endpoints.pop(record["endpointGone"], None)

    def content(self) -> list[LogRecord]:
        """All that is known."""
        return [
            *({"endpoint": one} for one in self._endpoints.values()),
            *({"job": one} for one in self._jobs.values()),
        ]


def _owner_of(job: Mapping[str, Any]) -> str:
    if "endpoint" in job:
        return f"caller {job.get('caller', '')}"
    return f"wallet {job['event']['data']['wallet']}"
