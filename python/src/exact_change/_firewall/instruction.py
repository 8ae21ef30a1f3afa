"""Stage 7: the one swap instruction that is taken from a service. Pure."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAMS
from .._solana.address import Address
from .._solana.types import Instruction
from .._swap.types import SwapCall
from .decoders import Decoders, decode_swap, decoder_of, program_name
from .expected import SwapExpectation
from .rule import RULE_TEXTS, Rule, enforce, refusal

_MAX_ACCOUNTS = 128


class SwapSubject(NamedTuple):
    """What the rules look at; the wallet's own accounts for both."""

    instruction: Instruction
    call: SwapCall | None
    expected: SwapExpectation
    source: Address
    destination: Address


def swap_subject(instruction: Instruction, expected: SwapExpectation) -> SwapSubject:
    """A swap instruction, and what it is held against."""
    return SwapSubject(
        instruction,
        decode_swap(expected.decoders, instruction),
        expected,
        expected.own_account(expected.input_mint, expected.input_program),
        expected.own_account(expected.output_mint, expected.output_program),
    )


def check_swap(instruction: Instruction, expected: SwapExpectation) -> SwapCall:
    """Refuses a swap (``unsafe_swap``) unless it does what was agreed and nothing else."""
    subject = swap_subject(instruction, expected)
    enforce(swap_rules(expected.decoders), subject)
    if subject.call is None:
        raise refusal(RULE_TEXTS["swap_program"])
    return subject.call


def swap_rules(decoders: Decoders) -> Sequence[Rule[SwapSubject]]:
    """In order: what holds of any instruction, of its own program's, and of what it says."""
    own = [
        Rule(rule.id, _for_program(decoder.program_id, rule))
        for decoder in decoders
        for rule in decoder.rules
    ]
    return (*_INSTRUCTION_RULES, *own, *_CALL_RULES)


def _for_program(program: Address, rule: Rule[Instruction]) -> Callable[[SwapSubject], bool]:
    return lambda one: one.instruction.program != program or rule.passes(one.instruction)


def _on(id_: str, passes: Callable[[SwapCall, SwapSubject], bool]) -> Rule[SwapSubject]:
    """A rule on what the instruction says: one that cannot be read passes none."""
    return Rule(id_, lambda one: one.call is not None and passes(one.call, one))


def _wants_no_other_signer(one: SwapSubject) -> bool:
    wallet = one.expected.wallet
    return all(not meta.signer or meta.address == wallet for meta in one.instruction.accounts)


def _writes_no_program(one: SwapSubject) -> bool:
    decoders = one.expected.decoders
    return all(
        not meta.writable or program_name(decoders, meta.address) is None
        for meta in one.instruction.accounts
    )


def _names_input_program(call: SwapCall, one: SwapSubject) -> bool:
    if call.source_program is None:
        return all(program in TOKEN_PROGRAMS for program in call.either_program)
    return call.source_program == one.expected.input_program


_INSTRUCTION_RULES: Sequence[Rule[SwapSubject]] = (
    Rule(
        "swap_program",
        lambda one: decoder_of(one.expected.decoders, one.instruction.program) is not None,
    ),
    Rule("swap_accounts", lambda one: len(one.instruction.accounts) <= _MAX_ACCOUNTS),
    Rule("extra_signer", _wants_no_other_signer),
    Rule("swap_programs", _writes_no_program),
)
_CALL_RULES: Sequence[Rule[SwapSubject]] = (
    _on("swap_user", lambda call, one: call.user == one.expected.wallet),
    _on("swap_source", lambda call, one: call.source == one.source),
    _on("swap_destination", lambda call, one: call.destination == one.destination),
    _on(
        "swap_destination_override",
        lambda call, one: call.destination_override in (None, one.destination),
    ),
    _on("swap_input_mint", lambda call, one: call.source_mint in (None, one.expected.input_mint)),
    _on("swap_output_mint", lambda call, one: call.destination_mint == one.expected.output_mint),
    _on("swap_input_program", _names_input_program),
    _on(
        "swap_output_program",
        lambda call, one: call.destination_program in (None, one.expected.output_program),
    ),
    _on("fee_account", lambda call, _one: call.fee_account is None),
    _on("swap_max_in", lambda call, one: call.in_amount > 0 and call.max_in <= one.expected.max_in),
    _on("swap_min_out", lambda call, one: call.min_out >= one.expected.min_out),
    _on("swap_slippage", lambda call, one: call.slippage_bps <= one.expected.slippage_bps),
    _on("platform_fee", lambda call, _one: call.platform_fee_bps == 0),
    _on("positive_slippage", lambda call, _one: call.positive_slippage_bps == 0),
)
