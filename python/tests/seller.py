"""A seller for tests, which control each byte of its answers."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterable, Mapping, NamedTuple

import httpx

from .node import Sandbox

MAINNET = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"


class Seen(NamedTuple):
    """A received request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    # Port of the client's end of the connection.
    port: int = 0

    @property
    def payment(self) -> Any:
        """The content of the payment header; None without a payment header."""
        for name in ("payment-signature", "x-payment"):
            if name in self.headers:
                return json.loads(base64.b64decode(self.headers[name]))
        return None

    @property
    def is_paid(self) -> bool:
        """Whether the request has a payment header, readable or not."""
        return "payment-signature" in self.headers or "x-payment" in self.headers


class Reply(NamedTuple):
    """An answer of the seller."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b"{}"
    # Number of body bytes after which the connection is cut.
    cut_at: int | None = None
    # Chunks to send instead of ``body``.
    pieces: Iterable[bytes] | None = None


Answer = Callable[[Seen], "Reply | None"]


class Seller:
    """Answers requests with a function; None cuts the connection without an answer."""

    def __init__(self, answer: Answer) -> None:
        self.seen: list[Seen] = []
        self.answer = answer
        seller = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(size)
                if self.headers.get("transfer-encoding") == "chunked":
                    body = _chunks(self.rfile)
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers, body, self.client_address[1])
                seller.seen.append(seen)
                reply = seller.answer(seen)
                if reply is None:
                    self.close_connection = True
                    self.connection.close()
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.pieces is not None:
                    self.send_header("transfer-encoding", "chunked")
                    self.end_headers()
                    self._send_pieces(reply.pieces)
                    return
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                if self.command == "HEAD":
                    return
                self.wfile.write(reply.body[: reply.cut_at])
                if reply.cut_at is not None:
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.close()

            def _send_pieces(self, pieces: Iterable[bytes]) -> None:
                try:
                    for piece in pieces:
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                        self.wfile.flush()
                    self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = handle_one

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing."""

            def finish(self) -> None:
                try:
                    super().finish()
                except (ValueError, OSError):
                    return

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request: object, address: object) -> None:
                """Ignores errors, because tests cut connections on purpose."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def paid(self) -> list[Seen]:
        """The requests with a payment, in order."""
        return [request for request in self.seen if request.payment is not None]

    def close(self) -> None:
        """Ends the seller."""
        self._server.shutdown()
        self._server.server_close()


def _chunks(file: Any) -> bytes:
    parts: list[bytes] = []
    while True:
        size = int(file.readline().strip(), 16)
        parts.append(file.read(size))
        file.readline()
        if size == 0:
            return b"".join(parts)


def offer(sandbox: Sandbox, mint: str = "USDC", amount: str = "10000", **more: Any) -> Any:
    """Returns an entry of ``accepts``."""
    return {
        "scheme": "exact",
        "network": MAINNET,
        "amount": amount,
        "asset": sandbox.mint(mint) if mint in sandbox.mints else mint,
        "payTo": sandbox.merchant,
        "maxTimeoutSeconds": 60,
        "extra": {"feePayer": sandbox.fee_payer},
        **more,
    }


def terms(*offers: Any) -> Reply:
    """Returns a 402 of version 2 with these offers."""
    required = {
        "x402Version": 2,
        "error": "Payment required",
        "resource": {"url": "https://shop.example/thing", "description": "", "mimeType": ""},
        "accepts": list(offers),
    }
    encoded = base64.b64encode(json.dumps(required).encode()).decode()
    return Reply(402, {"PAYMENT-REQUIRED": encoded, "content-type": "application/json"})


def settle(sandbox: Sandbox, seen: Seen, offered: Any) -> Any:
    """Settles the payment of a request with the facilitator of the sandbox."""
    body = {"x402Version": 2, "paymentPayload": seen.payment, "paymentRequirements": offered}
    return httpx.post(f"{sandbox.facilitator_url}/settle", json=body, timeout=60).json()


BOUGHT = Reply(body=b"bought")


def selling(sandbox: Sandbox, offered: Any, reply: Reply = BOUGHT) -> Answer:
    """Returns an answer function that sells for one offer and reports the settlement."""

    def answer(seen: Seen) -> Reply:
        if seen.payment is None:
            return terms(offered)
        settled = settle(sandbox, seen, offered)
        encoded = base64.b64encode(json.dumps(settled).encode()).decode()
        headers = {**reply.headers, "PAYMENT-RESPONSE": encoded}
        if not settled["success"]:
            return terms(offered)._replace(headers=headers)
        return reply._replace(headers=headers)

    return answer
