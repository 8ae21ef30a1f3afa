"""Records of payments. Amounts are decimal strings of base units."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence, cast

from typing_extensions import Literal, TypedDict

from ._base.names import camel, snake
from ._policy.caps import CostParts
from ._x402.types import Settlement

ReceiptState = Literal["pending", "settled", "unsettled", "uncertain"]


class PaidPayment(NamedTuple):
    """A signed payment."""

    network: str
    mint: str
    amount: str
    decimals: int
    # `amount` for people, as decimal text.
    ui_amount: str
    pay_to: str
    payer: str
    # Our own signature on the payment, which proves that the payment is ours.
    payer_signature: str
    # Present only if the mint is pinned: any other token may call itself anything.
    symbol: str | None = None
    # The transaction's id, set once our own node shows it.
    signature: str | None = None


class RelayFee(NamedTuple):
    """A relayer's fee: the token, and base units of it as a decimal string."""

    mint: str
    amount: str


class PaidSwap(NamedTuple):
    """A confirmed swap."""

    signature: str
    input_mint: str
    in_amount: str
    output_mint: str
    out_amount: str
    provider: str
    # Fee of the relayer that paid the swap's network fees and rents, if the wallet had too little
    # SOL. The amounts above and the cost include it.
    relay_fee: RelayFee | None = None


class Cost(NamedTuple):
    """Cost of a payment."""

    # Network fees that the wallet paid; the facilitator pays the fee of the payment itself.
    network_fee_lamports: str
    # Rent of the wallet's token accounts that the payment's swaps opened and that stay open.
    rent_lamports: str
    # US dollars as decimal text: all that left the wallet for the payment. None if a part has no
    # price: the mint, the token that a swap took, or SOL that fees and rent took.
    usd: str | None = None
    # The parts that add up to `usd`.
    parts: CostParts | None = None


class Receipt(NamedTuple):
    """Our record of one payment."""

    id: str
    url: str
    method: str
    # Milliseconds since the epoch.
    at: int
    # `pending`: signed, and the chain has not decided yet, as is usual right after an answer.
    # `settled`: our own node shows the payment. `unsettled`: the payment can never land, as the
    # chain proves. `uncertain`: the answer was lost or is no success, and the chain has not
    # decided.
    state: ReceiptState
    payment: PaidPayment
    cost: Cost
    # Milliseconds from the call to the end of each step.
    timings: Mapping[str, int]
    swap: PaidSwap | None = None
    # Settlement as the seller reports it, which is no proof.
    settlement: Settlement | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the receipt as JSON-safe data."""
        return _plain(self)


class FreedCost(NamedTuple):
    """Cost of an attempt's swaps, or the most that they may take; caps still count it."""

    # Network fees, and rent of the wallet's token accounts that stay open.
    lamports: str
    usd: str | None = None
    parts: CostParts | None = None


class FreedReceipt(NamedTuple):
    """Our record of an attempt that was freed, because it signed no payment."""

    id: str
    url: str
    method: str
    at: int
    # `abandoned`: the price and the key are free again, but a swap of the attempt may still land.
    # `unpaid`: no transaction of the attempt can still land.
    state: Literal["abandoned", "unpaid"]
    cost: FreedCost
    # The swap that landed for the attempt; None if none landed.
    swap: PaidSwap | None = None

    @property
    def payment(self) -> None:
        """Always None: a freed attempt has no payment."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as JSON-safe data."""
        return _plain(self)


class ReceiptFilter(TypedDict, total=False):
    """Conditions on the receipts to list; a receipt must meet all of them."""

    state: ReceiptState
    # As in a URL: with the port, unless it is the default port of the scheme.
    host: str
    pay_to: str
    # The payment's mint: its address, or its pinned symbol.
    mint: str
    # Only receipts from this time on; milliseconds since the epoch.
    since: int
    # Only receipts before this time; milliseconds since the epoch.
    until: int


def read_receipt(json: Mapping[str, Any]) -> Receipt:
    """Reads a receipt from a journal of either language, without fields of later versions."""
    fields = _known_fields(json, Receipt._fields)
    fields["payment"] = PaidPayment(**_known_fields(json["payment"], PaidPayment._fields))
    fields["cost"] = _read_cost(json["cost"])
    if fields.get("swap") is not None:
        fields["swap"] = _read_swap(json["swap"])
    if fields.get("settlement") is not None:
        fields["settlement"] = Settlement(**_known_fields(json["settlement"], Settlement._fields))
    return Receipt(**fields)


def _read_swap(json: Mapping[str, Any]) -> PaidSwap:
    fields = _known_fields(json, PaidSwap._fields)
    if fields.get("relay_fee") is not None:
        fields["relay_fee"] = RelayFee(**_known_fields(fields["relay_fee"], RelayFee._fields))
    return PaidSwap(**fields)


def _read_cost(json: Mapping[str, Any]) -> Cost:
    fields = _known_fields(json, Cost._fields)
    if fields.get("parts") is not None:
        fields["parts"] = CostParts(**_known_fields(fields["parts"], CostParts._fields))
    return Cost(**fields)


def write(record: Any) -> dict[str, Any]:
    """Returns a record as the journals of both languages have it."""
    return _plain(record, camel)


def _known_fields(json: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    fields = {snake(name): value for name, value in json.items()}
    return {name: fields[name] for name in names if name in fields}


def _plain(record: Any, name_of: Callable[[str], str] = str) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in zip(cast("tuple[str, ...]", record._fields), record):
        if isinstance(value, tuple):
            plain[name_of(name)] = _plain(value, name_of)
        elif value is not None:
            # Not `Mapping`: a check against an abstract class is slow.
            is_mapping = isinstance(value, dict)
            plain[name_of(name)] = dict(cast("dict[str, Any]", value)) if is_mapping else value
    return plain
