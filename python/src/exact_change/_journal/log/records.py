"""The records of a journal, as adapters/journals/FORMAT.md describes them."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Mapping, NamedTuple, Sequence

from ..._base.amounts import is_digits
from ..._base.json_types import is_integer, is_list, is_number, is_record
from ..._spec import table
from ..attempts import is_attempt

# A change of the journal's state: one name and its value.
LogRecord = Dict[str, Any]

_SIGN = re.compile(r"\.[0-9a-f]{32}\.(sock|seat)")
_SIGNED_AMOUNT = re.compile("-?[0-9]+")
_EVENTS: Sequence[str] = table("webhooks")["events"]


class LogLine(NamedTuple):
    """The content of a line: the id of the process that wrote it, and records."""

    by: str
    records: Sequence[LogRecord]


def read_records(value: object) -> LogLine | None:
    """Returns the records of a line and its writer's id; None if a record is unknown."""
    if not is_list(value) or not value or not isinstance(value[0], str):
        return None
    records = value[1:]
    return LogLine(value[0], records) if all(map(_is_known, records)) else None


def _is_known(record: object) -> bool:
    if not is_record(record) or len(record) != 1:
        return False
    ((name, said),) = record.items()
    check = _CHECKS.get(name)
    return check is not None and check(said)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return is_list(value) and all(map(_is_text, value))


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_slot(value: object) -> bool:
    return value is None or is_number(value)


def _absent_or_text(record: Mapping[str, Any], *names: str) -> bool:
    return all(name not in record or _is_text(record[name]) for name in names)


def _is_of_account(value: object, is_said: Callable[[LogRecord], bool]) -> bool:
    if not is_list(value) or len(value) != 4 or not _are_texts(value[:3]):
        return False
    return is_record(value[3]) and is_said(value[3])


def _is_seen(known: object) -> bool:
    if not is_record(known) or not is_digits(known.get("amount")):
        return False
    return is_number(known.get("at")) and _is_slot(known.get("slot"))


def _is_change(change: LogRecord) -> bool:
    if "see" in change:
        moved = change.get("moved")
        is_moved = isinstance(moved, str) and _SIGNED_AMOUNT.fullmatch(moved) is not None
        return is_moved and _is_seen(change["see"])
    if "hold" in change:
        return _is_text(change["hold"]) and is_digits(change.get("amount"))
    if "spend" in change:
        return _is_text(change["spend"]) and _is_slot(change.get("slot"))
    return change.get("forget") is True or _is_text(change.get("release"))


def _is_balance(balance: LogRecord) -> bool:
    known, reading = balance.get("known"), balance.get("reading")
    return (
        (known is None or (_is_seen(known) and is_number(known.get("doubtful"))))
        and (reading is None or _is_reading(reading))
        and is_number(balance.get("made"))
        and _are_amounts(balance.get("holds"), lambda hold: is_number(hold.get("ordinal")))
        and _are_amounts(balance.get("spent"), lambda spent: _is_slot(spent.get("slot")))
    )


def _is_reading(value: object) -> bool:
    return is_record(value) and is_digits(value.get("amount")) and is_number(value.get("slot"))


def _are_amounts(value: object, has_more: Callable[[LogRecord], bool]) -> bool:
    """Returns whether a value is a list of attempts' amounts, each with the fields of its kind."""
    return is_list(value) and all(
        is_record(item)
        and _is_text(item.get("id"))
        and is_digits(item.get("amount"))
        and has_more(item)
        for item in value
    )


def is_process(value: object) -> bool:
    """Returns whether a value is a process id.

    Its sign must have the name of a sign, because that file is removed when the process has ended.
    """
    if not is_record(value):
        return False
    sign, pid = value.get("sign"), value.get("pid")
    return (
        all(_is_text(value.get(name)) for name in ("id", "host"))
        and _absent_or_text(value, "start", "kernel", "volume")
        and isinstance(sign, str)
        and _SIGN.fullmatch(sign) is not None
        and is_integer(pid)
        and pid > 0
    )


def _is_job(value: object) -> bool:
    if not is_record(value) or not is_record(value.get("event")):
        return False
    event = value["event"]
    data = event.get("data")
    return (
        all(_is_text(text) for text in (value.get("id"), event.get("id"), event.get("timestamp")))
        and event.get("type") in _EVENTS
        and is_record(data)
        and _is_text(data.get("wallet"))
        and _absent_or_text(value, "endpoint", "caller")
        and is_number(value.get("failures"))
        and is_number(value.get("dueAt"))
    )


def _is_endpoint(value: object) -> bool:
    if not is_record(value):
        return False
    events, secrets = value.get("events"), value.get("secrets")
    return (
        all(_is_text(value.get(name)) for name in ("id", "url", "caller"))
        and is_list(events)
        and all(event in _EVENTS for event in events)
        and ("wallets" not in value or _are_texts(value["wallets"]))
        and is_list(secrets)
        and all(map(_is_secret, secrets))
        and is_number(value.get("createdAt"))
        and all(is_number(value.get(name, 0)) for name in ("acceptedAt", "disabledAt"))
    )


def _is_secret(value: object) -> bool:
    return is_record(value) and _is_text(value.get("secret")) and is_number(value.get("until", 0))


def _is_owner(value: object) -> bool:
    return is_record(value) and all(_is_text(value.get(name)) for name in ("wallet", "network"))


def _are_keys(value: object) -> bool:
    if not is_record(value) or not _is_owner(value) or not is_list(value.get("keys")):
        return False
    return all(
        is_list(key)
        and len(key) >= 3
        and _is_text(key[0])
        and (is_number(key[1]) or _is_text(key[1]))
        and is_number(key[2])
        for key in value["keys"]
    )


def _is_spent(value: object) -> bool:
    if not is_record(value) or not _is_owner(value) or not is_record(value.get("spent")):
        return False
    return _are_texts([value.get(name) for name in ("host", "payTo", "mint")]) and all(
        is_list(periods) and all(map(_is_period, periods)) for periods in value["spent"].values()
    )


def _is_period(value: object) -> bool:
    if not is_list(value) or len(value) < 3:
        return False
    return is_number(value[0]) and is_number(value[1]) and is_digits(value[2])


def _is_count(value: object) -> bool:
    return is_list(value) and len(value) >= 2 and _is_text(value[0]) and is_number(value[1])


def _is_taken(value: object) -> bool:
    return is_list(value) and bool(value) and is_number(value[0]) and _are_texts(value[1:])


# Checks the value of a record, by the record's name.
_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "put": is_attempt,
    "release": _is_text,
    "claim": _are_texts,
    "drop": _are_texts,
    "lock": _is_text,
    "unlock": _is_text,
    "count": _is_count,
    "balance": lambda value: _is_of_account(value, _is_change),
    "seat": is_process,
    "gone": _is_text,
    "synced": is_number,
    "sealed": _is_bool,
    "job": _is_job,
    "jobDone": _is_text,
    "taken": _is_taken,
    "endpoint": _is_endpoint,
    "endpointGone": _is_text,
    "made": is_number,
    "spent": _is_spent,
    "keys": _are_keys,
    "book": lambda value: _is_of_account(value, _is_balance),
    "history": is_number,
}
