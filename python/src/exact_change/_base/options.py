"""Checks of the caller's options: without them, a misspelt cap would silently not apply."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, Sequence, cast

from ..errors import ExactChangeError, failure


def refuse(option: str, rule: str, kind: str = "Option") -> ExactChangeError:
    """Returns the error for an option; ``rule`` completes the sentence."""
    return failure("invalid_option", f"{kind} {option} {rule}", {"option": option})


def refuse_unknown(
    value: object,
    names: Sequence[str],
    path: str | None = None,
    inner: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Mapping[str, Any]:
    """Returns the options; raises ``invalid_option`` for a name that is not in ``names``.

    ``path`` is the option that holds this mapping, such as ``policy``. ``inner`` has the options
    that these options hold, by name: an option of them may stand too high.
    """
    if not isinstance(value, Mapping):
        raise refuse(path or "options", "must be a mapping.")
    options = cast("Mapping[str, Any]", value)
    prefix = f"{path}." if path else ""
    for name in options:
        if name in names:
            continue
        meant = _held(str(name), inner) or nearest(str(name), names)
        raise refuse(f"{prefix}{name}", rule_of_names(names, meant and f"{prefix}{meant}"))
    return options


def rule_of_names(names: Sequence[str], meant: str | None) -> str:
    """Returns the rest of a sentence about an unknown name: which known name to use instead."""
    if meant is None:
        return f"is not known. Use one of {', '.join(names)}."
    return f"is not known. Did you mean {meant}? Correct its name."


def _held(name: str, inner: Mapping[str, Sequence[str]]) -> str | None:
    """Returns the path of an option that stands too high."""
    return next(
        (
            f"{holder}.{known}"
            for holder, names in inner.items()
            for known in names
            if _letters(known) == _letters(name)
        ),
        None,
    )


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Returns the known name that differs by two letters at most, in a short name by one."""
    distance, known = min((_distance(_letters(name), _letters(known)), known) for known in names)
    return known if distance <= min(2, len(name) // 3) else None


def _letters(name: str) -> str:
    """Drops case and separators, because TypeScript writes the same names in camelCase."""
    return name.lower().replace("_", "").replace("-", "")


def _distance(source: str, target: str) -> int:
    """Returns how many letters to insert, remove or change (Levenshtein)."""
    row = list(range(len(target) + 1))
    for index, letter in enumerate(source):
        above, row[0] = row[0], index + 1
        for at, target_letter in enumerate(target):
            above, row[at + 1] = (
                row[at + 1],
                min(row[at + 1] + 1, row[at] + 1, above + (letter != target_letter)),
            )
    return row[-1]
