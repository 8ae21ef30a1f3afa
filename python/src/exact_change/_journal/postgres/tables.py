"""Makes the tables if they are missing, and brings those of an older version up to this one."""

from __future__ import annotations

from ..._kernel.task import Steps
from ...errors import failure
from .connection import Query
from .database import Database
from .failures import has_outbox
from .keys import lock_key
from .statements import VERSION, Statements


def prepare_tables(database: Database, statements: Statements) -> Steps[None]:
    """Raises ``ConfigError`` (``invalid_option``) if a newer version made them.

    ``missing_dependency`` if events are kept there.
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
            # Asked only if it is missing: "if not exists" too wants the right to create schemas.
            if not query(statements["hasSchema"], [schema]):
                query(f'create schema "{schema}"')
            query(statements.create)
        elif before in statements.upgrades:
            query(statements.upgrades[before])
        return look(query)

    key = lock_key(schema, "tables")
    # Looked at without any right to create: the tables may have been made by another user.
    found = yield from database.use("tables", look)
    if found is None or found in statements.upgrades:
        found = yield from database.transaction("tables", key, make)
    if found != VERSION:
        raise failure(
            "invalid_option",
            f"The journal's tables in schema {schema} have version {found}, and this copy of "
            f"exact-change knows version {VERSION}. Use copies of one version everywhere, or name "
            "another schema.",
            {"option": "schema"},
        )
    values = [statements.endpoints]
    (row,) = yield from database.query("tables", statements["hasOutbox"], values)
    if "name" in row:
        raise has_outbox(schema)
