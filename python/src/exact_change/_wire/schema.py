"""Schemas that check untrusted values.

The rule of a schema completes a sentence that begins with the name of the field.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Sequence

from .._base.js import MAX_SAFE, utf16_length
from .._base.json_types import is_list, is_number, is_record
from .._base.text import clean_text

# Returns the checked value; raises `Misfit`.
Schema = Callable[[Any], Any]
_SHOWN_PATH = 100
# Names that JavaScript does not take as names of fields.
_FORBIDDEN = ("__proto__", "constructor", "prototype")


class Misfit(Exception):
    """A value that does not fit: the path of the misfit, and the rule that it breaks.

    Neither path nor rule quotes the value.
    """

    def __init__(self, rule: str, steps: Sequence[str | int] = ()) -> None:
        super().__init__(rule)
        self.rule = rule
        self.steps = tuple(steps)

    @property
    def path(self) -> str:
        """The path of the misfit, as in code: ``offers[0].amount``."""
        parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        return clean_text("".join(parts).lstrip("."))[:_SHOWN_PATH]


class Maybe:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema


def at(step: str | int, schema: Schema, value: Any) -> Any:
    """Checks a part of a value, and adds its step to the path of a misfit."""
    try:
        return schema(value)
    except Misfit as misfit:
        raise Misfit(misfit.rule, (step, *misfit.steps)) from None


def shaped(
    rule: str, shape: str, longest: int, check: Callable[[str], bool] | None = None
) -> Schema:
    """Creates a schema for text of a shape."""
    pattern = re.compile(shape)

    def read(value: Any) -> Any:
        if not isinstance(value, str) or len(value) > longest or pattern.fullmatch(value) is None:
            raise Misfit(rule)
        if check is not None and not check(value):
            raise Misfit(rule)
        return value

    return read


def text_up_to(characters: int, rule: str) -> Schema:
    """Creates a schema for text of limited length."""

    def read(value: Any) -> Any:
        if not isinstance(value, str) or utf16_length(value) > characters:
            raise Misfit(rule)
        return value

    return read


def words(value: Any) -> Any:
    """Checks text from the other side. It is only ever shown, so it is cleaned."""
    if not isinstance(value, str):
        raise Misfit("must be text.")
    return clean_text(value)


def within(least: int, most: int, rule: str | None = None) -> Schema:
    """Creates a schema for a whole number."""
    broken = rule or f"must be a whole number from {least} to {most}."

    def read(value: Any) -> Any:
        if not is_number(value) or value != int(value) or not least <= value <= most:
            raise Misfit(broken)
        return int(value)

    return read


# A whole number that JSON carries exactly; no such field is money.
count = within(0, MAX_SAFE)


def finite(rule: str = "must be a number.") -> Schema:
    """Creates a schema for any number."""

    def read(value: Any) -> Any:
        if not is_number(value):
            raise Misfit(rule)
        return value

    return read


def one_of(values: Sequence[Any], rule: str = "must be one of a few.") -> Schema:
    """Creates a schema for a few values; a bool is no number."""

    def read(value: Any) -> Any:
        for known in values:
            if value == known and isinstance(value, bool) == isinstance(known, bool):
                return known
        raise Misfit(rule)

    return read


def flag(value: Any) -> Any:
    if not isinstance(value, bool):
        raise Misfit("must be true or false.")
    return value


def anything(value: Any) -> Any:
    return value


def list_of(schema: Schema, rule: str, most: int | None = None, many: str | None = None) -> Schema:
    """Creates a schema for a list of at most ``most`` items, with ``many`` as the rule on that."""

    def read(value: Any) -> Any:
        if not is_list(value):
            raise Misfit(rule)
        if most is not None and len(value) > most:
            raise Misfit(many or rule)
        return [at(index, schema, item) for index, item in enumerate(value)]

    return read


def record_of(key: Schema, schema: Schema, rule: str, most: int) -> Schema:
    """Creates a schema for an object with keys that the other side chooses."""

    def read(value: Any) -> Any:
        # Like the TypeScript library, take a list as an object with its positions as keys.
        record: Any = {str(n): entry for n, entry in enumerate(value)} if is_list(value) else value
        if not is_record(record):
            raise Misfit(rule)
        entries = {
            at(name, key, name): at(name, schema, field)
            for name, field in record.items()
            if name not in _FORBIDDEN
        }
        if len(entries) > most:
            raise Misfit(f"must have at most {most} entries.")
        return entries

    return read


def object_of(
    fields: Mapping[str, Schema | Maybe], rule: str = "must be an object.", *, strict: bool = False
) -> Schema:
    """Creates a schema for an object. Unknown fields are left out, or refused if it is strict."""

    def read(value: Any) -> Any:
        # Like the TypeScript library, take a list as an object without fields.
        record: Any = {} if is_list(value) and not strict else value
        if not is_record(record):
            raise Misfit(rule)
        checked: dict[str, Any] = {}
        for name, field in fields.items():
            if name in record:
                schema = field.schema if isinstance(field, Maybe) else field
                checked[name] = at(name, schema, record[name])
            elif not isinstance(field, Maybe):
                raise Misfit("is missing.", (name,))
        for name in record if strict else ():
            if name not in fields:
                raise Misfit("is not known. Check its spelling.", (name,))
        return checked

    return read
