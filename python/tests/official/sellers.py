"""Sellers with FastAPI and Flask on the official x402 package, for an environment that has it.

Both settle with the facilitator of the package through the node at ``RPC_URL``. ``FEE_PAYER`` pays
the fees, and ``PAY_TO`` earns. The first printed line has the URLs as JSON. The process ends with
its standard input.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from typing import Any

import flask
import uvicorn
from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from solders.keypair import Keypair
from werkzeug.serving import make_server
from x402 import x402Facilitator, x402FacilitatorSync, x402ResourceServer, x402ResourceServerSync
from x402.http.middleware.fastapi import payment_middleware as fastapi_middleware
from x402.http.middleware.flask import payment_middleware as flask_middleware
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.svm import FacilitatorKeypairSigner
from x402.mechanisms.svm.exact.register import (
    register_exact_svm_facilitator,
    register_exact_svm_server,
)

MAINNET = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
RPC_URL = os.environ["RPC_URL"]


def routes() -> dict[str, RouteConfig]:
    option = PaymentOption("exact", os.environ["PAY_TO"], "$0.01", MAINNET)
    paths = ("GET /premium", "POST /premium", "GET /moved", "GET /fails")
    return {path: RouteConfig([option]) for path in paths}


def facilitator(kind: Any) -> Any:
    signer = FacilitatorKeypairSigner(
        Keypair.from_base58_string(os.environ["FEE_PAYER"]), rpc_url=RPC_URL
    )
    return register_exact_svm_facilitator(kind(), signer, MAINNET)


def fastapi_app() -> FastAPI:
    app = FastAPI()
    server = register_exact_svm_server(
        x402ResourceServer(facilitator(x402Facilitator)), MAINNET, rpc_url=RPC_URL
    )
    app.middleware("http")(fastapi_middleware(routes(), server))

    @app.api_route("/premium", methods=["GET", "POST"])
    def premium() -> dict[str, bool]:
        return {"ok": True}

    @app.get("/moved")
    def moved() -> RedirectResponse:
        return RedirectResponse("http://127.0.0.1:9/", 307)

    @app.get("/fails")
    def fails() -> None:
        raise RuntimeError("The seller fails after it was paid.")

    return app


def flask_app() -> flask.Flask:
    app = flask.Flask("seller")
    server = register_exact_svm_server(
        x402ResourceServerSync(facilitator(x402FacilitatorSync)), MAINNET
    )
    flask_middleware(app, routes(), server)

    @app.route("/premium", methods=["GET", "POST"])
    def premium() -> dict[str, bool]:
        return {"ok": True}

    return app


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(fastapi_app(), log_level="critical")
    fastapi_server = uvicorn.Server(config)
    threading.Thread(target=fastapi_server.run, args=([listener],), daemon=True).start()
    flask_server = make_server("127.0.0.1", 0, flask_app(), threaded=True)
    threading.Thread(target=flask_server.serve_forever, daemon=True).start()
    urls = {
        "fastapi": f"http://127.0.0.1:{listener.getsockname()[1]}",
        "flask": f"http://127.0.0.1:{flask_server.server_port}",
    }
    print(json.dumps(urls), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
