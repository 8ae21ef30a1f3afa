"""A client that pays for calls on Solana when an API answers ``402 Payment Required``."""

from __future__ import annotations

from ._async_client import AsyncClient
from ._base.network import SOLANA_DEVNET, SOLANA_MAINNET, SOLANA_TESTNET, WSOL_MINT
from ._client import Client
from ._events import Event, EventName
from ._inspect import InspectOptions, inspect_swap, inspect_swap_async
from ._interceptor import HTTPInterceptor
from ._journal.durable import DurableJournal
from ._journals import file_journal, postgres_journal
from ._receipt import Cost, FreedReceipt, PaidPayment, PaidSwap, Receipt, RelayFee
from ._receipt_text import explorer_url, format_receipt
from ._service import AsyncService, Service
from ._tied import receipt_of
from ._version import __version__
from ._x402.parse import parse_payment_required
from ._x402.types import PaymentRequired, Settlement
from .errors import (
    ConfigError,
    ExactChangeError,
    FundsError,
    Moved,
    PolicyError,
    ProtocolError,
    QuoteError,
    SettlementError,
    TransactionError,
    TransportError,
)

__all__ = [
    "SOLANA_DEVNET",
    "SOLANA_MAINNET",
    "SOLANA_TESTNET",
    "WSOL_MINT",
    "AsyncClient",
    "AsyncService",
    "Client",
    "ConfigError",
    "Cost",
    "DurableJournal",
    "Event",
    "EventName",
    "ExactChangeError",
    "FreedReceipt",
    "FundsError",
    "HTTPInterceptor",
    "InspectOptions",
    "Moved",
    "PaidPayment",
    "PaidSwap",
    "PaymentRequired",
    "PolicyError",
    "ProtocolError",
    "QuoteError",
    "Receipt",
    "RelayFee",
    "Service",
    "Settlement",
    "SettlementError",
    "TransactionError",
    "TransportError",
    "__version__",
    "explorer_url",
    "file_journal",
    "format_receipt",
    "inspect_swap",
    "inspect_swap_async",
    "parse_payment_required",
    "postgres_journal",
    "receipt_of",
]
