"""Reads and checks the options of a relayer."""

from __future__ import annotations

from typing import NamedTuple

from typing_extensions import TypedDict

from .._base.hidden import Hidden
from .._base.options import refuse_unknown
from .._policy.read import read_usd
from .addresses import parse_service_url
from .keys import parse_key


class RelayerOptions(TypedDict, total=False):
    """A service that signs as fee payer of swaps, by the JSON-RPC of Kora."""

    # Address of the relayer's JSON-RPC.
    url: str
    # The relayer's key, if it needs one: sent only to the relayer, as `x-api-key`.
    api_key: str
    # US dollars as decimal text that the relayer may take for one swap; default "0.50".
    max_fee: str


class RelayerConfig(NamedTuple):
    """Options of a relayer, checked."""

    url: Hidden
    api_key: Hidden | None
    # Millionths of a US dollar.
    max_fee: int


def parse_relayer(options: object) -> RelayerConfig | None:
    """Reads the options of a relayer. Raises ``ConfigError`` (``invalid_option``)."""
    if options is None:
        return None
    values = refuse_unknown(options, tuple(RelayerOptions.__annotations__), "relayer")
    return RelayerConfig(
        parse_service_url("relayer.url", values.get("url")),
        parse_key("relayer.api_key", values.get("api_key")),
        read_usd("relayer.max_fee", values.get("max_fee", "0.50")),
    )
