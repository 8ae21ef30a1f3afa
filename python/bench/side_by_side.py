"""This client beside the official one, in one run: ``npm run bench:python``.

Both pay the same seller, which settles nothing and answers at once, from warm clients over a node
whose answers take 50 ms. Printed is what a payment takes beside the two legs to the seller, and
what loading takes.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import threading
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

from exact_change import AsyncClient  # noqa: E402

CALLS = 60
NODE_SECONDS = 0.05
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
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


async def timed(call: Callable[[], Awaitable[Any]]) -> list[float]:
    await call()
    await call()
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await call()
        times.append((time.perf_counter() - began) * 1000)
        # What a client does beside its callers does not count, and does not pile up.
        await asyncio.sleep(0.06)
    return times


def loading(program: str) -> float:
    def once() -> float:
        code = f"import sys, time; sys.path[:0] = {sys.path[:2]!r}; t = time.process_time(); "
        code += f"{program}; print((time.process_time() - t) * 1000)"
        return float(subprocess.check_output([sys.executable, "-c", code]))

    return statistics.median(once() for _ in range(5))


async def main() -> None:
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

        url, rpc_url, secret = serve(sell), serve(delayed), at["USDC_WALLET_SECRET_KEY"]
        signer = KeypairSigner(Keypair.from_base58_string(secret))
        official = register_exact_svm_client(x402Client(), signer, rpc_url=rpc_url)
        policy = {"max_per_day": "100.00"}
        async with httpx.AsyncClient() as plain, x402HttpxClient(official) as theirs:
            ours = AsyncClient(wallet_secret_key=secret, rpc_url=rpc_url, policy=policy)
            async with ours:
                legs = 2 * statistics.median(await timed(lambda: plain.get(url)))
                # Each call is a purchase: their answers are read.
                times = {
                    "this client": await timed(lambda: ours.get(url)),
                    "official": await timed(lambda: theirs.get(url)),
                }
        print(f"two legs of the seller    {legs:7.2f} ms")
        for name, took in times.items():
            print(f"a payment beside, {name:12}{statistics.median(took) - legs:7.2f} ms")
        print(f"loading, this client      {loading(OURS):7.0f} ms of CPU")
        print(f"loading, official         {loading(OFFICIAL):7.0f} ms of CPU")


if __name__ == "__main__":
    asyncio.run(main())
