"""Faults of nodes, and the errors that callers get for them."""

from __future__ import annotations

import re
from typing import Sequence

from typing_extensions import Literal

from ..._base.network import CLUSTERS
from ..._base.urls import parse_address
from ...errors import ExactChangeError, failure

Kind = Literal[
    # No answer, or an answer that says "not now".
    "unavailable",
    "rate_limited",
    "timeout",
    # An answer with another shape than the method returns.
    "invalid",
    # A JSON-RPC error that the same question will get again.
    "refused",
    # The node serves another network.
    "foreign",
]
# The kind that says most comes first.
_ORDER: Sequence[Kind] = (
    *("foreign", "refused", "rate_limited"),
    *("invalid", "timeout", "unavailable"),
)


class Fault(Exception):
    """Why one node did not answer one call. Callers see a ``TransportError``."""

    def __init__(
        self,
        kind: Kind,
        reason: str,
        *,
        retry_after_ms: float | None = None,
        said: str | None = None,
        code: int | None = None,
        networks: tuple[str, str] | None = None,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind: Kind = kind
        # Our own part of a sentence: "it answered with status 503".
        self.reason = reason
        self.retry_after_ms = retry_after_ms
        # The node's own text.
        self.said = said
        self.code = code
        # The expected and the actual network.
        self.networks = networks
        # The node's host, as far as it may be shown.
        self.host: str | None = None
        self.__cause__ = cause

    @property
    def is_transient(self) -> bool:
        """Whether another try may succeed."""
        return self.kind not in ("refused", "foreign")

    def later(self, retry_after_ms: float) -> Fault:
        """Returns this fault for a later call."""
        fault = Fault(self.kind, self.reason, retry_after_ms=retry_after_ms)
        fault.host = self.host
        return fault


# JSON-RPC errors that the request itself causes: no other node and no second try changes them.
_REFUSALS = frozenset((-32600, -32601, -32602, -32002, -32003, -32006, -32013, -32015))
# Error codes that some providers send instead of status 429.
_RATE_LIMITS = frozenset((429, -32429, -32029))
# The node's refusal of a transaction whose version is above the greatest that is asked for.
NEWER_VERSION = -32015
# Pause after a rate limit that does not say how long it lasts.
_DEFAULT_RETRY_MS = 1_000
_PUBLIC = re.compile(r"api\.(?:mainnet-beta|devnet|testnet)\.solana\.com")
# The limit of the public node, as its operator states it (November 2026).
_PUBLIC_LIMITS = (
    " The public node serves one address about 100 requests in 10 seconds, 40 of them of one "
    "method: for more, set an rpc_url of your own."
)


def json_rpc_fault(code: int, said: str | None) -> Fault:
    kind: Kind = "unavailable"
    if code in _RATE_LIMITS:
        kind = "rate_limited"
    elif code in _REFUSALS:
        kind = "refused"
    return Fault(kind, f"it answered with JSON-RPC error {code}", code=code, said=said)


def late() -> Fault:
    """Returns the fault of a node that does not answer in time."""
    return Fault("timeout", "it did not answer in time")


def worst_fault(faults: Sequence[Fault]) -> Fault:
    """Returns the fault that says most among the faults of several nodes."""
    if not faults:
        return Fault("unavailable", "no node was asked")
    return min(faults, key=lambda fault: _ORDER.index(fault.kind))


def shown_host(url: str) -> str | None:
    """Returns the host of a node's address to show; only two labels of a customer's own host."""
    address = parse_address(url)
    if address is None:
        return None
    labels = address.hostname.split(".")
    is_number = re.fullmatch(r"[\d.]+|\[.*", address.hostname) is not None
    if len(labels) < 3 or is_number or _PUBLIC.fullmatch(address.hostname) is not None:
        return address.host
    return f"*.{'.'.join(labels[-2:])}"


def to_error(fault: Fault, method: str, timeout_ms: float) -> ExactChangeError:
    """Returns the error that the caller gets for a fault."""
    node = "The RPC node" if fault.host is None else f"The RPC node ({fault.host})"
    limits = _PUBLIC_LIMITS if _PUBLIC.fullmatch(fault.host or "") is not None else ""
    more = {
        "cause": fault.__cause__,
        "untrusted": {} if fault.said is None else {"rpc": fault.said},
    }
    if fault.kind == "rate_limited":
        wait = round(fault.retry_after_ms or _DEFAULT_RETRY_MS)
        return failure(
            "rate_limited",
            f"{node} limits how often it is asked ({method}); try again in {wait} ms, or set "
            f"another rpc_url.{limits}",
            {"retry_after_ms": wait},
            **more,
        )
    if fault.kind == "timeout":
        return failure(
            "timeout",
            f"{node} did not answer {method} within {timeout_ms:g} ms; try again, or set another "
            "rpc_url.",
            {"step": method, "timeout_ms": timeout_ms},
            **more,
        )
    if fault.kind == "invalid":
        return failure(
            "invalid_response",
            f"{node} gave an answer to {method} that cannot be used: {fault.reason}; set another "
            "rpc_url.",
            {"service": "rpc", "reason": fault.reason},
            **more,
        )
    if fault.kind == "foreign":
        return wrong_network(*(fault.networks or ("", "")), node)
    return failure(
        "rpc_unavailable",
        f"{node} did not serve {method}: {fault.reason}; try again, or set another rpc_url."
        f"{limits}",
        {"method": method},
        **more,
    )


def wrong_network(expected: str, actual: str, node: str = "The RPC node") -> ExactChangeError:
    """Returns the error for a node that serves another network than the client's."""
    served, own = CLUSTERS.get(actual, actual), CLUSTERS.get(expected, expected)
    return failure(
        "rpc_wrong_network",
        f"{node} serves {served}, but the client is set to {own}. Correct rpc_url or network.",
        {"expected": expected, "actual": actual},
    )
