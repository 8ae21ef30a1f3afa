"""Examples, run as a reader runs them."""

from __future__ import annotations

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
OUTPUTS = {
    "demo": ["payment.settled", "Paid 0.01 USDC to", "Swapped 0.000", "State settled"],
    "agent_with_a_budget": [
        "stopped: budget_exhausted, funds untouched",
        "bought 5: 0.05 of 0.05 USD",
    ],
    "async_crowd": ["20 payments, 0.2 USD in all"],
    "tool_of_an_agent": ["Status 200, paid 0.01 USD."],
    "notebook": [
        "0.01 USDC from So1111",
        "State settled",
        "3 pages, {'0.01'} USDC each",
        "stopped: budget_exhausted untouched",
    ],
}
# Runs cells as a kernel does: in order, in one namespace, on one loop. A real kernel would need
# thirty more packages.
NOTEBOOK = """
import ast, asyncio, inspect, json
from pathlib import Path

async def run():
    names = {"__name__": "__main__"}
    for cell in json.loads(Path("notebook.ipynb").read_text("utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        # The repository keeps no output of an earlier run.
        assert cell["outputs"] == [] and cell["execution_count"] is None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile("".join(cell["source"]), cell["id"], "exec", flags)
        waits = eval(code, names)
        if inspect.isawaitable(waits):
            await waits

asyncio.run(run())
"""


def test_runs_every_example() -> None:
    elsewhere = {"settings.py", "webhook_receiver.py", "fastapi_app.py"}
    files = {file.name for file in EXAMPLES.iterdir() if file.is_file()}
    assert files - elsewhere == {f"{name}.py" for name in OUTPUTS if name != "notebook"} | {
        "notebook.ipynb"
    }


@pytest.mark.parametrize("name", list(OUTPUTS))
def test_prints_the_expected_lines_of_an_example_and_no_key(name: str, sandbox: Sandbox) -> None:
    environment = sandbox.environment()
    program = [f"{name}.py"] if name != "notebook" else ["-c", NOTEBOOK]
    ran = subprocess.run(
        [sys.executable, "-W", "error", *program],
        cwd=EXAMPLES,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for words in OUTPUTS[name]:
        assert words in ran.stdout
    for key in ("WALLET_SECRET_KEY", "USDC_WALLET_SECRET_KEY"):
        assert environment[key] not in ran.stdout


def test_accepts_only_signed_bodies_in_the_webhook_receiver_example(
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
