"""Names: snake_case in Python, camelCase in JSON that goes out or is kept."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Callable, cast

from .json_types import is_list, is_record

_UPPER = re.compile("[A-Z]")
_LOWER = re.compile("_([a-z])")
# Objects whose keys are names of others, or mints.
_FOREIGN = frozenset(("untrusted", "raw", "inputs", "extra", "headers", "limits"))


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """``payTo`` as ``pay_to``."""
    return _UPPER.sub(lambda letter: "_" + letter[0].lower(), name)


@lru_cache(maxsize=1024)
def camel(name: str) -> str:
    """``pay_to`` as ``payTo``."""
    return _LOWER.sub(lambda letter: letter[1].upper(), name)


def snake_keys(value: Any) -> Any:
    """JSON with all its own keys in snake_case."""
    return _renamed(value, snake)


def camel_keys(value: Any) -> Any:
    """The same the other way."""
    return _renamed(value, camel)


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    if is_record(value):
        return {
            rename(key): one if key in _FOREIGN else _renamed(one, rename)
            for key, one in value.items()
        }
    if is_list(value) or isinstance(value, tuple):
        return [_renamed(one, rename) for one in cast("list[Any]", value)]
    return value
