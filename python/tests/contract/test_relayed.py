"""Calls of a relayer, outcomes of swaps that it paid for, and quotes within an approved price."""

from __future__ import annotations

from typing import Any, Mapping

from exact_change._base.headers import Headers
from exact_change._base.names import camel_keys
from exact_change._base.runtime import system_runtime
from exact_change._config.swap_request import ResolvedRequest
from exact_change._http.own import Answer, Request, TooLongError
from exact_change._kernel.hosts import threads
from exact_change._kernel.signals import Signal
from exact_change._kernel.steps import done
from exact_change._kernel.task import Steps
from exact_change._payments.quote_within import WorstPrice, quote_within
from exact_change._payments.reconcile.sent import sent_swap
from exact_change._payments.reconcile.swap_outcome import (
    Sides,
    failure_fee,
    own_fee,
    rent_in,
    swap_amounts_of,
)
from exact_change._solana.rpc.types import LandedTransaction, TokenBalanceChange
from exact_change._swap.relayer import Relayer, RelayerFacts
from exact_change._swap.types import SwapQuote
from exact_change.errors import ExactChangeError

from ..spec import of, plain, vectors

BYTES = b"\x01" + bytes(64) + b"\x80\xff"
USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
KNOWN = RelayerFacts(
    "GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse", "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"
)


class Canned:
    """An HTTP client that gives prepared answers in order."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers
        self.seen: list[Any] = []

    def send(self, request: Request, signal: Signal | None) -> Steps[Answer]:
        headers = dict(request.headers)
        seen = {
            "url": request.url,
            "key": headers.get("x-api-key"),
            "type": headers["content-type"],
            "body": request.body.decode(),
        }
        self.seen.append({name: value for name, value in seen.items() if value is not None})
        status, body, *wait = self.answers[len(self.seen) - 1]
        if len(body) > request.max_body:
            raise TooLongError
        pairs = [("retry-after", wait[0])] if wait else []
        return done(Answer(status, Headers(pairs), body.encode()))

    def close(self) -> Steps[None]:
        return done(None)


def outcome(steps: Steps[Any]) -> dict[str, Any]:
    try:
        return {"out": plain(threads.run(steps))}
    except ExactChangeError as error:
        return {"refused": error.code, "details": camel_keys(dict(error.details))}


def test_sends_the_bytes_of_typescript_to_a_relayer_and_reads_its_answer_alike() -> None:
    for row in of("relayed", "call"):
        http = Canned(row["answers"])
        key = "key" if len(row["answers"]) > 1 else None
        relayer = Relayer("https://kora.test/", key, http, 30_000, system_runtime)
        calls: dict[str, Steps[Any]] = {
            "facts": relayer.facts(None),
            "fee": relayer.fee(BYTES, USDC, KNOWN, None),
            "sign": relayer.sign(BYTES, KNOWN, None),
        }
        made = outcome(calls[row["call"]])
        if row["call"] == "fee" and "out" in made:
            made["out"] = str(made["out"])
        wanted = {name: row[name] for name in ("out", "refused", "details") if name in row}
        assert made == wanted, row
        assert http.seen == row["seen"]


def landed_of(row: Mapping[str, Any]) -> LandedTransaction:
    changes = [
        TokenBalanceChange(
            change["account"],
            change["mint"],
            int(change["before"]),
            int(change["after"]),
        )
        for change in row["tokenChanges"]
    ]
    lamports = {
        account: (int(change["before"]), int(change["after"]))
        for account, change in row["lamports"].items()
    }
    return LandedTransaction(
        row["slot"],
        row["error"],
        row["signatures"],
        int(row["feeLamports"]),
        changes,
        row["tellsTokens"],
        lamports,
    )


def test_reads_the_amounts_of_landed_swaps_as_typescript_does() -> None:
    """Some of these swaps were paid for by a relayer."""
    for row in of("relayed", "end"):
        swap, wallet, out = row["swap"], row["wallet"], row["out"]
        landed, is_relayed = landed_of(row["landed"]), "relay" in swap
        sides = Sides(
            swap["inputMint"], swap["outputMint"], swap["source"], swap["output"], is_relayed
        )
        taken, brought = swap_amounts_of(landed, wallet, sides)
        assert {
            "amounts": {"inAmount": str(taken), "outAmount": str(brought)},
            "fee": str(own_fee(landed, is_relayed)),
            "rent": as_text(rent_in(landed, wallet, sides)),
            "failureFee": as_text(failure_fee(landed, wallet, is_relayed)),
        } == {name: value for name, value in out.items() if name != "sent"}
        sent, wanted = sent_swap(swap, wallet), out["sent"]
        assert (sent.signature, sent.is_id, sent.claim, sent.mint) == (
            wanted["signature"],
            wanted["isId"],
            wanted.get("claim"),
            wanted.get("mint"),
        )
        assert (sent.slot, sent.blockhash_slot, str(sent.last_valid_block_height)) == (
            wanted["slot"],
            wanted["blockhashSlot"],
            wanted["lastValidBlockHeight"],
        )
        assert plain(sent.source) == wanted["source"]
        before = wanted.get("before")
        assert (None if sent.before is None else plain(sent.before)) == (
            None if before is None else {**before, "amount": int(before["amount"])}
        )


def as_text(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


def quote_of(row: Mapping[str, Any]) -> SwapQuote:
    return SwapQuote(
        row["inputMint"],
        row["outputMint"],
        row["swapMode"],
        row["inAmount"],
        row["outAmount"],
        row["minOutAmount"],
        row["maxInAmount"],
        row["slippageBps"],
        row["priceImpactBps"],
        row["platformFeeBps"],
        row["route"],
        row["provider"],
        row["quotedAt"],
        row["raw"],
    )


def test_keeps_quotes_within_the_approved_price_as_typescript_does() -> None:
    for row in vectors("approved"):
        slippages, request, worst = [], row["request"], row["worst"]
        quotes = [quote_of(quote) for quote in row["quotes"]]

        def ask(tighter: ResolvedRequest) -> Steps[SwapQuote]:
            slippages.append(tighter.slippage_bps)  # noqa: B023
            return done(quotes[len(slippages) - 1])  # noqa: B023

        mints = request["inputMint"], request["outputMint"]
        made = outcome(
            quote_within(
                ResolvedRequest(
                    *mints, int(request["amount"]), request["swapMode"], request["slippageBps"]
                ),
                WorstPrice(int(worst["maxInAmount"]), int(worst["minOutAmount"])),
                ask,
            )
        )
        assert slippages == [quote["slippageBps"] for quote in row["quotes"]]
        if "out" in row:
            assert made == {"out": plain(quote_of(row["out"]))}
        else:
            assert made == {"refused": row["refused"], "details": row["details"]}
