"""Stage 7: rules on the swap instruction of a service. Pure."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .._base.network import TOKEN_PROGRAMS
from .._solana.address import Address
from .._solana.types import Instruction
from .._swap.types import SwapCall
from .decoders import Decoders, decode_swap, decoder_of, program_name
from .expected import SwapExpectation
from .rule import Rule, enforce

_MAX_ACCOUNTS = 128


class SwapSubject(NamedTuple):
    instruction: Instruction
    # None if the instruction cannot be decoded.
    call: SwapCall | None
    expected: SwapExpectation
    # The wallet's own account for the input, as `destination` is for the output.
    source: Address
    destination: Address


def swap_subject(instruction: Instruction, expected: SwapExpectation) -> SwapSubject:
    return SwapSubject(
        instruction,
        decode_swap(expected.decoders, instruction),
        expected,
        expected.own_account(expected.input_mint, expected.input_program),
        expected.own_account(expected.output_mint, expected.output_program),
    )


def check_swap(instruction: Instruction, expected: SwapExpectation) -> None:
    """Raises ``unsafe_swap`` unless the swap does what was agreed and nothing else.

    The exposure and simulation stages judge the state of the chain.
    """
    enforce(swap_rules(expected.decoders), swap_subject(instruction, expected))


def swap_rules(decoders: Decoders) -> Sequence[Rule[SwapSubject]]:
    """Returns the rules on the swap instruction in the order of their checks.

    Rules for any instruction come first, then rules of each program, then rules on the decoded
    swap.
    """
    program_rules = [
        Rule(rule.id, _for_program(decoder.program_id, rule))
        for decoder in decoders
        for rule in decoder.rules
    ]
    return (*_INSTRUCTION_RULES, *program_rules, *_CALL_RULES)


def _for_program(program: Address, rule: Rule[Instruction]) -> Callable[[SwapSubject], bool]:
    return lambda subject: (
        subject.instruction.program != program or rule.passes(subject.instruction)
    )


def _on_call(id_: str, passes: Callable[[SwapCall, SwapSubject], bool]) -> Rule[SwapSubject]:
    """Makes a rule on the decoded swap; an instruction that cannot be decoded breaks it."""
    return Rule(id_, lambda subject: subject.call is not None and passes(subject.call, subject))


def _wants_no_other_signer(subject: SwapSubject) -> bool:
    wallet = subject.expected.wallet
    return all(not meta.signer or meta.address == wallet for meta in subject.instruction.accounts)


def _writes_no_program(subject: SwapSubject) -> bool:
    decoders = subject.expected.decoders
    return all(
        not meta.writable or program_name(decoders, meta.address) is None
        for meta in subject.instruction.accounts
    )


def _names_input_program(call: SwapCall, subject: SwapSubject) -> bool:
    if call.source_program is None:
        return all(program in TOKEN_PROGRAMS for program in call.either_program)
    return call.source_program == subject.expected.input_program


_INSTRUCTION_RULES: Sequence[Rule[SwapSubject]] = (
    Rule(
        "swap_program",
        lambda subject: (
            decoder_of(subject.expected.decoders, subject.instruction.program) is not None
        ),
    ),
    Rule("swap_accounts", lambda subject: len(subject.instruction.accounts) <= _MAX_ACCOUNTS),
    Rule("extra_signer", _wants_no_other_signer),
    Rule("swap_programs", _writes_no_program),
)
_CALL_RULES: Sequence[Rule[SwapSubject]] = (
    _on_call("swap_user", lambda call, subject: call.user == subject.expected.wallet),
    _on_call("swap_source", lambda call, subject: call.source == subject.source),
    _on_call("swap_destination", lambda call, subject: call.destination == subject.destination),
    _on_call(
        "swap_destination_override",
        lambda call, subject: call.destination_override in (None, subject.destination),
    ),
    _on_call(
        "swap_input_mint",
        lambda call, subject: call.source_mint in (None, subject.expected.input_mint),
    ),
    _on_call(
        "swap_output_mint",
        lambda call, subject: call.destination_mint == subject.expected.output_mint,
    ),
    _on_call("swap_input_program", _names_input_program),
    _on_call(
        "swap_output_program",
        lambda call, subject: call.destination_program in (None, subject.expected.output_program),
    ),
    _on_call("fee_account", lambda call, _subject: call.fee_account is None),
    _on_call(
        "swap_max_in",
        lambda call, subject: call.in_amount > 0 and call.max_in <= subject.expected.max_in,
    ),
    _on_call("swap_min_out", lambda call, subject: call.min_out >= subject.expected.min_out),
    _on_call(
        "swap_slippage", lambda call, subject: call.slippage_bps <= subject.expected.slippage_bps
    ),
    _on_call("platform_fee", lambda call, _subject: call.platform_fee_bps == 0),
    _on_call("positive_slippage", lambda call, _subject: call.positive_slippage_bps == 0),
)
