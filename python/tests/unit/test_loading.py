"""Modules that load with the first call must not block an event loop."""

from __future__ import annotations

import subprocess
import sys

LOADS = """
import asyncio, sys, threading
import exact_change

loaded = {}

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("exact_change."):
            loaded[name] = threading.current_thread() is threading.main_thread()

async def main():
    sys.meta_path.insert(0, Finder())
    async with exact_change.AsyncClient(wallet_seed=bytes(32)) as client:
        assert await client.receipts() == []

asyncio.run(main())
assert "exact_change._payments.engine" in loaded
print(*(name for name, is_main in loaded.items() if is_main))
"""


def test_loads_nothing_in_the_thread_of_the_event_loop_with_a_first_call() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADS], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split() == []
