"""Secrets are hidden from all text of others that errors show: a server may repeat its key."""

from __future__ import annotations

import base64
import re
from typing import Iterable, Mapping
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "[hidden]"
# Shorter ones are no keys, and hiding them would eat ordinary words.
_SHORTEST_KEY = 6
# A part of an address is mostly no secret, but providers put their keys there.
_SHORTEST_PART = 8
# Letters alone, in the case of a word: long enough to be a key they are no word.
_WORD = re.compile("(?:[A-Z]?[a-z]+|[A-Z]+)")
_SHORTEST_LETTERS = 20
# Of a process that makes a client for each of its own customers, the newest.
_MOST = 4_096
# More of a text of others than is ever shown: how long it is, they decide.
_READ_LIMIT = 12_800
_HEADERS_WITHOUT_KEYS = re.compile("(?:accept(?:-.*)?|content-type|user-agent)", re.IGNORECASE)

# Each secret, the newest last, with its spellings as `_plain` has them.
_known: dict[str, tuple[str, ...]] = {}
# The spellings by how they begin, so that a text is read once however many there are.
_by_beginning: dict[str, set[str]] = {}


def hide_key(key: str) -> None:
    """Hides a key from all text of others that errors show from now on."""
    for word in key.split():
        _remember(word, _SHORTEST_KEY)


def hide_headers(headers: Mapping[str, str]) -> None:
    """Hides what headers hold that a caller adds to its requests."""
    for name, value in headers.items():
        if _HEADERS_WITHOUT_KEYS.fullmatch(name) is None:
            hide_key(value)


def hide_address(address: str) -> None:
    """Hides what of an address may be a key: user, password, parts of its path, its query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    for word in (user, password):
        _remember(word, _SHORTEST_KEY)
    # As HTTP Basic has them.
    if password:
        _remember(f"{unquote(user)}:{unquote(password)}", _SHORTEST_KEY)
    values = [pair.partition("=")[2] or pair for pair in parts.query.split("&")]
    for word in (*parts.path.split("/"), *values):
        _remember(word, _SHORTEST_PART)


def redact(text: str) -> str:
    """Text of others without the secrets that we know, cut to what is read of it.

    Only for what is shown: a secret may be a part of a word that decides.
    """
    if not _known:
        return text[:_READ_LIMIT]
    plain, places = _plain(text[: 2 * _READ_LIMIT])
    shown: list[str] = []
    start = at = 0
    while at < len(plain) and places[at] < _READ_LIMIT:
        length = _longest_at(plain, at)
        if length:
            shown += (text[start : places[at]], HIDDEN)
            end = at + length
            start = places[end] if end < len(places) else len(text)
        at += max(1, length)
    shown.append(text[start:_READ_LIMIT])
    return "".join(shown)


def redact_error(error: BaseException | None) -> BaseException | None:
    """An error of others, or one that says the same without the secrets that it shows."""
    if error is None or not _known or _is_clean(error, 16):
        return error
    copy = RuntimeError(f"{type(error).__name__}: {redact(str(error))}")
    copy.__cause__ = redact_error(error.__cause__)
    return copy


def _is_clean(error: BaseException | None, deepest: int) -> bool:
    if error is None:
        return True
    texts = (str(error), repr(error), *(getattr(error, "__notes__", ())))
    if deepest == 0 or any(redact(text) != text for text in texts):
        return False
    context = None if error.__suppress_context__ else error.__context__
    return _is_clean(error.__cause__, deepest - 1) and _is_clean(context, deepest - 1)


def _longest_at(text: str, at: int) -> int:
    spellings = _by_beginning.get(text[at : at + _SHORTEST_KEY], ())
    return max((len(one) for one in spellings if text.startswith(one, at)), default=0)


def _remember(word: str, shortest: int) -> None:
    is_word = len(word) < _SHORTEST_LETTERS and _WORD.fullmatch(word) is not None
    if len(word) < shortest or is_word:
        return
    # Taken out and put in again: the newest last.
    _known[word] = _known.pop(word, ()) or _learn(word)
    if len(_known) > _MOST:
        _forget(next(iter(_known)))


def _learn(secret: str) -> tuple[str, ...]:
    found = {_plain(one)[0] for one in _spellings(secret)}
    spellings = tuple(one for one in found if len(one) >= _SHORTEST_KEY)
    for one in spellings:
        _by_beginning.setdefault(one[:_SHORTEST_KEY], set()).add(one)
    return spellings


def _forget(secret: str) -> None:
    for one in _known.pop(secret):
        others = _by_beginning[one[:_SHORTEST_KEY]]
        others.discard(one)
        if not others:
            del _by_beginning[one[:_SHORTEST_KEY]]


def _spellings(secret: str) -> Iterable[str]:
    """As it is, percent-encoded or not, and in base64 wherever it begins in what is encoded."""
    plain = unquote(secret)
    yield from (secret, plain, quote(plain, safe="!'()*~"))
    for one in (secret, plain):
        data = one.encode("utf-8", "surrogatepass")
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
            # The characters at either end depend on what stands beside it.
            end = len(encoded) if (before + len(data)) % 3 == 0 else len(encoded) - 1
            own = encoded[0 if before == 0 else before + 1 : end]
            yield from (own, own.replace("+", "-").replace("/", "_"))


def _plain(text: str) -> tuple[str, list[int]]:
    """A text as it is compared, and where each of its characters stands.

    Percent-encoding has no case of its own, and JSON may escape a slash, more than once.
    """
    characters: list[str] = []
    places: list[int] = []
    escapes = 0
    for at, character in enumerate(text):
        place = at - escapes if character == "/" else at
        if place < at:
            del characters[len(characters) - escapes :], places[len(places) - escapes :]
        lower = character.lower()
        # Some letters have no one other: the places would no longer fit.
        characters.append(lower if len(lower) == 1 else character)
        places.append(place)
        escapes = escapes + 1 if character == "\\" else 0
    return "".join(characters), places
