"""Logs, threads, forks and exits of a process with a client."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from ..conftest import MakeClient, MakeSeller
from ..node import Sandbox
from ..payer import PRICE
from ..seller import Reply, Seen

API_KEY = "sk-4711-abcdef-canary"
JSON = {"content-type": "application/json"}


def test_logs_neither_keys_nor_payment_headers(
    sandbox: Sandbox,
    make_client: MakeClient,
    make_seller: MakeSeller,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The program logs everything, with the debug logs of its libraries."""
    caplog.set_level(logging.DEBUG)
    headers: list[str] = []

    def forward(seen: Seen) -> Reply:
        answer = httpx.request(
            seen.method,
            sandbox.api_url + seen.path,
            headers={name: text for name, text in seen.headers.items() if "payment" in name},
        )
        headers.extend(text for name, text in seen.headers.items() if "payment" in name)
        terms = {name: text for name, text in answer.headers.items() if "payment" in name}
        return Reply(answer.status_code, {**JSON, **terms}, answer.content)

    seller = make_seller(forward)
    wallet = sandbox.wallet(SOL="0.5")
    client = make_client(
        wallet,
        auto_swap=True,
        rpc_url=f"{sandbox.rpc_url}/?api-key={API_KEY}",
        jupiter_api_key=API_KEY,
    )
    response = client.get(f"{seller.url}/usdc")
    assert response.status_code == 200 and len(headers) == 1
    names = {record.name.partition(".")[0] for record in caplog.records}
    assert names >= {"exact_change", "httpx", "httpcore"}
    for secret in (wallet.secret_key, API_KEY, headers[0], headers[0][:60]):
        assert secret not in caplog.text


