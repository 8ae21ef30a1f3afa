"""A tool that buys, for any framework that takes a function with types and a docstring."""

from __future__ import annotations

from typing import Callable

from settings import settings

from exact_change import Client, ExactChangeError, receipt_of


def buying_tool(client: Client) -> Callable[[str], str]:
    """Give what it returns to ``langchain_core.tools.tool``, or to another framework."""

    def fetch_paid(url: str) -> str:
        """Reads a URL, and pays for it if it asks for a payment within the budget."""
        try:
            response = client.get(url)
        except ExactChangeError as error:
            # The message is ours. What a seller says is under `untrusted`: keep it from a model.
            return f"Not bought ({error.code}): {error}"
        receipt = receipt_of(response)
        price = "nothing" if receipt is None else f"{receipt.cost.usd} USD"
        return f"Status {response.status_code}, paid {price}.\n{response.text[:4000]}"

    return fetch_paid


def main() -> None:
    with settings() as at, Client(
        wallet_secret_key=at["USDC_WALLET_SECRET_KEY"],
        rpc_url=at["SOLANA_RPC_URL"],
        jupiter_url=at["EXACT_CHANGE_JUPITER_URL"],
        policy={"max_per_payment": "0.05", "max_per_day": "1.00"},
    ) as client:
        tool = buying_tool(client)
        print(tool(f"{at['API_URL']}/usdc"))


if __name__ == "__main__":
    main()
