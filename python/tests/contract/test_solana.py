from __future__ import annotations

from typing import Any

from exact_change._base.network import SOLANA_MAINNET, pinned_mint
from exact_change._payments.fingerprint import nonce_for
from exact_change._payments.supported_mint import judge_mint
from exact_change._solana.address import is_address
from exact_change._solana.compile import compile_message
from exact_change._solana.keys import KeySigner, key_signer, seed_signer, verify_signature
from exact_change._solana.message import (
    assemble_transaction,
    decode_message,
    decode_transaction,
    resolve_instructions,
)
from exact_change._solana.rpc.types import Account
from exact_change._solana.tables import read_table
from exact_change._solana.tokens import (
    associated_token_address,
    decode_mint,
    decode_token_account,
    uncounted_lamports,
)
from exact_change._solana.types import LookupTable
from exact_change._swap.read_facts import account_bytes
from exact_change.errors import ExactChangeError

from ..spec import data, of, plain, vectors
from .rows import instruction_of


def test_compiles_messages_byte_for_byte_as_typescript_does() -> None:
    for row in vectors("messages"):
        tables = [
            LookupTable(table["address"], table["addresses"]) for table in row["lookupTables"]
        ]
        instructions = [instruction_of(instruction) for instruction in row["instructions"]]
        try:
            message = compile_message(row["feePayer"], instructions, row["blockhash"], tables)
        except ExactChangeError as error:
            assert error.code == row["refused"]
            continue
        assert message == data(row["message"])
        decoded = decode_message(message)
        assert decoded is not None
        resolved = resolve_instructions(decoded, tables)
        assert (resolved is not None) == row["resolves"]


def test_decodes_transactions_as_strictly_as_typescript_does() -> None:
    for row in vectors("transactions"):
        read = decode_transaction(data(row["bytes"]))
        if read is None:
            assert row["out"] is None
            continue
        message = read.decoded
        out = {
            "header": plain(message.header),
            "staticAccounts": plain(message.static_accounts),
            "blockhash": message.blockhash,
            "lookups": plain(message.lookups),
            "instructions": len(message.instructions),
        }
        assert out == row["out"]
        pairs = zip(message.static_accounts, read.signatures)
        assert assemble_transaction(read.message, dict(pairs)) == data(row["bytes"])


def outcome(make: Any, secret: object) -> dict[str, str]:
    try:
        signer: KeySigner = make(secret)
    except ExactChangeError as error:
        assert error.code == "invalid_key"
        reason: str = error.details["reason"]
        # TypeScript spells the option in camel case.
        return {"reason": reason.replace("wallet_seed", "walletSeed")}
    return {"address": signer.address}


def test_accepts_and_refuses_keys_as_typescript_does() -> None:
    for row in of("keys", "secret"):
        assert outcome(key_signer, row["in"]) == row["out"], row
    for row in of("keys", "seed"):
        out = outcome(seed_signer, data(row["in"]))
        expected = row["out"].get("reason", "").replace("a Uint8Array of 32 bytes", "32 bytes")
        assert out == row["out"] or out["reason"] == expected


def test_makes_and_verifies_signatures_as_typescript_does() -> None:
    for row in of("keys", "sign"):
        signer = seed_signer(data(row["seed"]))
        assert signer.sign_message(data(row["message"]), {}) == data(row["signature"])
    for row in of("keys", "verify"):
        is_valid = verify_signature(data(row["message"]), data(row["signature"]), row["address"])
        assert is_valid == row["out"], row
    for row in of("keys", "address"):
        assert is_address(row["in"]) == row["out"], row


def test_decodes_mints_and_token_accounts_as_typescript_does() -> None:
    for row in of("tokens", "mint"):
        mint = decode_mint(Account(row["owner"], 0, data(row["data"])))
        if mint is None:
            assert row["out"] is None
            continue
        assert plain(mint) == row["out"]
        assert account_bytes(mint) == row["bytes"]
        judged = row["judged"]
        pinned = pinned_mint(SOLANA_MAINNET, "PYUSD") if judged["pinned"] else None
        refusal = judge_mint(judged["address"], mint, pinned)
        assert (refusal and dict(refusal.details)) == judged.get("reason"), row
    for row in of("tokens", "account"):
        account = Account(row["owner"], int(row["lamports"]), data(row["data"]))
        held = decode_token_account(account)
        if held is None:
            assert row["out"] is None
            continue
        out = row["out"]
        assert plain(held) == {**out, "amount": int(out["amount"])}
        assert uncounted_lamports(account, held) == int(row["uncounted"])
    for row in of("tokens", "derived"):
        assert associated_token_address(row["owner"], row["mint"], row["program"]) == row["out"]
    assert pinned_mint("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "PYUSD") is not None


def test_reads_lookup_tables_as_typescript_does() -> None:
    for row in of("tokens", "table"):
        out = row["out"]
        account = Account(row["owner"], 0, data(row["data"]))
        (address, keys), state = read_table(out["address"], account, row["slot"])
        assert {"address": address, "state": state, "addresses": list(keys)} == out


def test_makes_nonces_as_typescript_does() -> None:
    for row in of("keys", "nonce"):
        request = row["in"]
        nonce = nonce_for(request["url"], request.get("idempotencyKey"), lambda size: b"\7" * size)
        assert nonce == data(row["out"]), row
