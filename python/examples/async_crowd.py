"""Twenty calls at once, each of which costs a cent: each has a payment of its own."""

from __future__ import annotations

import asyncio

from settings import settings

from exact_change import AsyncClient, receipt_of


async def main() -> None:
    with settings() as at:
        async with AsyncClient(
            wallet_secret_key=at["USDC_WALLET_SECRET_KEY"],
            rpc_url=at["SOLANA_RPC_URL"],
            jupiter_url=at["EXACT_CHANGE_JUPITER_URL"],
        ) as client:
            calls = [client.get(f"{at['API_URL']}/usdc") for _ in range(20)]
            receipts = [receipt_of(response) for response in await asyncio.gather(*calls)]
            payments = {one.payment.payer_signature for one in receipts if one is not None}
            print(f"{len(payments)} payments, {(await client.spent())[0].used} USD in all")


if __name__ == "__main__":
    asyncio.run(main())
