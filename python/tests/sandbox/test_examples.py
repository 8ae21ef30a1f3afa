"""Every example, run as its reader would."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from exact_change._base.runtime import system_runtime

from ..node import Sandbox
from ..spec import vectors

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "demo": ["payment.settled", "Paid 0.01 USDC to", "Swapped 0.000", "State settled"],
    "agent_with_a_budget": [
        "stopped: budget_exhausted, funds untouched",
        "bought 5: 0.05 of 0.05 USD",
    ],
    "async_crowd": ["20 payments, 0.2 USD in all"],
    "tool_of_an_agent": ["Status 200, paid 0.01 USD."],
}


@pytest.mark.parametrize("name", list(SAYS))
def test_an_example_does_what_it_says(name: str, sandbox: Sandbox) -> None:
    environment = {
        **os.environ,
        "RPC_URL": sandbox.rpc_url,
        "JUPITER_URL": sandbox.jupiter_url,
        "API_URL": sandbox.api_url,
        "WALLET_SECRET_KEY": sandbox.wallet(SOL="1").secret_key,
        "USDC_WALLET_SECRET_KEY": sandbox.wallet(USDC="1").secret_key,
    }
    ran = subprocess.run(
        [sys.executable, "-W", "error", f"{name}.py"],
        cwd=EXAMPLES,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for words in SAYS[name]:
        assert words in ran.stdout
    for key in ("WALLET_SECRET_KEY", "USDC_WALLET_SECRET_KEY"):
        assert environment[key] not in ran.stdout


def test_the_receiver_takes_what_its_sender_signed_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import webhook_receiver

    row = vectors("webhooks")[0]["in"]
    monkeypatch.setenv("WEBHOOK_SECRET", row["secret"])
    now = system_runtime._replace(now=lambda: row["now"])
    monkeypatch.setattr("exact_change.webhooks.system_runtime", now)
    server = ThreadingHTTPServer(("127.0.0.1", 0), webhook_receiver.Receiver)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        body = row["body"].encode()
        assert httpx.post(url, headers=row["headers"], content=body).status_code == 204
        assert httpx.post(url, headers=row["headers"], content=body + b" ").status_code == 400
    finally:
        server.shutdown()
        server.server_close()
    assert capsys.readouterr().out.count("payment.settled") == 1