def test_keeps_one_budget_for_threads_and_clients_of_a_wallet(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    """All threads start at once, on two clients of the same wallet."""
    wallet = sandbox.wallet(USDC="1")
    policy = {"max_per_day": "0.05"}
    clients = [make_client(wallet, policy=policy) for _ in range(2)]
    all_started = threading.Barrier(12)

    def buy(index: int) -> str:
        all_started.wait(60)
        try:
            clients[index % 2].get(f"{sandbox.api_url}/usdc")
        except Exception as error:
            return str(getattr(error, "code", error))
        return "paid"

    with ThreadPoolExecutor(12) as pool:
        ends = sorted(pool.map(buy, range(12)))
    assert ends == ["budget_exhausted"] * 7 + ["paid"] * 5
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 5 * PRICE


FORKED = """
import os, sys
from exact_change import Client, receipt_of
url, options = sys.argv[1], dict(pair.split("=", 1) for pair in sys.argv[2:])
client = Client(**options)
first = client.get(url)
child = os.fork()
if child == 0:
    response = client.get(url)
    spent = client.spent()[0].used
    print("child", response.status_code, receipt_of(response).payment.payer_signature, spent)
    sys.stdout.flush()
    os._exit(0)
_, status = os.waitpid(child, 0)
last = client.get(url)
signatures = [receipt_of(answer).payment.payer_signature for answer in (first, last)]
print("parent", last.status_code, *signatures, status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_pays_in_a_forked_child_on_its_own_connections(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDC="1")
    ran = run(sandbox, FORKED, wallet.secret_key)
    assert (ran.returncode, ran.stderr) == (0, "")
    child, parent = (line.split() for line in ran.stdout.strip().split("\n"))
    assert child[:2] == ["child", "200"] and parent[:2] == ["parent", "200"]
    assert parent[-1] == "0" and len({child[2], *parent[2:4]}) == 3
    # The spending of the parent counts in the child.
    assert child[3] == "0.02"
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 3 * PRICE


FORKED_DURING_PAYMENT = """
import os, sys, threading
import httpx
from exact_change import Client
url, options = sys.argv[1], dict(pair.split("=", 1) for pair in sys.argv[2:])
parent, is_paid, may_end = os.getpid(), threading.Event(), threading.Event()

class Held(httpx.HTTPTransport):
    def handle_request(self, request):
        response = super().handle_request(request)
        if "payment-signature" in request.headers and os.getpid() == parent:
            is_paid.set()
            may_end.wait(60)
        return response

client = Client(http_transport=Held(), **options)

def buy(name):
    print(name, client.get(url).status_code, flush=True)

at_work = threading.Thread(target=buy, args=("parent",))
at_work.start()
is_paid.wait(60)
child = os.fork()
if child == 0:
    buy("child")
    os._exit(0)
os.waitpid(child, 0)
may_end.set()
at_work.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_pays_in_a_child_that_was_forked_during_a_payment_of_its_parent(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDC="1")
    ran = run(sandbox, FORKED_DURING_PAYMENT, wallet.secret_key)
    assert (ran.returncode, ran.stdout) == (0, "child 200\nparent 200\n")
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 2 * PRICE


FORKED_DURING_TURN = """
import os, threading
from exact_change._kernel.turns import run_turn
half, may_end, whole = threading.Event(), threading.Event(), []

def turn():
    half.set()
    may_end.wait(60)
    whole.append(True)

threading.Thread(target=run_turn, args=(turn,)).start()
half.wait(60)
threading.Timer(0.2, may_end.set).start()
child = os.fork()
if child == 0:
    run_turn(lambda: None)
    os._exit(0 if whole else 1)
print(os.waitpid(child, 0)[1])
run_turn(lambda: print("parent"))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_forks_only_between_turns_of_other_threads(sandbox: Sandbox) -> None:
    ran = run(sandbox, FORKED_DURING_TURN, sandbox.wallet().secret_key)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "0\nparent\n", "")


LEFT_OPEN = """
import sys
from exact_change import Client
url, options = sys.argv[1], dict(pair.split("=", 1) for pair in sys.argv[2:])
"""
NOT_CLOSED = "print(Client(**options).get(url).status_code)"
# The interpreter closes this client after it has stopped all threads.
IN_A_GENERATOR = """
def use():
    with Client(**options) as client:
        yield client.get(url).status_code

using = use()
print(next(using))
"""


@pytest.mark.parametrize("use", [NOT_CLOSED, IN_A_GENERATOR], ids=["a variable", "a generator"])
def test_ends_the_process_when_it_leaves_a_client_open(use: str, sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDC="1")
    ran = run(sandbox, LEFT_OPEN + use, wallet.secret_key)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "200\n", "")


def run(sandbox: Sandbox, program: str, secret: str) -> Any:
    options = {
        "wallet_secret_key": secret,
        "rpc_url": sandbox.rpc_url,
        "jupiter_url": sandbox.jupiter_url,
    }
    arguments = [f"{name}={value}" for name, value in options.items()]
    # Python 3.12 and later warn of every fork with threads, which these tests need.
    quiet = ("-W", "ignore:This process:DeprecationWarning")
    command = [sys.executable, *quiet, "-c", program, f"{sandbox.api_url}/usdc", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_counts_the_spending_of_all_clients_of_a_wallet_together(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(USDC="1")
    first, second = make_client(wallet), make_client(wallet)
    first.get(f"{sandbox.api_url}/usdc")
    assert second.spent()[0].used == "0.01"


INTERRUPTED = """
import os, signal, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import httpx
from exact_change import Client, ExactChangeError
url, options = sys.argv[1], dict(pair.split("=", 1) for pair in sys.argv[2:])
# A shell starts background processes with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Seller(BaseHTTPRequestHandler):
    def do_GET(self):
        paid = {name: text for name, text in self.headers.items() if "payment" in name.lower()}
        answer = httpx.get(url, headers=paid, timeout=60)
        if paid and not may_answer.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            may_answer.wait(60)
        self.send_response(answer.status_code)
        for name in ("payment-required", "payment-response"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.end_headers()
    def log_message(self, *args):
        pass

may_answer = threading.Event()
server = ThreadingHTTPServer(("127.0.0.1", 0), Seller)
threading.Thread(target=server.serve_forever, daemon=True).start()
signed, settled = [], threading.Event()
with Client(**options) as client:
    client.on("payment.signed", signed.append)
    client.on("payment.settled", lambda event: settled.set())
    at = f"http://127.0.0.1:{server.server_port}/"
    try:
        client.get(at)
    except KeyboardInterrupt:
        print("interrupted")
    may_answer.set()
    settled.wait(60)
    try:
        client.get(at)
    except ExactChangeError as error:
        print(error.code, error.funds, len(signed), client.spent()[0].used)
"""


def test_monitors_an_interrupted_payment_and_pays_it_once(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(USDC="1")
    ran = run(sandbox, INTERRUPTED, wallet.secret_key)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.split("\n")[:2] == ["interrupted", "already_spent spent 1 0.01"]
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - PRICE
