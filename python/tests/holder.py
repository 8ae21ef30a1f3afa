"""A process that takes a reservation, claim, lock and hold in a journal, and then waits."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from exact_change._journal.balances import Fresh
from exact_change._journal.types import Along, Hold, Owner
from exact_change._kernel.hosts import threads
from exact_change._kernel.steps import call
from exact_change._kernel.task import Steps

from .buyer import HERE, journal_of

OWNER = Owner("wallet", "network")
FRESH = Fresh(0, 2**53)


def attempt(id_: str, **more: Any) -> Any:
    """Returns a new reservation of 0.01 USD."""
    return {
        "id": id_,
        **OWNER._asdict(),
        "state": "reserved",
        "delivered": False,
        "url": "https://api.test/",
        "method": "GET",
        "host": "api.test",
        "fingerprint": "fingerprint",
        "at": 1_800_000_000_000,
        "payTo": "payee",
        "mint": "mint",
        "amount": "10000",
        "microUsd": "10000",
        **more,
    }


def start(place: dict[str, str]) -> subprocess.Popen[str]:
    """Starts a holder, and returns when it has taken everything."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.holder", json.dumps(place)],
        cwd=HERE.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    return process


def main(place: dict[str, str]) -> None:
    """Holds everything until its standard input ends."""
    journal = journal_of(place)
    shared = journal.shared.coordination(OWNER)

    def work() -> Steps[None]:
        hold = Hold("account", FRESH, "mint m")
        yield from journal.shared.reserve(attempt("theirs"), [], Along(["theirs"]), hold)

        def wait() -> Steps[None]:
            print("holds", flush=True)
            yield from call(sys.stdin.read)

        yield from shared.locks.hold(["mint m"], wait)

    threads.run(work())
    journal.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
