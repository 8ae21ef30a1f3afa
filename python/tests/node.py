"""The sandbox: a local Solana, Jupiter, a facilitator and paid APIs, started from Node."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from concurrent.futures import Future
from typing import Any, NamedTuple

from .spec import ROOT

# For busy machines. A test of a limit gives its own.
TIMEOUTS = dict.fromkeys(("rpc", "jupiter", "service", "terms", "journal"), 60_000)


class Wallet(NamedTuple):
    """A wallet of the sandbox; its key has no funds on any real network."""

    secret_key: str
    address: str


class Sandbox:
    """The sandbox process, which tests control over a pipe."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", "--import", "tsx", "scripts/sandbox-bridge.ts"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = threading.Lock()
        self._count = 0
        self._waiting: dict[int, Future[Any]] = {}
        ready = json.loads(self._out.readline())
        self.rpc_url: str = ready["rpcUrl"]
        self.jupiter_url: str = ready["jupiterUrl"]
        self.api_url: str = ready["apiUrl"]
        self.facilitator_url: str = ready["facilitatorUrl"]
        self.relayer_url: str = ready["relayerUrl"]
        self.merchant: str = ready["merchant"]
        self.fee_payer: str = ready["feePayer"]
        self.mints: dict[str, Any] = ready["mints"]
        threading.Thread(target=self._read, daemon=True).start()

    def call(self, name: str, *args: object) -> Any:
        """Calls a method of the sandbox, or of its controls (``node.warp``)."""
        with self._lock:
            self._count += 1
            future: Future[Any] = Future()
            self._waiting[self._count] = future
            line = json.dumps({"id": self._count, "call": name, "args": args})
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return future.result(300)

    def wallet(self, **funds: str) -> Wallet:
        """Creates a wallet with funds in whole tokens, such as ``USDC="1"``."""
        made = self.call("createWallet", funds)
        return Wallet(made["secretKey"], made["address"])

    def options(self, wallet: Wallet, **options: Any) -> Any:
        """Returns the options of a client for a wallet of the sandbox."""
        return {
            "wallet_secret_key": wallet.secret_key,
            "rpc_url": self.rpc_url,
            "jupiter_url": self.jupiter_url,
            **options,
            "timeouts": {**TIMEOUTS, **options.get("timeouts", {})},
        }

    def environment(self) -> dict[str, str]:
        """Returns the environment of the examples, with new wallets."""
        return {
            **os.environ,
            "SOLANA_RPC_URL": self.rpc_url,
            "EXACT_CHANGE_JUPITER_URL": self.jupiter_url,
            "API_URL": self.api_url,
            "WALLET_SECRET_KEY": self.wallet(SOL="1").secret_key,
            "USDC_WALLET_SECRET_KEY": self.wallet(USDC="1").secret_key,
        }

    def balance(self, address: str, mint: object) -> int:
        """Returns the base units (lamports for SOL) that a wallet holds."""
        return int(self.call("balance", address, mint))

    def mint(self, symbol: str) -> str:
        """Returns the address of a mint."""
        address: str = self.mints[symbol]["address"]
        return address

    def calls(self, method: str | None = None) -> int:
        """Returns the number of calls that the node received."""
        return int(self.call("node.calls", *([] if method is None else [{"method": method}])))

    def close(self) -> None:
        """Ends the sandbox."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(300)
        self._out.close()

    @property
    def _out(self) -> Any:
        return self._process.stdout

    def _read(self) -> None:
        for line in self._out:
            answer = json.loads(line)
            future = self._waiting.pop(answer["id"])
            if "error" in answer:
                future.set_exception(RuntimeError(answer["error"]))
            else:
                future.set_result(answer["ok"])
