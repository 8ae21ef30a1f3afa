"""Where the examples pay: at the addresses of the environment, or on a sandbox of their own."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterator, Mapping

_CLONE = Path(__file__).parents[2]
_LAST = "USDC_WALLET_SECRET_KEY"
# Of the sandbox, one after the other.
_PORTS = 5


@contextmanager
def settings() -> Iterator[Mapping[str, str]]:
    """Addresses and keys, as ``npx exact-change-sandbox`` prints them."""
    if "API_URL" in os.environ:
        yield os.environ
        return
    port = str(_first_of_free_ports())
    command = ["node", "--import", "tsx", "adapters/sandbox/bin.ts", "--port", port]
    process = subprocess.Popen(command, cwd=_CLONE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found: dict[str, str] = {}
        for line in process.stdout:
            name, _, value = line.strip().partition("=")
            found[name] = value
            if name == _LAST:
                break
        if _LAST not in found:
            raise SystemExit("The sandbox did not start: run `npm ci` in the clone first.")
        yield found
    finally:
        process.terminate()
        process.wait(10)


def _first_of_free_ports() -> int:
    """Below those that the system gives to whatever asks for any."""
    while True:
        first = 20_000 + secrets.randbelow(12_000)
        try:
            with ExitStack() as held:
                for port in range(first, first + _PORTS):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
