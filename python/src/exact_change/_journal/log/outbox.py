"""Events that wait for delivery to webhooks. This library adds them, but delivers none."""

from __future__ import annotations

import itertools
import os
from typing import Any, Mapping

from ..notices import events_of
from ..types import Attempt
from .records import LogRecord

# The most jobs that are kept for one caller's endpoints or one wallet's events, and in all.
_MOST_OF_ONE = 10_000
_MOST_IN_ALL = 50_000


class Outbox:
    """The jobs and endpoints of a journal."""

    def __init__(self) -> None:
        self._jobs: dict[str, Mapping[str, Any]] = {}
        # Ids of jobs by their caller or wallet, oldest first.
        self._owned: dict[str, dict[str, None]] = {}
        self._endpoints: dict[str, Mapping[str, Any]] = {}
        # A random part of job ids: processes that use one file must never give an id twice.
        self._name = os.urandom(8).hex()
        self._count = itertools.count(1)

    def adding(self, before: Attempt, after: Attempt | None, now: int) -> list[LogRecord]:
        """Returns jobs for the events of an attempt's change; none if no endpoint is enabled."""
        if all("disabledAt" in endpoint for endpoint in self._endpoints.values()):
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
        """Returns records that end the oldest jobs, as far as there are too many."""
        ended: list[LogRecord] = []
        left = {owner: list(ids) for owner, ids in self._owned.items()}
        for ids in left.values():
            ended += [{"jobDone": id_} for id_ in ids[: max(0, len(ids) - _MOST_OF_ONE)]]
            del ids[: max(0, len(ids) - _MOST_OF_ONE)]
        while len(self._jobs) - len(ended) > _MOST_IN_ALL:
            most = max(left.values(), key=len)
            ended.append({"jobDone": most.pop(0)})
        return ended

    def apply(self, record: LogRecord) -> None:
        """Applies a record of a job or an endpoint."""
        if "job" in record:
            job = record["job"]
            self._jobs[job["id"]] = job
            self._owned.setdefault(_owner_of(job), {})[job["id"]] = None
        elif "jobDone" in record:
            done = self._jobs.pop(record["jobDone"], None)
            if done is not None:
                ids = self._owned[_owner_of(done)]
                del ids[done["id"]]
                if not ids:
                    del self._owned[_owner_of(done)]
        elif "endpoint" in record:
            self._endpoints[record["endpoint"]["id"]] = record["endpoint"]
        elif "endpointGone" in record:
            self._endpoints.pop(record["endpointGone"], None)

    def content(self) -> list[LogRecord]:
        """Returns records of all endpoints and jobs."""
        return [
            *({"endpoint": endpoint} for endpoint in self._endpoints.values()),
            *({"job": job} for job in self._jobs.values()),
        ]


def _owner_of(job: Mapping[str, Any]) -> str:
    if "endpoint" in job:
        return f"caller {job.get('caller', '')}"
    return f"wallet {job['event']['data']['wallet']}"
