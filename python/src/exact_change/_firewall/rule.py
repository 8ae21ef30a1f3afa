"""Rules of the firewall: each refuses a swap before the signature, by a stable id of ``spec/``."""

from __future__ import annotations

from typing import Callable, Generic, NamedTuple, Sequence, TypeVar

from .._spec import table
from ..errors import ExactChangeError, failure

T = TypeVar("T")


class RuleText(NamedTuple):
    """The texts of a rule, for people."""

    id: str
    stage: str
    # The end of the sentence "The swap was refused: ...".
    refuses: str
    # The harm to the wallet that the rule prevents, as a sentence.
    why: str


RULE_TEXTS: dict[str, RuleText] = {
    row["id"]: RuleText(row["id"], row["stage"], row["refuses"], row["why"])
    for row in table("firewall")
}


class Rule(Generic[T]):
    """A rule: its texts, and the check of a subject."""

    __slots__ = ("passes", "text")

    def __init__(self, id_: str, passes: Callable[[T], bool]) -> None:
        self.text = RULE_TEXTS[id_]
        self.passes = passes

    @property
    def id(self) -> str:
        return self.text.id


def refusal(text: RuleText) -> ExactChangeError:
    """Returns the error for a broken rule. An equal swap would break the rule again."""
    return failure(
        "unsafe_swap",
        f"The swap was refused: {text.refuses} (rule {text.id}). Nothing was signed; take another "
        "quote, or another token to swap from.",
        {"rule": text.id},
    )


def broken_by(rules: Sequence[Rule[T]], subject: T) -> Rule[T] | None:
    """Returns the first rule that the subject breaks; None if it passes all rules."""
    return next((rule for rule in rules if not rule.passes(subject)), None)


def enforce(rules: Sequence[Rule[T]], subject: T) -> None:
    """Raises ``unsafe_swap`` for the first rule that the subject breaks."""
    broken = broken_by(rules, subject)
    if broken is not None:
        raise refusal(broken.text)
