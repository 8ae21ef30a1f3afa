"""The errors that callers get if a journal in a file cannot be used."""

from __future__ import annotations

from typing import Any, Mapping

from ...errors import ExactChangeError, failure
from .scan import Damage


def unavailable(path: str, cause: Exception) -> ExactChangeError:
    """Returns the error that callers get if a journal cannot be used."""
    if isinstance(cause, ExactChangeError):
        return cause
    if isinstance(cause, Damage):
        return _damaged(cause.path or path, cause.offset)
    why = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return failure(
        "journal_unavailable",
        f"The journal at {path} could not be read or written ({why}), so nothing more was signed "
        "or sent. Its folder must exist, and this process must be able to write there.",
        {"step": "file"},
        cause=cause,
    )


def _damaged(path: str, offset: int) -> ExactChangeError:
    return failure(
        "journal_damaged",
        f"The journal at {path} is damaged at byte {offset}, so what was spent is not known and "
        "nothing more is. Put a sound copy in its place, or move the journal away with its "
        ".history, and lower the limits of the policy by what was spent.",
        {"path": path, "offset": offset},
    )


class Refusal(Exception):
    """Wraps the error that a decision raised: the caller gets that error as it is."""

    def __init__(self, reason: Exception) -> None:
        super().__init__("refused")
        self.reason = reason


def closed() -> ExactChangeError:
    """Returns the error for calls after the journal was closed."""
    return failure(
        "journal_unavailable",
        "This journal was closed. Make another one with file_journal.",
        {"step": "file"},
        retry="never",
    )


def locked_by(path: str, seat: Mapping[str, Any]) -> ExactChangeError:
    """Returns the refusal of a file that an invisible process (of another machine) may use."""
    pid, sign = seat["pid"], seat["sign"]
    return failure(
        "journal_locked",
        f"Process {pid} of another machine or container may have the journal at {path}, and cannot "
        "be seen from here: a file is for processes of one machine, use postgres_journal for more. "
        f"If it is gone for certain, remove {sign} beside the journal.",
        {"path": path, "pid": pid},
    )


def other_version(path: str, version: object) -> ExactChangeError:
    """Returns the refusal of a file with a version that this library does not read."""
    advice = (
        "open it once with the TypeScript package exact-change of this release, which brings it to "
        "version 2"
        if version == 1
        else "update exact-change"
    )
    return failure(
        "invalid_option",
        f"The journal at {path} has version {version!r} of its format, and this release reads "
        f"version 2: {advice}.",
        {"option": "journal"},
    )


def second_path(path: str, why: str) -> ExactChangeError:
    """Returns the refusal of a file with a second path, which a rewrite would make another file."""
    return failure(
        "invalid_option",
        f"The journal at {path} can be reached by a second path, which would be another file when "
        f"it is written anew. {why}",
        {"option": "journal"},
    )
