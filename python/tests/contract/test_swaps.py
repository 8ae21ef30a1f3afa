from __future__ import annotations

from typing import Any, Callable, Mapping

from exact_change._base.names import camel_keys
from exact_change._firewall.guard import OwnAccount
from exact_change._firewall.self_check import check_composed
from exact_change._jupiter.answer import read_quote
from exact_change._jupiter.layout import decode_jupiter
from exact_change._jupiter.refusal import refusal_of
from exact_change._solana.tokens import TokenAccount
from exact_change._solana.types import AccountMeta, Instruction
from exact_change._swap.budget import ComputeBudget
from exact_change._swap.candidates import (
    CandidateChoice,
    Holding,
    Holdings,
    order_candidates,
)
from exact_change._swap.check_quote import check_quote
from exact_change._swap.compose import SwapFacts, compose_swap
from exact_change._swap.types import QuoteIntent, ReservedAmounts
from exact_change.errors import ExactChangeError

from ..spec import data, of, plain, vectors
from .rows import expected_of, instruction_of, relay_of

JUPITER = "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"
AMOUNTS = ("inAmount", "outAmount", "maxIn", "minOut")


def test_decodes_swap_instructions_as_typescript_does() -> None:
    for row in vectors("instructions"):
        accounts = [AccountMeta(address, False, False) for address in row["accounts"]]
        read = decode_jupiter(Instruction(JUPITER, accounts, data(row["data"])))
        if read is None:
            assert row["out"] is None
            continue
        out = {name: value for name, value in row["out"].items() if value is not None}
        programs = out.pop("self"), out.pop("eventAuthority")
        assert (read.program, read.event_authority) == programs
        amounts = {name: int(out[name]) for name in AMOUNTS}
        assert plain(read.call) == {"eitherProgram": [], **out, **amounts}


def own_account(row: Mapping[str, Any]) -> OwnAccount:
    amounts = (int(row[name]) for name in ("balance", "uncounted", "lamports"))
    names = ("address", "mint", "tokenProgram", "decimals", "exists")
    return OwnAccount._make([*(row[name] for name in names), *amounts])


def reserved_of(row: Mapping[str, Any]) -> ReservedAmounts:
    return ReservedAmounts(int(row["input"]), int(row["output"]))


def facts_of(row: Mapping[str, Any]) -> SwapFacts:
    names = (
        "lamports",
        "walletMinimum",
        "sourceRent",
        "outputRent",
        "sourceExcess",
        "outputExcess",
    )
    accounts = own_account(row["source"]), own_account(row["output"])
    reserved = reserved_of(row["reserved"]), reserved_of(row["leeway"])
    return SwapFacts._make([*accounts, *(int(row[name]) for name in names), *reserved])


def test_composes_swaps_byte_for_byte_as_typescript_does() -> None:
    for row in vectors("compositions"):
        expected, swap = expected_of(row["expected"]), instruction_of(row["instruction"])
        compute = ComputeBudget(row["compute"]["unitLimit"], int(row["compute"]["unitPrice"]))
        facts = facts_of(row["facts"])
        try:
            draft = compose_swap(
                expected, swap, facts, row["keepWrapped"], compute, row["blockhash"], ()
            )
        except ExactChangeError as error:
            assert (error.code, camel_keys(dict(error.details))) == (row["refused"], row["details"])
            continue
        out = row["out"]
        assert draft.message == data(out["message"])
        assert draft.floors.lamports == int(out["floors"]["lamports"])
        assert [floor.least for floor in draft.floors.tokens] == [*map(int, out["floors"]["least"])]
        budget = {name: int(value) for name, value in out["budget"].items()}
        assert plain(draft.budget) == budget
        assert draft.leeway == reserved_of(out["leeway"])
        assert (draft.swap_at, draft.guard_from) == (out["swapAt"], out["guardFrom"])
        relayed = out.get("other", {})
        for variant, check in (
            (expected, out["check"]),
            (expected._replace(relay=relay_of(relayed)), relayed.get("check")),
        ):
            if check is not None:
                result = outcome(
                    lambda: check_composed(draft.message, variant, swap, draft.floors, (), 10**12)  # noqa: B023
                )
                assert {"out": None, **result} == {"out": None, **check}


def intent_of(row: Mapping[str, Any]) -> QuoteIntent:
    mints = row["inputMint"], row["outputMint"]
    return QuoteIntent(*mints, int(row["amount"]), row["swapMode"], row["slippageBps"])


def outcome(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"out": work()}
    except ExactChangeError as error:
        return {"refused": error.code, "details": camel_keys(dict(error.details))}


def test_reads_and_checks_quotes_as_typescript_does() -> None:
    for row in of("quotes", "quote"):
        intent = intent_of(row["intent"])
        read = outcome(lambda: read_quote(row["raw"], intent, "jupiter-v1", 7))  # noqa: B023
        if "out" not in read:
            assert read == row["read"], row
            continue
        quote = read["out"]
        shown = {**plain(quote), "priceImpactBps": quote.price_impact_bps}
        assert shown == row["read"]["out"], row
        checked = outcome(lambda: check_quote(quote, intent))  # noqa: B023
        assert {**checked, "out": None} == {**row["checked"], "out": None}, row


def test_maps_refusals_of_jupiter_to_the_errors_of_typescript() -> None:
    for row in of("quotes", "refusal"):
        mints = row["out"]["details"].get("inputMint", "in"), "out"
        error = refusal_of(row["status"], row["body"].encode(), *mints)
        out = row["out"]
        assert (error.code, error.retry, dict(error.untrusted)) == (
            out["code"],
            out["retry"],
            out["untrusted"],
        )


def test_orders_candidate_tokens_as_typescript_does() -> None:
    for row in vectors("candidates"):
        holdings, choice = row["holdings"], row["choice"]
        tokens = [
            Holding(token["address"], token_of(token["account"])) for token in holdings["tokens"]
        ]
        found = order_candidates(
            Holdings(holdings["network"], holdings["wallet"], int(holdings["lamports"]), tokens),
            CandidateChoice(
                choice["outputMint"],
                int(choice["keepLamports"]),
                choice.get("swapFrom"),
                {mint: int(amount) for mint, amount in choice["reserved"].items()},
            ),
        )
        assert [(candidate.mint, str(candidate.available)) for candidate in found] == [
            (candidate["mint"], candidate["available"]) for candidate in row["out"]
        ]


def token_of(row: Mapping[str, Any]) -> TokenAccount:
    return TokenAccount(
        row["tokenProgram"],
        row["mint"],
        row["owner"],
        int(row["amount"]),
        row.get("delegate"),
        row.get("closeAuthority"),
        row["state"],
        row["isNative"],
        row["extensions"],
        row["requiresMemo"],
        has_cpi_guard=row.get("hasCpiGuard"),
    )
