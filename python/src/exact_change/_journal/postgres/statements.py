"""The SQL statements of `spec/` for the tables of a schema."""

from __future__ import annotations

import re
from typing import Any

from ..._base.options import refuse
from ..._spec import table

_SPEC: Any = table("postgres")
# Names that are safe between quotes. Postgres cuts names of more than 63 letters.
_SCHEMA = re.compile("[a-z_][a-z0-9_]{0,62}")
VERSION = str(_SPEC["version"])
_PARAMETER = re.compile(r"\$([0-9]+)")


class Statements:
    """The SQL statements for a schema. Raises ``ConfigError`` (``invalid_option``) for its name."""

    def __init__(self, schema: object) -> None:
        if (
            not isinstance(schema, str)
            or _SCHEMA.fullmatch(schema) is None
            or schema.startswith("pg_")
        ):
            raise refuse(
                "schema",
                "must be at most 63 lower-case letters, digits and underscores, not starting with "
                "a digit or pg_.",
            )
        self.schema = schema
        self.create = self._in_schema(_SPEC["create"])
        self.upgrades = {
            version: self._in_schema(text) for version, text in _SPEC["upgrades"].items()
        }
        self.endpoints = self._in_schema(_SPEC["endpoints"])
        texts = {name: self._in_schema(text) for name, text in _SPEC["statements"].items()}
        self.texts = texts
        self._parameters = max(map(int, _PARAMETER.findall(texts["reserve"])))

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def reserve(self, times: int) -> str:
        """Returns a statement that reserves several attempts in order, and gives a row for each."""

        def call(first: int) -> str:
            return _PARAMETER.sub(lambda found: f"${int(found[1]) + first}", self["reserve"])

        return " union all ".join(call(time * self._parameters) for time in range(times))

    def _in_schema(self, text: str) -> str:
        return text.replace("{schema}", self.schema)
