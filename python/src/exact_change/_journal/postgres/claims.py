"""Claims that end with the connection of their process."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Sequence, TypeVar

from ..._kernel.steps import background, quiet
from ..._kernel.task import Steps
from ..types import Along
from .connection import Query
from .database import Database
from .keys import digest
from .session import Session
from .statements import Statements

T = TypeVar("T")


class SharedClaims:
    """Of one process."""

    def __init__(self, database: Database, statements: Statements) -> None:
        self.session: Session
        self._database = database
        self._statements = statements
        # Unlike that of any other process.
        self._instance = os.urandom(16).hex()
        self._mine: dict[str, None] = {}

    @property
    def is_any(self) -> bool:
        """Whether anything is claimed."""
        return bool(self._mine)

    def take(self, ids: Sequence[str]) -> Steps[None]:
        """Claims attempts."""
        names = list(map(digest, ids))
        self._mine.update(dict.fromkeys(names))
        try:
            yield from self.session.run("claim", self._writing(names))
        except Exception:
            self._leave(names)
            raise

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        """Lets go of them."""
        names = list(map(digest, ids))
        self._leave(names)
        values = [names, self._instance]
        text = self._statements["unclaim"]
        yield from self.session.run("unclaim", lambda query, _: query(text, values))

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        """Those of some attempts that are claimed."""
        named = {digest(id_): id_ for id_ in ids}
        values = [list(named), self._instance]
        rows = yield from self._database.query("claims", self._statements["liveClaims"], values)
        own = {id_ for name, id_ in named.items() if name in self._mine}
        return own | {named[row["id"]] for row in rows}

    def along(
        self,
        along: Along,
        write: Callable[[Mapping[str, Any]], Steps[T]],
        is_done: Callable[[T], bool],
    ) -> Steps[T]:
        """Claims and lets go in one step with a write, which is given what to write of it."""
        names, dropped = list(map(digest, along.claim)), list(map(digest, along.drop))
        self._mine.update(dict.fromkeys(names))
        try:
            holder = (yield from self._holder_now()) if names else None
            self._leave(dropped)
            beside: dict[str, Any] = {"claim": names, "drop": dropped, "instance": self._instance}
            if along.spend is not None:
                beside["spend"] = {"account": along.spend[0], "slot": along.spend[1]}
            if along.free:
                beside["free"] = list(along.free)
            if holder is not None:
                beside["holder"] = holder
            result = yield from write(beside)
        except Exception:
            self._leave(names)
            raise
        if not is_done(result):
            self._leave(names)
        # Another connection may have put them in its own name meanwhile, which this undid.
        elif names and self.session.holder != holder:
            yield from background(quiet(self.session.run("claim", self._writing(names))))
        return result

    def restore(self, query: Query, holder: str) -> None:
        """On a new connection, before any other call uses it."""
        mine = list(self._mine)
        query(self._statements["claim"], [mine, self._instance, holder])
        # A process that lost its connection and has not got another one yet writes its claims
        # again, as above.
        query(self._statements["endClaims"], [self._instance, mine])

    def clear(self, direct: Database) -> Steps[None]:
        """Takes back all that this process claims."""
        if self._mine:
            values = [self._instance]
            yield from direct.query("unclaim", self._statements["unclaimAll"], values)

    def _holder_now(self) -> Steps[str]:
        holder = self.session.holder
        if holder is not None:
            return holder
        return (yield from self.session.run("claim", lambda _, own: own))

    def _writing(self, names: Sequence[str]) -> Callable[[Query, str], object]:
        def write(query: Query, holder: str) -> None:
            still = [name for name in names if name in self._mine]
            query(self._statements["claim"], [still, self._instance, holder])

        return write

    def _leave(self, names: Sequence[str]) -> None:
        for name in names:
            self._mine.pop(name, None)
