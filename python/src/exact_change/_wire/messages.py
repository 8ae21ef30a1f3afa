"""Schemas of the requests to a service, and of its answers."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from typing_extensions import Literal, get_args

from .._spec import table
from .._transport.types import PaymentState
from .fields import (
    address,
    amount,
    base64_text,
    caller_key,
    digits,
    mint,
    name,
    signature,
    transaction,
    ui_amount,
    web_address,
)
from .schema import (
    Maybe,
    Misfit,
    Schema,
    anything,
    count,
    finite,
    flag,
    list_of,
    object_of,
    one_of,
    record_of,
    shaped,
    text_up_to,
    within,
    words,
)

_MAX_ROUTE = 50
_MAX_MINTS = 100
_swap_mode = one_of(["ExactIn", "ExactOut"], 'must be "ExactIn" or "ExactOut".')
_bps = within(0, 10_000)
_many_route = f"must have at most {_MAX_ROUTE} names."


def _impact(value: object) -> object:
    """Checks basis points: negative if the price improves, maybe fractional, or null."""
    return None if value is None else finite("must be a number or null.")(value)


_parameters: Mapping[str, Schema | Maybe] = {
    "inputMint": mint,
    "outputMint": mint,
    "amount": amount,
    "swapMode": Maybe(_swap_mode),
    "slippageBps": Maybe(_bps),
    "maxAccounts": Maybe(within(1, 64)),
}
_quote: Mapping[str, Schema | Maybe] = {
    "inputMint": address,
    "outputMint": address,
    "swapMode": _swap_mode,
    "inAmount": amount,
    "outAmount": amount,
    "minOutAmount": amount,
    "maxInAmount": amount,
    "slippageBps": _bps,
    "priceImpactBps": _impact,
    "platformFeeBps": one_of([0], "must be 0: there is no platform fee."),
    "route": list_of(words, "must be a list of names.", _MAX_ROUTE, _many_route),
    "provider": name,
    "quotedAt": count,
    "raw": anything,
}
_swap_quote = object_of(_quote, "must be a quote.")
_swap_transaction = object_of(
    {
        "transaction": transaction,
        "lastValidBlockHeight": digits,
        "quote": _swap_quote,
        "computeUnitLimit": count,
        "priorityFeeLamports": digits,
    },
    "must be a swap transaction.",
)
_token_balance = object_of(
    {
        "mint": address,
        "amount": amount,
        "decimals": within(0, 255),
        "uiAmount": ui_amount,
        "tokenProgram": address,
        "tokenAccount": address,
        "slot": count,
    },
    "must be a balance.",
)


def _balances(value: object) -> object:
    """Checks one balance if the request names one mint, otherwise a list."""
    rule = "must be a balance or a list of balances."
    for schema in (_token_balance, list_of(_token_balance, rule)):
        try:
            return schema(value)
        except Misfit:
            continue
    raise Misfit(rule)


_HEADER_NAME = "must have names of headers as keys."
_headers = record_of(
    shaped(_HEADER_NAME, "[!#$%&'*+.^_`|~0-9A-Za-z-]+", 128),
    text_up_to(16_384, "must be text of at most 16384 characters."),
    "must be an object of header names and values.",
    100,
)
_parts = object_of(
    {
        "url": Maybe(web_address),
        "status": Maybe(within(100, 599)),
        "headers": Maybe(_headers),
        "body": Maybe(anything),
    },
    "must be an object with the url, status, headers and body of the 402.",
    strict=True,
)
_auto_pay = object_of(
    {
        "paymentRequired": _parts,
        "wallet": address,
        "autoSwap": Maybe(flag),
        "limits": Maybe(record_of(address, amount, "must be an object of base units by mint.", 32)),
        "swapFrom": Maybe(
            list_of(
                mint,
                "must be a list of mint addresses or pinned symbols.",
                32,
                "must have at most 32 entries.",
            )
        ),
        "slippageBps": Maybe(_bps),
        "swapAmount": Maybe(amount),
        "signedSwap": Maybe(transaction),
        "signedPayment": Maybe(transaction),
        "idempotencyKey": Maybe(caller_key),
    },
    strict=True,
)
untrusted = record_of(name, words, "must be an object.", 20)
offer_refusal = object_of(
    {
        "index": count,
        "code": one_of(list(table("errors")["codes"]), "must be a code."),
        "message": words,
        "untrusted": Maybe(untrusted),
    }
)
_version = one_of([1, 2], "must be 1 or 2.")
_offer = object_of(
    {
        "index": count,
        "x402Version": _version,
        "payable": flag,
        "network": Maybe(name),
        "mint": Maybe(address),
        "amount": Maybe(amount),
        "payTo": Maybe(address),
        "feePayer": Maybe(address),
        "refusal": Maybe(offer_refusal),
    },
    "must be an offer.",
)
_parsed = object_of(
    {"x402Version": _version, "offers": list_of(_offer, "must be a list of offers.")},
    "must be the offers of a 402.",
)
_result = object_of(
    {
        "state": one_of(get_args(PaymentState), "must be a state."),
        "offer": _offer,
        "id": Maybe(name),
        "swap": Maybe(_swap_transaction),
        "signature": Maybe(signature),
        "payment": Maybe(object_of({"transaction": transaction, "lastValidBlockHeight": digits})),
        # The service may set no other header on the caller's request.
        "header": Maybe(
            object_of({"name": one_of(["PAYMENT-SIGNATURE", "X-PAYMENT"]), "value": base64_text})
        ),
        "payerSignature": Maybe(signature),
        "lastValidBlockHeight": Maybe(digits),
        "funds": Maybe(object_of({"mint": address, "required": digits, "available": digits})),
    },
    "must be a step of a payment.",
)


class Operation(NamedTuple):
    """An operation of the REST interface. Its request is its query for GET, else its JSON body."""

    method: Literal["GET", "POST"]
    # Path below the base path of the service.
    path: str
    request: Schema
    response: Schema


QUOTE = Operation("GET", "/api/quote", object_of(_parameters, strict=True), _swap_quote)
BUILD_SWAP = Operation(
    "POST",
    "/api/swap/build",
    object_of(
        {"wallet": address, "quote": object_of(_quote, "must be a quote.", strict=True)},
        strict=True,
    ),
    _swap_transaction,
)
BALANCE = Operation(
    "GET",
    "/api/balance",
    object_of(
        {
            "wallet": address,
            "mint": Maybe(
                list_of(
                    mint,
                    "must be a list of mints.",
                    _MAX_MINTS,
                    f"must be given at most {_MAX_MINTS} times.",
                )
            ),
        },
        strict=True,
    ),
    _balances,
)
PARSE_PAYMENT = Operation("POST", "/api/x402/parse-payment", _parts, _parsed)
AUTO_PAY = Operation("POST", "/api/x402/auto-pay", _auto_pay, _result)
