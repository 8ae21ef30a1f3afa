"""A FastAPI app that buys from an API: ``pip install fastapi uvicorn``, then run this file.

One client serves all requests: its caps bound what all of them together may cost.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from settings import settings

from exact_change import AsyncClient, ExactChangeError, receipt_of


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    with settings() as at:
        async with AsyncClient(
            wallet_secret_key=at["USDC_WALLET_SECRET_KEY"],
            rpc_url=at["SOLANA_RPC_URL"],
            jupiter_url=at["EXACT_CHANGE_JUPITER_URL"],
            policy={"max_per_payment": "0.02", "max_per_day": "0.05"},
        ) as client:
            app.state.client, app.state.source = client, f"{at['API_URL']}/usdc"
            yield


app = FastAPI(lifespan=lifespan)


@app.get("/report")
async def report(request: Request) -> dict[str, Any]:
    client: AsyncClient = request.app.state.client
    # A request that is repeated under its key is paid for once.
    key = request.headers.get("idempotency-key")
    try:
        bought = await client.get(request.app.state.source, idempotency_key=key)
    except ExactChangeError as error:
        # The message is ours; what the seller says stays under `untrusted`, and here.
        detail = {"code": error.code, "funds": error.funds, "message": str(error)}
        raise HTTPException(502 if error.retry == "never" else 503, detail) from error
    receipt = receipt_of(bought)
    cost = None if receipt is None else receipt.cost.usd
    return {"report": bought.json(), "cost_usd": cost}


@app.get("/spent")
async def spent(request: Request) -> list[dict[str, str]]:
    client: AsyncClient = request.app.state.client
    rows = await client.spent()
    return [{"cap": row.cap, "used": row.used, "limit": row.limit} for row in rows]


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
