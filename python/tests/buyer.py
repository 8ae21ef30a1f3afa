"""A process that shares a wallet with other processes, and its start in either language."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import httpx

from exact_change import (
    AsyncClient,
    Client,
    DurableJournal,
    ExactChangeError,
    file_journal,
    postgres_journal,
)

from .node import Sandbox

HERE = Path(__file__).parent
# Many tries, because one failed message fails the whole call.
TRIES = 40
WRITES = re.compile(r"^commit|\.(?:put|reserve|release)\(")


class Faults:
    """Breaks one in ``one_in`` messages: before it leaves, after its answer, or with a 503."""

    def __init__(self, seed: int, one_in: float) -> None:
        self._random = random.Random(seed)
        self._one_in = one_in
        self._thread = httpx.HTTPTransport(retries=1)
        self._loop = httpx.AsyncHTTPTransport(retries=1)

    def _draw(self, request: httpx.Request) -> int | None:
        draw = self._random.random() * self._one_in
        kind = int(draw * 3) if draw < 1 else None
        if kind == 0:
            raise httpx.ConnectError("cut before it left", request=request)
        return kind

    def _end(
        self, kind: int | None, request: httpx.Request, answer: httpx.Response
    ) -> httpx.Response:
        if kind == 1:
            raise httpx.ReadError("cut after it was answered", request=request)
        return answer if kind is None else httpx.Response(503, content=b"busy", request=request)


class ThreadFaults(Faults, httpx.BaseTransport):
    """Faults for clients of threads."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        kind = self._draw(request)
        answer = self._thread.handle_request(request)
        if kind is not None:
            answer.read()
        return self._end(kind, request, answer)


class LoopFaults(Faults, httpx.AsyncBaseTransport):
    """Faults for clients of an event loop."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        kind = self._draw(request)
        answer = await self._loop.handle_async_request(request)
        if kind is not None:
            await answer.aread()
        return self._end(kind, request, answer)


def judge(tries: int, last: Exception | None) -> str:
    """Returns the outcome of a purchase after some tries; an empty text if it goes on."""
    if isinstance(last, ExactChangeError):
        if last.code == "budget_exhausted":
            return "refused"
        if last.funds == "spent":
            return "spent"
        if tries == TRIES and last.funds in ("uncertain", "untouched"):
            return "uncertain" if last.funds == "uncertain" else "refused"
    if tries == TRIES:
        raise AssertionError(f"given up: {last!r}")
    return ""


def buy(client: Client, url: str, **options: Any) -> str:
    """Buys once, and repeats the call after an error, as a retrying wrapper does."""
    last: Exception | None = None
    for tries in range(1, TRIES + 1):
        try:
            answer = client.get(url, **options)
            if answer.status_code == 200 and answer.content:
                return "answered"
        except Exception as error:
            # Keep the latest error of the client, because it says where the funds are.
            if isinstance(error, ExactChangeError) or last is None:
                last = error
        end = judge(tries, last)
        if end:
            return end
    raise AssertionError


async def buy_async(client: AsyncClient, url: str) -> str:
    """Does the same as ``buy`` on an event loop."""
    last: Exception | None = None
    for tries in range(1, TRIES + 1):
        try:
            answer = await client.get(url)
            if answer.status_code == 200 and answer.content:
                return "answered"
        except Exception as error:
            if isinstance(error, ExactChangeError) or last is None:
                last = error
        end = judge(tries, last)
        if end:
            return end
    raise AssertionError


def journal_of(place: dict[str, str]) -> DurableJournal:
    """Returns the journal at a place; both languages take places in this form."""
    if "path" in place:
        return file_journal(place["path"])
    return postgres_journal(place["connectionString"])


def kill_at(point: Any, client: Client) -> None:
    """Kills this process at an event, or at its n-th write.

    For a file, the kill comes before the n-th line is written. For Postgres, it comes after the
    n-th statement that writes, before the client sees the result.
    """

    def kill(_event: object = None) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    kind, at = point
    if kind == "event":
        client.on(at, kill)
        return
    from exact_change._journal.file.disk import OpenFile
    from exact_change._journal.postgres.connection import Connection

    is_file = kind == "append"
    owner: Any = OpenFile if is_file else Connection
    name = "append" if is_file else "_query"
    write: Callable[..., Any] = getattr(owner, name)
    count = 0

    def counted(self: Any, *args: Any) -> Any:
        nonlocal count
        is_write = is_file or WRITES.search(args[0]) is not None
        count += is_write
        if is_file and count == at:
            kill()
        result = write(self, *args)
        if is_write and count == at:
            kill()
        return result

    setattr(owner, name, counted)


async def main_async(task: Any) -> list[str]:
    """Buys its share of the URLs on an event loop."""
    faults = LoopFaults(task["seed"], task.get("inHow", 10))
    journal = journal_of(task)
    async with journal, AsyncClient(
        **task["options"], journal=journal, http_transport=faults
    ) as client:
        return list(await asyncio.gather(*(buy_async(client, url) for url in task["urls"])))


def main(task: Any) -> list[str]:
    """Buys its share of the URLs on threads."""
    faults = ThreadFaults(task["seed"], task.get("inHow", 10))
    journal = journal_of(task)
    with journal, Client(**task["options"], journal=journal, http_transport=faults) as client:
        if "kill" in task:
            kill_at(task["kill"], client)
        if "key" in task:
            return [buy(client, url, idempotency_key=task["key"]) for url in task["urls"]]
        with ThreadPoolExecutor(len(task["urls"])) as pool:
            return list(pool.map(lambda url: buy(client, url), task["urls"]))


def start(sandbox: Sandbox, language: str, task: dict[str, Any]) -> subprocess.Popen[str]:
    """Starts a process that prints the outcome for each URL as JSON."""
    command = [sys.executable, "-m", "tests.buyer"]
    options = dict(task["options"])
    if language == "node":
        options = {camel(name): value for name, value in options.items()}
        options["policy"] = {camel(name): rule for name, rule in options.get("policy", {}).items()}
        command = ["node", sandbox.call("buyer")]
    return subprocess.Popen(
        [*command, json.dumps({**task, "options": options, "language": language})],
        cwd=HERE.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def camel(name: str) -> str:
    """Returns the TypeScript name of an option."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def ended(process: subprocess.Popen[str], seconds: float = 300) -> list[str]:
    """Waits for a process and returns the outcomes that it printed."""
    printed, errors = process.communicate(timeout=seconds)
    assert (process.returncode, errors) == (0, "")
    bought: list[str] = json.loads(printed)
    return bought


if __name__ == "__main__":
    own_task = json.loads(sys.argv[1])
    is_async = own_task["language"] == "asyncio"
    print(json.dumps(asyncio.run(main_async(own_task)) if is_async else main(own_task)))
