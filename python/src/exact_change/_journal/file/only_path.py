"""Opens the file at a path, or makes it, and refuses a file that has a second path."""

from __future__ import annotations

import errno
import os
import re

from ..._kernel.task import Steps
from .disk import OpenFile, create_file, identify, open_file, remove_file
from .failures import other_version, second_path
from .header import VERSION, encode_header, read_header
from .scan import Damage

_PROCESS_ID = re.compile("[0-9a-f]{32}")
# How often the names of a file are counted.
_LOOKS = 10


def open_journal_file(path: str, id_: str) -> Steps[OpenFile]:
    """Opens the file at a path, or makes it. ``id_`` is the id of this process.

    Raises if the file has a second path: a rewrite puts a new file at this path, and the second
    path would still lead to the old file.
    """
    file = yield from _open_or_create(path, f"{path}.{id_}")
    try:
        header = read_header(file)
        if header is None:
            raise Damage(0)
        if header.version != VERSION:
            raise other_version(path, header.version)
        # Only for a journal: the path may lead to a device or to another program's file.
        file.make_private()
        return file
    except Exception:
        file.close()
        raise


def _open_or_create(path: str, draft: str) -> Steps[OpenFile]:
    while True:
        try:
            file = open_file(path)
            break
        except FileNotFoundError:
            yield from _create(path, draft)
    try:
        names = _names_of(path, file)
        if names > 1:
            raise second_path(
                path,
                f"It has {names} names (hard links): remove all but one, and back it up by "
                "copying it.",
            )
        # A file that is mounted at the path cannot get a link beside it, and cannot be renamed.
        os.link(path, draft)
        remove_file(draft)
        return file
    except BaseException as error:
        file.close()
        if isinstance(error, OSError) and error.errno == errno.EXDEV:
            raise second_path(
                path, "The file itself is mounted there: mount its directory instead."
            )
        raise


def _create(path: str, draft: str) -> Steps[None]:
    # Write the header before the file gets its name: a file without a header is damage.
    file = create_file(draft)
    try:
        file.append(encode_header())
        yield from file.sync()
        os.link(draft, path)
    except FileExistsError:
        # Another process was first.
        pass
    finally:
        file.close()
        remove_file(draft)


def _names_of(path: str, file: OpenFile) -> int:
    """Counts the names of a file, without draft names.

    It looks again, because each process that opens the file gives it a draft name for a moment.
    """
    for _ in range(_LOOKS - 1):
        if file.names == 1:
            return 1
        _remove_drafts(path, file)
    return file.names


def _remove_drafts(path: str, file: OpenFile) -> None:
    """Removes the draft names of a file, which a process may have left behind when it ended."""
    directory, prefix = os.path.dirname(path), f"{os.path.basename(path)}."
    for name in os.listdir(directory):
        id_ = name[len(prefix) :]
        if not name.startswith(prefix) or _PROCESS_ID.fullmatch(id_) is None:
            continue
        draft = os.path.join(directory, name)
        try:
            is_same = identify(draft).inode == file.id.inode
        except FileNotFoundError:
            continue
        if is_same:
            remove_file(draft)
