"""Puts the findings about a foreign transaction into words and numbers."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence, cast

from typing_extensions import Literal

from .._base.amounts import format_ui_amount
from .._base.network import pinned_mint
from .._solana.address import Address
from .decoders import Decoders, program_name
from .inspect import Inspection
from .rule import RULE_TEXTS, RuleText


class TokenAmount(NamedTuple):
    """An amount of a token in base units, as decimal text."""

    mint: str
    amount: str


class SwapFees(NamedTuple):
    """Lamports as decimal text: the priority fee at most, and the rent for accounts that stay."""

    network: str
    priority: str
    rent: str


class CalledProgram(NamedTuple):
    """A program that a transaction calls; its name is None if it is not known."""

    address: str
    name: str | None


class RuleOutcome(NamedTuple):
    """A rule and the result of its check."""

    id: str
    stage: str
    refuses: str
    why: str
    # `unchecked` if an earlier rule was broken. `guard` also if the transaction has no guard.
    outcome: Literal["passed", "broken", "unchecked"]


class Recomposed(NamedTuple):
    """An unsigned transaction with the same swap, composed anew."""

    # Base64 of the unsigned v0 transaction.
    transaction: str
    # Decimal text.
    last_valid_block_height: str


class SwapVerdict(NamedTuple):
    """What a foreign swap transaction does to a wallet.

    Plain data, safe to show: no text in it comes from the transaction.
    """

    # Whether every rule passed.
    accepted: bool
    # The rule that the transaction broke; None if it was accepted.
    broken: RuleText | None
    # The verdict in a few sentences for a person.
    summary: str
    # The most that leaves the wallet. Like `arrives` and `fees`, None if the transaction was
    # refused before the amount was known.
    leaves: TokenAmount | None
    # The least that arrives.
    arrives: TokenAmount | None
    fees: SwapFees | None
    # Every program that the transaction calls, with its name if it is known.
    programs: Sequence[CalledProgram]
    # Whether the transaction ends in instructions that enforce these amounts when it lands,
    # whatever the venue does by then. If not, only a simulation shows them: sign `recomposed`.
    guarded: bool
    # All rules, in the order in which they are checked. If the guard stops the simulation, the
    # stages `simulation` and `inner` stay `unchecked`.
    rules: Sequence[RuleOutcome]
    # An unsigned transaction with the same swap, composed anew and closed by the guard. None if the
    # original is guarded, or if its swap was refused or cannot be composed.
    recomposed: Recomposed | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the verdict as JSON-safe data."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        fields: Mapping[str, Any] = value._asdict()
        return {name: _plain(field) for name, field in fields.items()}
    return [*map(_plain, cast("Sequence[Any]", value))] if isinstance(value, list) else value


def verdict_of(findings: Inspection, network: str, decoders: Decoders) -> SwapVerdict:
    """Puts the findings into words and numbers."""
    broken, expected, call, costs = (
        findings.broken,
        findings.expected,
        findings.call,
        findings.costs,
    )
    leaves = arrives = fees = None
    if expected is not None and call is not None:
        leaves = TokenAmount(expected.input_mint, str(call.max_in))
        arrives = TokenAmount(expected.output_mint, str(call.min_out))
    if costs is not None:
        fees = SwapFees(str(costs.network_fee), str(costs.priority_fee), str(costs.rent))
    called = dict.fromkeys(instruction.program for instruction in findings.instructions)
    return SwapVerdict(
        broken is None,
        broken,
        _accepted(findings, network) if broken is None else _refused(broken),
        leaves,
        arrives,
        fees,
        [CalledProgram(address, program_name(decoders, address)) for address in called],
        findings.guarded,
        [
            RuleOutcome(*text, findings.outcomes.get(text.id, "unchecked"))
            for text in RULE_TEXTS.values()
        ],
    )


def _refused(broken: RuleText) -> str:
    return f"Do not sign it: {broken.refuses} (rule {broken.id}). {broken.why}"


def _accepted(findings: Inspection, network: str) -> str:
    expected, call, costs = findings.expected, findings.call, findings.costs
    if expected is None or call is None or costs is None:
        raise TypeError("An accepted swap is known.")
    source, output = (token.account for token in costs.floors.tokens)
    takes = _text(expected.input_mint, call.max_in, source.decimals, network)
    brings = _text(expected.output_mint, call.min_out, output.decimals, network)
    rent = f" and {costs.rent} lamports of rent for accounts of its own" if costs.rent else ""
    holds = (
        "It ends in a guard that holds it to that when it lands."
        if findings.guarded
        else "That is what it does in a simulation; nothing in it holds it to that when it lands."
    )
    return (
        f"It takes at most {takes} and brings at least {brings}, for up to "
        f"{costs.network_fee + costs.priority_fee} lamports of fees{rent}. {holds}"
    )


def _text(mint: Address, amount: int, decimals: int, network: str) -> str:
    """Returns an amount with the symbol of a pinned token, else with the mint.

    Other mints can claim any symbol.
    """
    pinned = pinned_mint(network, mint)
    return f"{format_ui_amount(amount, decimals)} {mint if pinned is None else pinned.symbol}"
