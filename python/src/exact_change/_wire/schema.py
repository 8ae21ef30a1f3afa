"""What values of strangers have to be.

Each schema says so by a rule: the end of a sentence that begins with the name of its field.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Sequence

from .._base.js import utf16_length
from .._base.json_types import is_list, is_number, is_record
from .._base.text import clean_text

# The value as it is taken; raises `Misfit`.
Schema = Callable[[Any], Any]
_SHOWN_PATH = 100
_SAFE = 2**53 - 1
# What JavaScript does not take for names of fields.
_FORBIDDEN = ("__proto__", "constructor", "prototype")


class Misfit(Exception):
    """A value that does not fit; where, and the rule that it breaks there, without the value."""

    def __init__(self, rule: str, steps: Sequence[str | int] = ()) -> None:
        super().__init__(rule)
        self.rule = rule
        self.steps = tuple(steps)

    @property
    def path(self) -> str:
        """Where, as in code: ``offers[0].amount``."""
        parts = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in self.steps)
        return clean_text("".join(parts).lstrip("."))[:_SHOWN_PATH]


class Maybe:
    """A field that may be missing."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema


def at(step: str | int, schema: Schema, value: Any) -> Any:
    """A part of a value."""
    try:
        return schema(value)
    except Misfit as misfit:
        raise Misfit(misfit.rule, (step, *misfit.steps)) from None


def shaped(
    rule: str, shape: str, longest: int, check: Callable[[str], bool] | None = None
) -> Schema:
    """Text of a shape."""
    pattern = re.compile(shape)

    def read(value: Any) -> Any:
        if not isinstance(value, str) or len(value) > longest or pattern.fullmatch(value) is None:
            raise Misfit(rule)
        if check is not None and not check(value):
            raise Misfit(rule)
        return value

    return read


def up_to(characters: int, rule: str) -> Schema:
    """Text of a length."""

    def read(value: Any) -> Any:
        if not isinstance(value, str) or utf16_length(value) > characters:
            raise Misfit(rule)
        return value

    return read


def words(value: Any) -> Any:
    """Words of others: shown at most, so they are made fit to be."""
    if not isinstance(value, str):
        raise Misfit("must be text.")
    return clean_text(value)


def within(least: int, most: int, rule: str | None = None) -> Schema:
    """A whole number."""
    said = rule or f"must be a whole number from {least} to {most}."

    def read(value: Any) -> Any:
        if not is_number(value) or value != int(value) or not least <= value <= most:
            raise Misfit(said)
        return int(value)

    return read


# Exact as a number: no such field is money.
count = within(0, _SAFE)


def finite(rule: str = "must be a number.") -> Schema:
    """Any number."""

    def read(value: Any) -> Any:
        if not is_number(value):
            raise Misfit(rule)
        return value

    return read


def one_of(values: Sequence[Any], rule: str = "must be one of a few.") -> Schema:
    """One of a few values; a bool is no number."""

    def read(value: Any) -> Any:
        for known in values:
            if value == known and isinstance(value, bool) == isinstance(known, bool):
                return known
        raise Misfit(rule)

    return read


def flag(value: Any) -> Any:
    """True or false."""
    if not isinstance(value, bool):
        raise Misfit("must be true or false.")
    return value


def anything(value: Any) -> Any:
    """Whatever it is."""
    return value


def list_of(schema: Schema, rule: str, most: int | None = None, many: str | None = None) -> Schema:
    """A list."""

    def read(value: Any) -> Any:
        if not is_list(value):
            raise Misfit(rule)
        if most is not None and len(value) > most:
            raise Misfit(many or rule)
        return [at(place, schema, one) for place, one in enumerate(value)]

    return read


def record_of(key: Schema, schema: Schema, rule: str, most: int) -> Schema:
    """An object whose keys are names of others."""

    def read(value: Any) -> Any:
        if not is_record(value):
            raise Misfit(rule)
        made = {
            at(name, key, name): at(name, schema, one)
            for name, one in value.items()
            if name not in _FORBIDDEN
        }
        if len(made) > most:
            raise Misfit(f"must have at most {most} entries.")
        return made

    return read


def object_of(
    fields: Mapping[str, Schema | Maybe], rule: str = "must be an object.", *, strict: bool = False
) -> Schema:
    """An object; what it does not name is left out, or refused if it is strict."""

    def read(value: Any) -> Any:
        # To JavaScript a list is an object, with nothing of what is asked for.
        given: Any = {} if is_list(value) and not strict else value
        if not is_record(given):
            raise Misfit(rule)
        made: dict[str, Any] = {}
        for name, field in fields.items():
            if name in given:
                schema = field.schema if isinstance(field, Maybe) else field
                made[name] = at(name, schema, given[name])
            elif not isinstance(field, Maybe):
                raise Misfit("is missing.", (name,))
        for name in given if strict else ():
            if name not in fields:
                raise Misfit("is not known. Check its spelling.", (name,))
        return made

    return read
