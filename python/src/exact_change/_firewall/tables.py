"""Stages 2 and 3: rules on a transaction's lookup tables, as the caller's own node has them."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .._kernel.signals import Signal
from .._kernel.task import Steps
from .._solana.address import Address, is_address
from .._solana.message import DecodedLookup
from .._solana.rpc.types import Reads
from .._solana.tables import ReadTable, TableCache
from .._solana.types import LookupTable
from .rule import Rule, enforce

_MAX_TABLES = 6


def _are_few_and_distinct(names: Sequence[Address]) -> bool:
    return (
        len(names) <= _MAX_TABLES and len(set(names)) == len(names) and all(map(is_address, names))
    )


TABLE_NAME_RULES: Sequence[Rule[Sequence[Address]]] = (
    Rule("lookup_tables", _are_few_and_distinct),
)


class TablesSubject(NamedTuple):
    """Lookup tables as the caller's own node has them, and the entries that a transaction uses."""

    tables: Sequence[ReadTable]
    lookups: Sequence[DecodedLookup]


def _has_entries(subject: TablesSubject) -> bool:
    lengths = {read.table.address: len(read.table.addresses) for read in subject.tables}
    return all(
        index < lengths.get(lookup.table, 0)
        for lookup in subject.lookups
        for index in (*lookup.writable, *lookup.readonly)
    )


TABLE_RULES: Sequence[Rule[TablesSubject]] = (
    Rule(
        "lookup_table_owner",
        lambda subject: all(read.state != "none" for read in subject.tables),
    ),
    Rule(
        "lookup_table_inactive",
        lambda subject: all(read.state != "inactive" for read in subject.tables),
    ),
    Rule("lookup_table_entry", _has_entries),
)


def fetch_lookup_tables(
    cache: TableCache, reader: Reads, names: Sequence[Address], signal: Signal | None
) -> Steps[list[LookupTable]]:
    """Reads the lookup tables that a service suggests for its swap.

    Raises ``unsafe_swap`` if they break a rule.
    """
    enforce(TABLE_NAME_RULES, names)
    tables = yield from cache.read(reader, names, signal=signal)
    enforce(TABLE_RULES, TablesSubject(tables, ()))
    return [read.table for read in tables]
