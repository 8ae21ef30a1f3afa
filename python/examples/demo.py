"""A wallet with SOL, and no USDC, buys from an API that costs USDC: ``python examples/demo.py``.

Everything is real, on one machine: the chain, the facilitator, the paid API.
"""

from __future__ import annotations

import time

from settings import settings

from exact_change import Client, Event, format_receipt

STEPS = {
    "payment.required": "402, {offers} offer(s)",
    "payment.chosen": "pay {amount} of {mint} to {pay_to}",
    "balance.checked": "the wallet holds {available}, {missing} are missing",
    "swap.quoted": "{in_amount} of {input_mint} become {out_amount}",
    "swap.confirmed": "{signature}",
    "payment.signed": "{payer_signature}",
    "payment.answered": "status {status}",
}


def main() -> None:
    began = time.monotonic()

    def tell(event: Event) -> None:
        words = STEPS.get(event.type, "").format(**event.details)
        print(f"{(time.monotonic() - began) * 1000:6.0f} ms  {event.type:17} {words}")

    with settings() as at:
        began = time.monotonic()
        client = Client(
            wallet_secret_key=at["WALLET_SECRET_KEY"],
            rpc_url=at["SOLANA_RPC_URL"],
            jupiter_url=at["EXACT_CHANGE_JUPITER_URL"],
            auto_swap=True,
            swap_from=["SOL"],
            policy={"max_per_payment": "0.50", "max_per_day": "5.00"},
        )
        with client:
            client.on("*", tell)
            response = client.get(f"{at['API_URL']}/usdc")
            print(response.status_code, response.text)
            receipt = client.settled(response)
            if receipt is None or receipt.state != "settled":
                raise SystemExit("The payment is not settled.")
            print(format_receipt(receipt))


if __name__ == "__main__":
    main()
