"""Rules: each is one thing that is refused before a signature, by a stable id of ``spec/``."""

from __future__ import annotations

from typing import Callable, Generic, NamedTuple, Sequence, TypeVar

from .._spec import table
from ..errors import ExactChangeError, failure

T = TypeVar("T")


class RuleText(NamedTuple):
    """What a person reads of a rule."""

    id: str
    stage: str
    # The end of the sentence "The swap was refused: ...".
    refuses: str
    # What could be done to the wallet without it, as a sentence.
    why: str


RULE_TEXTS: dict[str, RuleText] = {
    one["id"]: RuleText(one["id"], one["stage"], one["refuses"], one["why"])
    for one in table("firewall")
}


class Rule(Generic[T]):
    """A rule, and what passes it."""

    __slots__ = ("passes", "text")

    def __init__(self, id_: str, passes: Callable[[T], bool]) -> None:
        self.text = RULE_TEXTS[id_]
        self.passes = passes

    @property
    def id(self) -> str:
        """Its stable id."""
        return self.text.id


def refusal(text: RuleText) -> ExactChangeError:
    """The error of a rule. Swaps that break one are not worth repeating as they are."""
    return failure(
        "unsafe_swap",
        f"The swap was refused: {text.refuses} (rule {text.id}). Nothing was signed; take another "
        "quote, or another token to swap from.",
        {"rule": text.id},
    )


def broken_by(rules: Sequence[Rule[T]], subject: T) -> Rule[T] | None:
    """The first rule that the subject breaks."""
    return next((rule for rule in rules if not rule.passes(subject)), None)


def enforce(rules: Sequence[Rule[T]], subject: T) -> None:
    """Raises for the first rule that the subject breaks."""
    broken = broken_by(rules, subject)
    if broken is not None:
        raise refusal(broken.text)
