"""What was found about a foreign transaction, in words and numbers."""

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
    """In lamports, as decimal text; the priority fee at most, rent for accounts that stay."""

    network: str
    priority: str
    rent: str


class CalledProgram(NamedTuple):
    """A program that a transaction calls; its name is None if it is not known."""

    address: str
    name: str | None


class RuleOutcome(NamedTuple):
    """What became of one rule."""

    id: str
    stage: str
    refuses: str
    why: str
    # `unchecked` if an earlier one was broken; the guard also if there is none.
    outcome: Literal["passed", "broken", "unchecked"]


class Recomposed(NamedTuple):
    """A swap that was composed anew, unsigned: base64."""

    transaction: str
    last_valid_block_height: str


class SwapVerdict(NamedTuple):
    """What a foreign swap transaction does to a wallet.

    Plain data, safe to show: no text in it comes from the transaction.
    """

    # Every rule passed.
    accepted: bool
    # The rule that it broke; None if it was accepted.
    broken: RuleText | None
    # A few sentences for a person.
    summary: str
    # At most; None if the transaction was refused before that was known, as are the next two.
    leaves: TokenAmount | None
    # At least.
    arrives: TokenAmount | None
    fees: SwapFees | None
    # Every program that it calls, with its name.
    programs: Sequence[CalledProgram]
    # It ends in instructions that hold it to this when it lands, whatever the venue does by then.
    # Without them the bounds are those of a simulation: sign `recomposed` instead.
    guarded: bool
    # All rules, in the order in which they are checked.
    rules: Sequence[RuleOutcome]
    # The same swap, taken out, composed anew and closed by the guard, unsigned; None if the swap
    # itself was refused, or it is guarded already.
    recomposed: Recomposed | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        fields: Mapping[str, Any] = value._asdict()
        return {name: _plain(one) for name, one in fields.items()}
    return [*map(_plain, cast("Sequence[Any]", value))] if isinstance(value, list) else value


def verdict_of(found: Inspection, network: str, decoders: Decoders) -> SwapVerdict:
    """Puts into words and numbers what was found."""
    broken, expected, call, costs = found.broken, found.expected, found.call, found.costs
    leaves = arrives = fees = None
    if expected is not None and call is not None:
        leaves = TokenAmount(expected.input_mint, str(call.max_in))
        arrives = TokenAmount(expected.output_mint, str(call.min_out))
    if costs is not None:
        fees = SwapFees(str(costs.network_fee), str(costs.priority_fee), str(costs.rent))
    called = dict.fromkeys(one.program for one in found.instructions)
    return SwapVerdict(
        broken is None,
        broken,
        _accepted(found, network) if broken is None else _refused(broken),
        leaves,
        arrives,
        fees,
        [CalledProgram(address, program_name(decoders, address)) for address in called],
        found.guarded,
        [
            RuleOutcome(*text, found.outcomes.get(text.id, "unchecked"))
            for text in RULE_TEXTS.values()
        ],
    )


def _refused(broken: RuleText) -> str:
    return f"Do not sign it: {broken.refuses} (rule {broken.id}). {broken.why}"


def _accepted(found: Inspection, network: str) -> str:
    expected, call, costs = found.expected, found.call, found.costs
    if expected is None or call is None or costs is None:
        raise TypeError("An accepted swap is known.")
    source, output = (one.account for one in costs.floors.tokens)
    takes = _text(expected.input_mint, call.max_in, source.decimals, network)
    brings = _text(expected.output_mint, call.min_out, output.decimals, network)
    rent = f" and {costs.rent} lamports of rent for accounts of its own" if costs.rent else ""
    holds = (
        "It ends in a guard that holds it to that when it lands."
        if found.guarded
        else "That is what it does in a simulation; nothing in it holds it to that when it lands."
    )
    return (
        f"It takes at most {takes} and brings at least {brings}, for up to "
        f"{costs.network_fee + costs.priority_fee} lamports of fees{rent}. {holds}"
    )


def _text(mint: Address, amount: int, decimals: int, network: str) -> str:
    """With the symbol of a pinned token: any other mint can call itself what it likes."""
    pinned = pinned_mint(network, mint)
    return f"{format_ui_amount(amount, decimals)} {mint if pinned is None else pinned.symbol}"
