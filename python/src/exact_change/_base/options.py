"""Options of the caller's: a misspelt one, a cap above all, would silently be none."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, cast

from ..errors import ExactChangeError, failure


def refuse(option: str, rule: str) -> ExactChangeError:
    """The error for an option; ``rule`` completes the sentence."""
    return failure("invalid_option", f"Option {option} {rule}", {"option": option})


def refuse_unknown(
    given: object, names: Sequence[str], path: str | None = None
) -> Mapping[str, Any]:
    """The options, if all of them are known. ``path``: of the option that they are in."""
    if not isinstance(given, Mapping):
        raise refuse(path or "options", "must be a mapping.")
    options = cast("Mapping[str, Any]", given)
    prefix = f"{path}." if path else ""
    for name in options:
        if name in names:
            continue
        meant = _nearest(str(name), names)
        rule = f"Use one of {', '.join(names)}."
        if meant is not None:
            rule = f"Did you mean {prefix}{meant}? Correct its name."
        raise refuse(f"{prefix}{name}", f"is not known. {rule}")
    return options


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """A slip of the finger is two letters at most; in a short name, one."""
    distance, known = min((_distance(_letters(name), _letters(one)), one) for one in names)
    return known if distance <= min(2, len(name) // 3) else None


def _letters(name: str) -> str:
    """TypeScript writes the same names in camelCase."""
    return name.lower().replace("_", "").replace("-", "")


def _distance(one: str, other: str) -> int:
    """How many letters to put in, take out or change (Levenshtein)."""
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one):
        above, row[0] = row[0], index + 1
        for at, theirs in enumerate(other):
            above, row[at + 1] = (
                row[at + 1],
                min(row[at + 1] + 1, row[at] + 1, above + (letter != theirs)),
            )
    return row[-1]
