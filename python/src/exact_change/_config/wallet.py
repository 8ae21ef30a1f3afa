"""Reads the signer of the paying wallet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Mapping, cast

from solders.keypair import Keypair

from .._base.options import refuse
from .._solana.address import is_address
from .._solana.keys import AnySigner, key_signer, seed_signer

_WAYS = ("wallet_seed", "signer", "wallet_secret_key")


def parse_signer(options: Mapping[str, Any]) -> AnySigner:
    """Returns the signer of the paying wallet, which the options give in one of three ways.

    Raises ``ConfigError`` (``invalid_option``, ``invalid_key``).
    """
    given = [name for name in _WAYS if options.get(name) is not None]
    if len(given) > 1:
        raise refuse(given[0], f"excludes {given[1]}. Give one.")
    if given == ["wallet_seed"]:
        return seed_signer(options["wallet_seed"])
    if given == ["signer"]:
        return _read_signer(options["signer"])
    # Compare only text with text, because Python may warn if bytes are compared with text.
    secret = options.get("wallet_secret_key")
    if secret is None or (isinstance(secret, str) and not secret):
        raise refuse("wallet_secret_key", "is missing. Give the wallet key, or a signer.")
    return key_signer(secret)


def _read_signer(signer: Any) -> AnySigner:
    """Reads a ``Keypair`` of solders, or an object with an address and a method that signs."""
    if isinstance(signer, Keypair):
        return key_signer(bytes(signer))
    address: object = getattr(signer, "address", None)
    found = {name: getattr(signer, name, None) for name in ("sign_message", "sign_transaction")}
    methods = {name: method for name, method in found.items() if callable(method)}
    if is_address(address) and methods:
        # Keep the address: a wallet may change it with its account, and caps are by wallet.
        return cast("AnySigner", SimpleNamespace(address=address, **methods))
    raise refuse(
        "signer",
        "must have an address and sign_message or sign_transaction, or be a Keypair of solders.",
    )
