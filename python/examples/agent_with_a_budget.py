"""An agent that buys until its budget is used up: caps hold whatever it is talked into."""

from __future__ import annotations

from settings import settings

from exact_change import Client, ExactChangeError


def main() -> None:
    with settings() as at, Client(
        wallet_secret_key=at["USDC_WALLET_SECRET_KEY"],
        rpc_url=at["SOLANA_RPC_URL"],
        jupiter_url=at["EXACT_CHANGE_JUPITER_URL"],
        policy={"max_per_payment": "0.02", "max_per_day": "0.05"},
    ) as client:
        bought = 0
        while True:
            try:
                client.get(f"{at['API_URL']}/usdc").raise_for_status()
            except ExactChangeError as error:
                # `funds` says what happened to the money, `retry` if repeating can help.
                print(f"stopped: {error.code}, funds {error.funds}, retry {error.retry}")
                break
            bought += 1
        for use in client.spent():
            print(f"bought {bought}: {use.used} of {use.limit} {use.unit}")


if __name__ == "__main__":
    main()
