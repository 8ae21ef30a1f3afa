"""Where the examples pay: at the addresses of the environment, or on a sandbox of their own."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Mapping

_CLONE = Path(__file__).parents[2]
_LAST = "USDC_WALLET_SECRET_KEY"


@contextmanager
def settings() -> Iterator[Mapping[str, str]]:
    """Addresses and keys, as ``npx exact-change-sandbox`` prints them."""
    if "API_URL" in os.environ:
        yield os.environ
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = min(int(free.getsockname()[1]), 65_000)
    command = ["node", "--import", "tsx", "adapters/sandbox/bin.ts", "--port", str(port)]
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
