"""Receives webhooks of a service: ``WEBHOOK_SECRET=whsec_... python webhook_receiver.py``."""

from __future__ import annotations

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from exact_change import TransportError
from exact_change.webhooks import verify

_MOST_BYTES = 1_000_000


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("content-length") or 0), _MOST_BYTES))
        try:
            event = verify(secret=os.environ["WEBHOOK_SECRET"], headers=self.headers, body=body)
        except TransportError as error:
            self.send_error(400, str(error))
            return
        # Put it on record by its id before you answer: it may be told again.
        print(event.id, event.type, event.data.get("signature"), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Prints the events alone."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4022"))), Receiver)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
