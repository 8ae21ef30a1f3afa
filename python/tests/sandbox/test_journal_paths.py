"""Files that a journal uses, makes or refuses."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from exact_change import file_journal
from exact_change._journal.file import signs
from exact_change._journal.file.disk import OpenFile, create_file
from exact_change._journal.file.history import History
from exact_change._journal.file.line import encode_line, hex_crc
from exact_change._journal.file.signs import Life, judge
from exact_change._journal.store_types import Made
from exact_change._kernel.hosts import threads

from ..filler import contents_of
from ..holder import attempt
from ..payer import failure_of


def test_leaves_a_file_that_is_no_journal_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("notes\n")
    path.chmod(0o644)
    failure_of(lambda: contents_of(path), "journal_damaged")
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o644, "notes\n")


def test_makes_the_file_that_a_symbolic_link_names(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    path = tmp_path / "journal"
    path.symlink_to(Path("volume", "kept"))
    with file_journal(path) as journal:
        threads.run(journal.shared.reserve(attempt("a"), []))
    assert path.is_symlink()
    assert contents_of(tmp_path / "volume" / "kept")["used"] == "1"


def test_refuses_files_that_this_process_must_not_use(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with file_journal(path) as journal:
        threads.run(journal.shared.reserve(attempt("a"), []))
    os.link(path, tmp_path / "second")
    assert "hard links" in str(failure_of(lambda: contents_of(path), "invalid_option"))
    (tmp_path / "second").unlink()
    assert contents_of(path)["used"] == "1"
    seat: dict[str, Any] = {
        "id": "f" * 32,
        "pid": 1,
        "host": "elsewhere",
        "sign": f".{'f' * 32}.seat",
    }
    (tmp_path / seat["sign"]).touch()
    content = path.read_bytes()
    line = encode_line(len(content), json.dumps([seat["id"], {"seat": seat}]))
    path.write_bytes(content + line)
    error = failure_of(lambda: contents_of(path), "journal_locked")
    assert error.details == {"path": str(path), "pid": 1}
    (tmp_path / seat["sign"]).unlink()
    assert contents_of(path)["used"] == "1"
    for version, advice in ((1, "TypeScript"), (3, "update exact-change")):
        header = json.dumps({"format": "exact-change-journal", "version": version}).encode()
        path.write_bytes(hex_crc(header) + b" " + header + b"\n")
        assert advice in str(failure_of(lambda: contents_of(path), "invalid_option"))
    missing = tmp_path / "missing" / "journal"
    failure_of(lambda: contents_of(missing), "journal_unavailable")
    for wrong in ("", "a\0b", 7):
        failure_of(lambda wrong=wrong: file_journal(wrong), "invalid_option")  # type: ignore[misc]


def test_opens_a_file_while_other_processes_give_it_a_name_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    with file_journal(path) as journal:
        threads.run(journal.shared.reserve(attempt("a"), []))
    others = iter("ab")

    def counted(_file: OpenFile) -> int:
        for other in itertools.islice(others, 1):
            os.link(path, f"{path}.{other * 32}")
        return path.stat().st_nlink

    monkeypatch.setattr(OpenFile, "names", property(counted))
    assert contents_of(path)["used"] == "1"
    assert list(others) == []


@pytest.mark.parametrize(
    ("over", "verdict"),
    [
        ({"pid": 2**30}, "ended"),
        ({"start": "long ago"}, "ended"),
        ({}, "lives"),
        ({"pid": 2**30, "host": "another"}, "lives"),
    ],
)
def test_judges_a_process_by_its_id_if_this_user_cannot_reach_its_socket(
    over: dict[str, Any], verdict: str, tmp_path: Path
) -> None:
    life = Life(str(tmp_path))
    life.end()
    # Nor can root reach it through a link to itself.
    sign = life.seat["sign"]
    (tmp_path / sign).symlink_to(sign)
    assert judge({**life.seat, **over}, str(tmp_path)) == verdict


@pytest.mark.parametrize("reads_boot", ["the judge", "the judged process", "neither"])
def test_judges_a_process_as_alive_if_there_was_no_file_descriptor_to_read_a_boot(
    reads_boot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = signs._text_of

    def cut(path: str) -> str:
        return "" if path.endswith("boot_id") else read(path)

    if reads_boot != "the judged process":
        monkeypatch.setattr(signs, "_text_of", cut)
    life = Life(str(tmp_path))
    life.end()
    sign = life.seat["sign"]
    (tmp_path / sign).symlink_to(sign)
    monkeypatch.setattr(signs, "_text_of", read if reads_boot == "the judge" else cut)
    assert judge(life.seat, str(tmp_path)) == "lives"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no users with a number")
@pytest.mark.parametrize(("user", "times"), [(0, 2), (1, 0)])
def test_gives_a_file_of_root_to_the_owner_of_the_journal(
    user: int, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    path.touch()
    given: list[tuple[int, ...]] = []
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "fchown", lambda _file, *owner: given.append(owner))
    for name in ("journal.compact", "journal.history", "new.id"):
        create_file(str(tmp_path / name)).close()
    owner = path.stat()
    assert given == [(owner.st_uid, owner.st_gid)] * times


def test_opens_no_history_again_after_the_journal_was_closed(tmp_path: Path) -> None:
    history = History(str(tmp_path / "history"))
    written = threads.run(history.append(0, [Made(1, attempt("a"))], 0))
    history.close()
    failure_of(lambda: history.recall(written.places[0]), "journal_unavailable")
