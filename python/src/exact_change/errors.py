"""The errors that this library raises on purpose. They tell the state of the money."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, NamedTuple, Sequence

from typing_extensions import Literal

from ._base.redact import redact_error
from ._base.text import clean_text
from ._spec import table

# State of the caller's money when an error was raised.
# `untouched`: no transaction of ours landed or can still land. `swapped`: a swap landed, and
# nothing was paid. `uncertain`: a transaction that we signed left this process and may still land.
# `spent`: the payment landed on chain.
Funds = Literal["untouched", "swapped", "uncertain", "spent"]
# What a repeated call does. `never`: it fails again without a change. `same`: it presents the same
# signed bytes again. `fresh`: it starts over.
Retry = Literal["never", "same", "fresh"]
ErrorCode = Literal[
    "invalid_option",
    "invalid_key",
    "missing_dependency",
    "client_closed",
    "idempotency_mismatch",
    "malformed_payment_required",
    "unsupported_offer",
    "unsupported_network",
    "no_payable_offer",
    "insecure_origin",
    "body_not_replayable",
    "header_too_large",
    "amount_over_limit",
    "budget_exhausted",
    "price_unknown",
    "not_allowed",
    "approval_refused",
    "fees_over_limit",
    "insufficient_funds",
    "insufficient_sol",
    "payee_account_missing",
    "account_unusable",
    "unknown_mint",
    "mint_not_supported",
    "no_route",
    "price_impact_too_high",
    "swap_overhead_too_high",
    "quote_mismatch",
    "unsafe_swap",
    "transaction_too_large",
    "simulation_failed",
    "self_check_failed",
    "signing_failed",
    "swap_failed",
    "swap_expired",
    "swap_uncertain",
    "payment_rejected",
    "payment_uncertain",
    "payment_in_progress",
    "already_spent",
    "journal_unavailable",
    "journal_locked",
    "journal_damaged",
    "rpc_unavailable",
    "rpc_wrong_network",
    "jupiter_unavailable",
    "service_unavailable",
    "rate_limited",
    "timeout",
    "invalid_response",
]


class Moved(NamedTuple):
    """A transaction of ours that landed. Amounts are decimal strings of base units."""

    kind: Literal["swap", "payment"]
    signature: str
    input_mint: str | None = None
    in_amount: str | None = None
    output_mint: str | None = None
    out_amount: str | None = None

    def to_dict(self) -> dict[str, str]:
        """Returns the transaction as JSON-safe data, without unknown fields."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class ExactChangeError(Exception):
    """Base of every error that this library raises on purpose.

    >>> try:
    ...     client.get("https://api.example.com/premium")
    ... except ExactChangeError as error:
    ...     if error.code == "insufficient_funds":
    ...         print(error.details["required"])
    ...     print(error.funds, error.retry)
    """

    code: ErrorCode
    # Details of the error, by its code; names in snake_case; JSON-safe.
    details: Mapping[str, Any]
    funds: Funds
    # Every transaction of ours that landed; empty if `funds` is "untouched".
    moved: tuple[Moved, ...]
    retry: Retry
    # Text from a seller or a service, cleaned and capped; never part of the message.
    untrusted: Mapping[str, str]
    # The response that led to the error, if there is one. Never printed or pickled.
    response: Any

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        funds: Funds = "untouched",
        moved: Sequence[Moved] = (),
        retry: Retry | None = None,
        cause: BaseException | None = None,
        untrusted: Mapping[str, str] | None = None,
        response: Any = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.details = MappingProxyType(dict(details or {}))
        self.funds = funds
        self.moved = tuple(moved)
        self.retry = retry or _CODES[code]["retry"]
        self.untrusted = MappingProxyType(
            {name: clean_text(text) for name, text in (untrusted or {}).items()}
        )
        self.response = response
        self.__cause__ = redact_error(cause)

    @property
    def message(self) -> str:
        """What happened, and what to do next."""
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Returns the error as JSON-safe data: no cause, no response."""
        fields = {
            "name": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "funds": self.funds,
            "moved": [transaction.to_dict() for transaction in self.moved],
            "retry": self.retry,
            "details": dict(self.details),
        }
        return {**fields, "untrusted": dict(self.untrusted)} if self.untrusted else fields

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_dict(),)


class ConfigError(ExactChangeError):
    """The caller's own arguments are wrong."""


class ProtocolError(ExactChangeError):
    """This library cannot read or cannot pay the terms that the seller sent."""


class PolicyError(ExactChangeError):
    """The caller's own policy forbids the payment or the swap."""


class FundsError(ExactChangeError):
    """The wallet or the payee lacks what the payment needs."""


class QuoteError(ExactChangeError):
    """No offered swap is acceptable."""


class TransactionError(ExactChangeError):
    """A transaction of ours could not be built or signed, or did not land."""


class SettlementError(ExactChangeError):
    """A signed payment left this process, and the seller's answer to it is not a success."""


class TransportError(ExactChangeError):
    """An RPC node, Jupiter, a service or a journal did not answer, or not properly."""


_CODES: dict[str, Any] = table("errors")["codes"]
_CLASSES: dict[str, type[ExactChangeError]] = {
    class_.__name__: class_
    for class_ in (
        *(ConfigError, ProtocolError, PolicyError, FundsError),
        *(QuoteError, TransactionError, SettlementError, TransportError),
    )
}


def failure(
    code: ErrorCode, message: str, details: Mapping[str, Any] | None = None, **more: Any
) -> ExactChangeError:
    """Creates an error of the class of its code."""
    return _CLASSES[_CODES[code]["class"]](code, message, details, **more)


def is_code(error: object, *codes: ErrorCode) -> bool:
    """Whether a value is an error of this library with one of these codes."""
    return isinstance(error, ExactChangeError) and error.code in codes


def amended(
    error: ExactChangeError, moved: Sequence[Moved] = (), response: Any = None
) -> ExactChangeError:
    """Returns a copy of an error with facts that were not known when it was raised.

    These are our transactions that had landed before it (``funds`` then says so), and the response
    that led to it. A copy, because several calls may share a failure, and only some of them moved
    anything.
    """
    known = {entry.signature for entry in error.moved}
    landed = [*(entry for entry in moved if entry.signature not in known), *error.moved]
    funds: Funds = error.funds
    # A transaction that may still land outweighs transactions that landed.
    if funds not in ("uncertain", "spent") and landed:
        funds = "spent" if any(entry.kind == "payment" for entry in landed) else "swapped"
    copy = type(error)(
        error.code,
        error.message,
        error.details,
        funds=funds,
        moved=landed,
        retry=error.retry,
        untrusted=error.untrusted,
        response=error.response if error.response is not None else response,
    )
    copy.__cause__ = error.__cause__
    return copy.with_traceback(error.__traceback__)


def _restored(fields: dict[str, Any]) -> ExactChangeError:
    """Returns a pickled error from the data of its ``to_dict``."""
    moved = [Moved(**entry) for entry in fields["moved"]]
    return failure(
        fields["code"],
        fields["message"],
        fields["details"],
        funds=fields["funds"],
        moved=moved,
        retry=fields["retry"],
        untrusted=fields.get("untrusted"),
    )
