"""Claims that live as long as the session of the process that made them."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Sequence, TypeVar

from ..._kernel.task import Steps
from ..types import Along
from .connection import Query
from .database import Database
from .keys import digest
from .session import Session
from .statements import Statements

T = TypeVar("T")


class SharedClaims:
    def __init__(self, database: Database, statements: Statements) -> None:
        self.session: Session
        self._database = database
        self._statements = statements
        # A unique id of this process's journal.
        self._instance = os.urandom(16).hex()
        self._mine: dict[str, None] = {}

    @property
    def is_any(self) -> bool:
        return bool(self._mine)

    def take(self, ids: Sequence[str]) -> Steps[None]:
        names = list(map(digest, ids))
        self._mine.update(dict.fromkeys(names))
        try:
            yield from self.session.run("claim", self._writing(names))
        except Exception:
            self._leave(names)
            raise

    def drop(self, ids: Sequence[str]) -> Steps[None]:
        names = list(map(digest, ids))
        self._leave(names)
        values = [names, self._instance]
        text = self._statements["unclaim"]
        yield from self.session.run("unclaim", lambda query, _holder, _pid: query(text, values))

    def live(self, ids: Sequence[str]) -> Steps[set[str]]:
        by_name = {digest(id_): id_ for id_ in ids}
        values = [list(by_name), self._instance]
        rows = yield from self._database.query("claims", self._statements["liveClaims"], values)
        mine = {id_ for name, id_ in by_name.items() if name in self._mine}
        return mine | {by_name[row["id"]] for row in rows}

    def along(
        self,
        along: Along,
        write: Callable[[Mapping[str, Any]], Steps[T]],
        is_done: Callable[[T], bool],
    ) -> Steps[T]:
        """Runs a write that takes or releases claims.

        ``write`` gets ``along`` as the stored functions take it. If ``is_done`` says that the write
        was not done, the claims do not stay.
        """
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
        return result

    def restore(self, query: Query, holder: str) -> None:
        """Writes the claims of this process again: another process may have deleted them."""
        mine = list(self._mine)
        query(self._statements["claim"], [mine, self._instance, holder])
        # This may delete the claims of a process that lost its connection. That process writes its
        # claims again once it has a new connection.
        query(self._statements["endClaims"], [self._instance, mine])

    def clear(self, direct: Database) -> Steps[None]:
        """Releases all claims of this process."""
        if self._mine:
            values = [self._instance]
            yield from direct.query("unclaim", self._statements["unclaimAll"], values)

    def _holder_now(self) -> Steps[str]:
        holder = self.session.holder
        if holder is not None:
            return holder
        return (yield from self.session.run("claim", lambda _query, holder, _pid: holder))

    def _writing(self, names: Sequence[str]) -> Callable[[Query, str, str], object]:
        def write(query: Query, holder: str, _pid: str) -> None:
            mine = [name for name in names if name in self._mine]
            query(self._statements["claim"], [mine, self._instance, holder])

        return write

    def _leave(self, names: Sequence[str]) -> None:
        for name in names:
            self._mine.pop(name, None)
