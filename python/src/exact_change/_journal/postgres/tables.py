"""Makes the tables if they are missing, and upgrades tables of an older version."""

from __future__ import annotations

from ..._kernel.task import Steps
from ...errors import failure
from .connection import Query
from .database import Database
from .failures import has_outbox
from .keys import lock_key
from .statements import VERSION, Statements


def prepare_tables(database: Database, statements: Statements) -> Steps[None]:
    """Makes or upgrades the tables.

    Raises ``ConfigError`` (``invalid_option``) if a newer version made them, and
    ``missing_dependency`` if the schema keeps events for webhooks.
    """
    schema = statements.schema

    def look(query: Query) -> str | None:
        if not query(statements["hasTables"], [schema]):
            return None
        return query(statements["version"], [])[0].get("version", "none")

    def make(query: Query) -> str | None:
        query(statements["lockOwner"], [key])
        before = look(query)
        if before is None:
            # Create a schema only if it is missing: "if not exists" also needs the right to create.
            if not query(statements["hasSchema"], [schema]):
                query(f'create schema "{schema}"')
            query(statements.create)
        elif before in statements.upgrades:
            query(statements.upgrades[before])
        return look(query)

    key = lock_key(schema, "tables")
    # Look first, which needs no right to create: another user may have made the tables.
    found = yield from database.use("tables", look)
    if found is None or found in statements.upgrades:
        found = yield from database.transaction("tables", key, make)
    if found != VERSION:
        raise failure(
            "invalid_option",
            f"The journal's tables in schema {schema} have version {found}, and this copy of "
            f"exact-change knows version {VERSION}. Use copies of one version everywhere. "
            "Another schema would know none of its payments.",
            {"option": "schema"},
        )
    values = [statements.endpoints]
    (row,) = yield from database.query("tables", statements["hasOutbox"], values)
    if "name" in row:
        raise has_outbox(schema)
