"""Formats receipts as text."""

from __future__ import annotations

from urllib.parse import quote

from ._base.network import SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET
from ._base.token_text import amount_text, sol_text
from ._receipt import Cost, FreedCost, FreedReceipt, PaidPayment, PaidSwap, Receipt

# Names of the clusters in Solana's explorer; its default is mainnet.
_CLUSTERS = {SOLANA_DEVNET: "devnet", SOLANA_TESTNET: "testnet"}
# The state of a payment, in words.
_STATES = {
    "pending": "pending: the chain has not decided yet",
    "settled": "settled",
    "unsettled": "unsettled: the payment can never land",
    "uncertain": "uncertain: the answer was lost or failed, and the chain has not decided yet",
    "abandoned": "abandoned: no payment was signed, and a swap may still land",
    "unpaid": "unpaid: no payment was signed",
}


def explorer_url(signature: str, network: str) -> str:
    """Returns the URL at which Solana's explorer shows a transaction.

    ``signature`` is the transaction's first signature, base58. ``network`` is the CAIP-2 id of the
    cluster, as receipts have it.
    """
    cluster = _CLUSTERS.get(network)
    query = "" if cluster is None else f"?cluster={cluster}"
    return f"https://explorer.solana.com/tx/{quote(signature, safe='')}{query}"


def format_receipt(receipt: Receipt | FreedReceipt) -> str:
    """Returns a receipt as a few lines of text, for a log or a person.

    The lines are the payment, the swap, the cost and the state. A token that is not pinned is named
    by its mint.

    >>> print(format_receipt(receipt_of(response)))
    """
    payment: PaidPayment | None = receipt.payment
    call = f"{receipt.method} {receipt.url}"
    lines = [f"{_paid(payment, receipt.state)} for {call}"]
    if receipt.swap is not None:
        # The receipt of a freed attempt names no network; Jupiter swaps on mainnet only.
        lines.append(_swapped(receipt.swap, SOLANA_MAINNET if payment is None else payment.network))
    lines.append(_cost(receipt.cost))
    signature = None if payment is None else payment.signature
    link = ""
    if payment is not None and signature is not None:
        link = f" {explorer_url(signature, payment.network)}"
    lines.append(f"State {_STATES[receipt.state]}{link}")
    return "\n".join(lines)


def _paid(payment: PaidPayment | None, state: str) -> str:
    if payment is None or state == "unsettled":
        return "Paid nothing"
    paid = "May have paid" if state == "uncertain" else "Paid"
    amount = amount_text(payment.network, payment.mint, int(payment.amount), payment.decimals)
    return f"{paid} {amount} to {payment.pay_to}"


def _swapped(swap: PaidSwap, network: str) -> str:
    sold = amount_text(network, swap.input_mint, int(swap.in_amount))
    bought = amount_text(network, swap.output_mint, int(swap.out_amount))
    return f"Swapped {sold} into {bought} ({swap.provider})"


def _cost(cost: Cost | FreedCost) -> str:
    if isinstance(cost, FreedCost):
        lamports = int(cost.lamports)
    else:
        lamports = int(cost.network_fee_lamports) + int(cost.rent_lamports)
    sol = f"{sol_text(lamports)} of fees and rent"
    if cost.usd is None:
        return f"Cost {sol}; what it is worth in dollars is not known"
    payments, swaps, fees = ("0", "0", "0") if cost.parts is None else cost.parts
    in_sol = f", of it {sol}" if lamports else ""
    return f"Cost {cost.usd} USD (payment {payments}, swap {swaps}, fees {fees}){in_sol}"
