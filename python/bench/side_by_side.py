"""This client beside the official one, in one run: ``npm run bench:python``.

Both pay the same seller, which settles nothing and answers at once, from warm clients: over a node
whose answers take 50 ms, and over one on this machine. Printed is what a payment takes beside the
two legs to the seller, and what loading takes; and of this client alone, what a payment takes that
blocks its thread.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Awaitable, Callable

import httpx
from solders.keypair import Keypair
from x402 import x402Client
from x402.http.clients.httpx import x402HttpxClient
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact.register import register_exact_svm_client

sys.path[:0] = [str(Path(__file__).parents[1] / one) for one in ("src", "examples")]

from settings import settings  # noqa: E402

from exact_change import AsyncClient, Client  # noqa: E402

CALLS = 300
WARM = 3
NODE_SECONDS = 0.05
Call = Callable[[], Awaitable[Any]]
OURS = "from exact_change import AsyncClient"
OFFICIAL = (
    "from x402 import x402Client; from x402.http.clients.httpx import x402HttpxClient; "
    "from x402.mechanisms.svm import KeypairSigner; "
    "from x402.mechanisms.svm.exact.register import register_exact_svm_client"
)


def serve(answer: Callable[[Any, bytes], httpx.Response]) -> str:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body in one packet: otherwise they wait for each other.
        wbufsize = -1

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            reply = answer(self, body)
            self.send_response(reply.status_code)
            for name in ("content-type", "payment-required"):
                if name in reply.headers:
                    self.send_header(name, reply.headers[name])
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content)

        do_GET = do_POST = do

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # In a process of its own, as sellers are: its turns of the interpreter are not the client's.
    multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


async def side_by_side(calls: dict[str, Call]) -> dict[str, float]:
    """Medians in milliseconds. Each in turn, so that a busy machine is busy for all of them."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(CALLS + WARM):
        for name, call in calls.items():
            began = time.perf_counter()
            await call()
            if turn >= WARM:
                times[name].append((time.perf_counter() - began) * 1000)
            # What a client does beside its callers does not count, and does not pile up.
            await asyncio.sleep(0.02)
    return {name: statistics.median(took) for name, took in times.items()}


def blocking(secret: str, url: str, rpc_url: str) -> float:
    """Milliseconds of a payment beside its two legs, by the client that blocks."""
    policy = {"max_per_day": "100.00"}
    with httpx.Client() as plain, Client(
        wallet_secret_key=secret, rpc_url=rpc_url, policy=policy
    ) as ours:

        async def leg() -> httpx.Response:
            return plain.get(url)

        async def payment() -> httpx.Response:
            return ours.get(url)

        took = asyncio.run(side_by_side({"leg": leg, "ours": payment}))
    return took["ours"] - 2 * took["leg"]


def loading(program: str) -> float:
    def once() -> float:
        code = f"import sys, time; sys.path[:0] = {sys.path[:2]!r}; t = time.process_time(); "
        code += f"{program}; print((time.process_time() - t) * 1000)"
        return float(subprocess.check_output([sys.executable, "-c", code]))

    return statistics.median(once() for _ in range(5))


async def compare(what: str, secret: str, url: str, rpc_url: str) -> None:
    signer = KeypairSigner(Keypair.from_base58_string(secret))
    official = register_exact_svm_client(x402Client(), signer, rpc_url=rpc_url)
    policy = {"max_per_day": "100.00"}
    async with httpx.AsyncClient() as plain, x402HttpxClient(official) as theirs, AsyncClient(
        wallet_secret_key=secret, rpc_url=rpc_url, policy=policy
    ) as ours:
        # Each call is a purchase: their answers are read.
        took = await side_by_side(
            {
                "leg": lambda: plain.get(url),
                "ours": lambda: ours.get(url),
                "theirs": lambda: theirs.get(url),
            }
        )
    legs = 2 * took["leg"]
    own, other = took["ours"] - legs, took["theirs"] - legs
    print(f"{what}: two legs of the seller {legs:.2f} ms; a payment beside them")
    print(f"  this client {own:7.2f} ms, official {other:7.2f} ms, ratio {own / other:.2f}")


def main() -> None:
    with settings() as at:
        asked = httpx.get(f"{at['API_URL']}/usdc")
        node = httpx.Client()

        def sell(handler: Any, _: bytes) -> httpx.Response:
            is_paid = "payment-signature" in handler.headers
            return httpx.Response(200, text="{}") if is_paid else asked

        def delayed(_: Any, body: bytes) -> httpx.Response:
            time.sleep(NODE_SECONDS)
            kind = {"content-type": "application/json"}
            return node.post(at["RPC_URL"], content=body, headers=kind)

        url, secret = serve(sell), at["USDC_WALLET_SECRET_KEY"]
        asyncio.run(compare("A node at 50 ms", secret, url, serve(delayed)))
        asyncio.run(compare("A node on this machine", secret, url, at["RPC_URL"]))
        print(f"  this client, blocking {blocking(secret, url, at['RPC_URL']):7.2f} ms")
    own, other = loading(OURS), loading(OFFICIAL)
    print(f"loading: this client {own:.0f} ms of CPU, official {other:.0f} ms")


if __name__ == "__main__":
    main()
