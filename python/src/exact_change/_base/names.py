"""Names: snake_case in Python, camelCase in JSON that is sent or stored."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Callable, cast

from .json_types import is_list, is_record

_UPPER = re.compile("[A-Z]")
_LOWER = re.compile("_([a-z])")
# Objects in these fields keep their keys: the keys are mints, or come from outside this library.
_FOREIGN = frozenset(("untrusted", "raw", "inputs", "extra", "headers", "limits"))


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """Converts ``payTo`` to ``pay_to``."""
    return _UPPER.sub(lambda letter: "_" + letter[0].lower(), name)


@lru_cache(maxsize=1024)
def camel(name: str) -> str:
    """Converts ``pay_to`` to ``payTo``."""
    return _LOWER.sub(lambda letter: letter[1].upper(), name)


def snake_keys(value: Any) -> Any:
    """Returns the JSON value with this library's own keys in snake_case."""
    return _with_keys(value, snake)


def camel_keys(value: Any) -> Any:
    """Returns the JSON value with this library's own keys in camelCase."""
    return _with_keys(value, camel)


def _with_keys(value: Any, rename: Callable[[str], str]) -> Any:
    if is_record(value):
        return {
            rename(key): member if key in _FOREIGN else _with_keys(member, rename)
            for key, member in value.items()
        }
    if is_list(value) or isinstance(value, tuple):
        return [_with_keys(entry, rename) for entry in cast("list[Any]", value)]
    return value
