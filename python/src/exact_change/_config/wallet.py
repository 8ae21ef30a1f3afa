"""The wallet that pays, given in one of three ways."""

from __future__ import annotations

from typing import Any, Mapping, cast

from solders.keypair import Keypair

from .._base.options import refuse
from .._solana.address import is_address
from .._solana.keys import AnySigner, key_signer, seed_signer

_WAYS = ("wallet_seed", "signer", "wallet_secret_key")


def parse_signer(options: Mapping[str, Any]) -> AnySigner:
    """Raises ``ConfigError`` (``invalid_option``, ``invalid_key``)."""
    given = [name for name in _WAYS if options.get(name) is not None]
    if len(given) > 1:
        raise refuse(given[0], f"and {given[1]} exclude each other. Give one.")
    if given == ["wallet_seed"]:
        return seed_signer(options["wallet_seed"])
    if given == ["signer"]:
        return _read_signer(options["signer"])
    # In a comparison of bytes with text, Python may warn.
    secret = options.get("wallet_secret_key")
    if secret is None or (isinstance(secret, str) and not secret):
        raise refuse("wallet_secret_key", "is missing. Give the wallet key, or a signer.")
    return key_signer(secret)


def _read_signer(signer: Any) -> AnySigner:
    """A ``Keypair`` of solders, or what has an address and signs."""
    if isinstance(signer, Keypair):
        return key_signer(bytes(signer))
    address: object = getattr(signer, "address", None)
    ways = ("sign_message", "sign_transaction")
    if is_address(address) and any(callable(getattr(signer, way, None)) for way in ways):
        return cast("AnySigner", signer)
    raise refuse(
        "signer",
        "must have an address and sign_message or sign_transaction, or be a Keypair of solders.",
    )
