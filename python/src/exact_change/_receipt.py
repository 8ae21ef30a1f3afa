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
    # Our own signature on the payment: what proves it ours.
    payer_signature: str
    # Of a pinned mint alone: other tokens may call themselves anything.
    symbol: str | None = None
    # The transaction's id, set once our own node shows it.
    signature: str | None = None


class RelayFee(NamedTuple):
    """What a relayer took of a token, in base units."""

    mint: str
    amount: str


class PaidSwap(NamedTuple):
    """A swap that is confirmed."""

    signature: str
    input_mint: str
    in_amount: str
    output_mint: str
    out_amount: str
    provider: str
    # What a relayer took for paying the swap's fees and rents, if the wallet had too little SOL. It
    # is in the amounts above, and in the cost.
    relay_fee: RelayFee | None = None


class Cost(NamedTuple):
    """What a payment costs."""

    # What we paid in network fees (the facilitator pays the payment's own).
    network_fee_lamports: str
    # Rent of own token accounts that its swaps made and that stay.
    rent_lamports: str
    # US dollars as decimal text: all that left the wallet. None if the mint has no price.
    usd: str | None = None
    # What `usd` is made of.
    parts: CostParts | None = None


class Receipt(NamedTuple):
    """Our record of one payment."""

    id: str
    url: str
    method: str
    # Milliseconds since the epoch.
    at: int
    # `pending`: signed, and the chain has not decided yet, as is usual right after an answer.
    # `settled`: our own node shows the payment. `unsettled`: proved that it can never land.
    # `uncertain`: the answer was lost or is no success, and the chain has not decided.
    state: ReceiptState
    payment: PaidPayment
    cost: Cost
    # Milliseconds from the call to the end of each step.
    timings: Mapping[str, int]
    swap: PaidSwap | None = None
    # The seller's word, not proof.
    settlement: Settlement | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe."""
        return _plain(self)


class FreedCost(NamedTuple):
    """What swaps of an attempt took, or may take at most, which stays counted."""

    # Network fees, and rent of own token accounts that stay.
    lamports: str
    usd: str | None = None
    parts: CostParts | None = None


class FreedReceipt(NamedTuple):
    """Our record of an attempt that was freed: no payment was signed for it."""

    id: str
    url: str
    method: str
    at: int
    # `abandoned`: its price and its key are free, and a swap that it signed may still land.
    # `unpaid`: nothing more can come of it.
    state: Literal["abandoned", "unpaid"]
    cost: FreedCost
    # The swap that landed for it, if one did.
    swap: PaidSwap | None = None

    @property
    def payment(self) -> None:
        """There is none."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe."""
        return _plain(self)


class ReceiptFilter(TypedDict, total=False):
    """Which receipts to list; all that is given must hold."""

    state: ReceiptState
    # As in a URL: with its port if that is not the scheme's own.
    host: str
    pay_to: str
    # The address of the mint that was paid in.
    mint: str
    # From then on, and before then; milliseconds since the epoch.
    since: int
    until: int


def read_receipt(json: Mapping[str, Any]) -> Receipt:
    """A receipt as journals of both languages have it; what a later version adds is left out."""
    own = _own(json, Receipt._fields)
    own["payment"] = PaidPayment(**_own(json["payment"], PaidPayment._fields))
    own["cost"] = _read_cost(json["cost"])
    if own.get("swap") is not None:
        own["swap"] = _read_swap(json["swap"])
    if own.get("settlement") is not None:
        own["settlement"] = Settlement(**_own(json["settlement"], Settlement._fields))
    return Receipt(**own)


def _read_swap(json: Mapping[str, Any]) -> PaidSwap:
    own = _own(json, PaidSwap._fields)
    if own.get("relay_fee") is not None:
        own["relay_fee"] = RelayFee(**_own(own["relay_fee"], RelayFee._fields))
    return PaidSwap(**own)


def _read_cost(json: Mapping[str, Any]) -> Cost:
    own = _own(json, Cost._fields)
    if own.get("parts") is not None:
        own["parts"] = CostParts(**_own(own["parts"], CostParts._fields))
    return Cost(**own)


def write(record: Any) -> dict[str, Any]:
    """A record as journals of both languages have it."""
    return _plain(record, camel)


def _own(json: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    own = {snake(name): value for name, value in json.items()}
    return {name: own[name] for name in names if name in own}


def _plain(record: Any, name_of: Callable[[str], str] = str) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in zip(cast("tuple[str, ...]", record._fields), record):
        if isinstance(value, tuple):
            plain[name_of(name)] = _plain(value, name_of)
        elif value is not None:
            # Not `Mapping`, which is looked up by all that a type is made of.
            is_mapping = isinstance(value, dict)
            plain[name_of(name)] = dict(cast("dict[str, Any]", value)) if is_mapping else value
    return plain
