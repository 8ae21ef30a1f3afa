"""Hides secrets in outside text that errors show: a server may repeat the key it was sent."""

from __future__ import annotations

import base64
import re
from typing import Iterable, Mapping
from urllib.parse import quote, unquote, urlsplit

from .._kernel.fork import ForkLock

HIDDEN = "[hidden]"
# Characters. A shorter text is not a key, and hiding it would remove ordinary words.
_SHORTEST_KEY = 6
# Characters. Most parts of a URL are not secret, but some providers put their keys there.
_SHORTEST_PART = 8
# Letters in the case of a word are an ordinary word, unless they are as long as a key.
_WORD = re.compile("(?:[A-Z]?[a-z]+|[A-Z]+)")
_SHORTEST_LETTERS = 20
# The most secrets kept, the newest. A process may make a client for each of its customers.
_MOST = 4_096
# Characters read of an outside text, because its sender decides its length. Errors show fewer.
_READ_LIMIT = 12_800
_HEADERS_WITHOUT_KEYS = re.compile("(?:accept(?:-.*)?|content-type|user-agent)", re.IGNORECASE)

# Each secret, the newest last, with its spellings as `_plain` returns them.
_known: dict[str, tuple[str, ...]] = {}
# Spellings by their first `_SHORTEST_KEY` characters, so that one pass finds every secret; each as
# often as secrets have it. Other threads may be reading while one changes a spelling.
_by_beginning: dict[str, tuple[str, ...]] = {}
_changing = ForkLock()


def hide_key(key: str) -> None:
    """Hides a key in outside text that errors show from now on."""
    for word in key.split():
        _remember(word, _SHORTEST_KEY)


def hide_headers(headers: Mapping[str, str]) -> None:
    """Hides the values of headers that the caller adds to its requests."""
    for name, value in headers.items():
        if _HEADERS_WITHOUT_KEYS.fullmatch(name) is None:
            hide_key(value)


def hide_address(address: str) -> None:
    """Hides the parts of a URL that may be keys: user, password, path segments, query values."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    for word in (user, password):
        _remember(word, _SHORTEST_KEY)
    # HTTP Basic sends user and password in this form.
    if password:
        _remember(f"{unquote(user)}:{unquote(password)}", _SHORTEST_KEY)
    values = [pair.partition("=")[2] or pair for pair in parts.query.split("&")]
    for word in (*parts.path.split("/"), *values):
        _remember(word, _SHORTEST_PART)


def redact(text: str) -> str:
    """Returns outside text with known secrets hidden, cut to `_READ_LIMIT` characters.

    Use it for display only: a secret may be part of a word that the code compares.
    """
    # Not `_known`, which is empty for a moment while its only secret becomes the newest.
    if not _by_beginning:
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
    """Returns the error, or a copy of its text without secrets if the error shows any."""
    if error is None or not _by_beginning or _is_clean(error, 16):
        return error
    copy = RuntimeError(f"{type(error).__name__}: {redact(str(error))}")
    copy.__cause__ = redact_error(error.__cause__)
    return copy


def _is_clean(error: BaseException | None, depth_left: int) -> bool:
    if error is None:
        return True
    texts = (str(error), repr(error), *(getattr(error, "__notes__", ())))
    if depth_left == 0 or any(redact(text) != text for text in texts):
        return False
    context = None if error.__suppress_context__ else error.__context__
    return _is_clean(error.__cause__, depth_left - 1) and _is_clean(context, depth_left - 1)


def _longest_at(text: str, at: int) -> int:
    """Returns the length of the longest secret that begins at this position; 0 if none does."""
    spellings = _by_beginning.get(text[at : at + _SHORTEST_KEY], ())
    return max((len(secret) for secret in spellings if text.startswith(secret, at)), default=0)


def _remember(word: str, shortest: int) -> None:
    is_word = len(word) < _SHORTEST_LETTERS and _WORD.fullmatch(word) is not None
    if len(word) < shortest or is_word:
        return
    with _changing:
        # Removing and inserting it again makes it the newest.
        _known[word] = _known.pop(word, ()) or _learn(word)
        if len(_known) > _MOST:
            _forget(next(iter(_known)))


def _learn(secret: str) -> tuple[str, ...]:
    plain = {_plain(spelling)[0] for spelling in _spellings(secret)}
    spellings = tuple(spelling for spelling in plain if len(spelling) >= _SHORTEST_KEY)
    for spelling in spellings:
        beginning = spelling[:_SHORTEST_KEY]
        _by_beginning[beginning] = (*_by_beginning.get(beginning, ()), spelling)
    return spellings


def _forget(secret: str) -> None:
    for spelling in _known.pop(secret):
        beginning = spelling[:_SHORTEST_KEY]
        siblings = [*_by_beginning[beginning]]
        siblings.remove(spelling)
        if siblings:
            _by_beginning[beginning] = tuple(siblings)
        else:
            del _by_beginning[beginning]


def _spellings(secret: str) -> Iterable[str]:
    """Yields the secret as given, percent-decoded and -encoded, and in base64.

    Base64 depends on the position of the secret in the encoded bytes, modulo three.
    """
    plain = unquote(secret)
    yield from (secret, plain, quote(plain, safe="!'()*~"))
    for text in (secret, plain):
        data = text.encode("utf-8", "surrogatepass")
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
            # The first and the last character also depend on the bytes beside the secret.
            end = len(encoded) if (before + len(data)) % 3 == 0 else len(encoded) - 1
            own = encoded[0 if before == 0 else before + 1 : end]
            yield from (own, own.replace("+", "-").replace("/", "_"))


def _plain(text: str) -> tuple[str, list[int]]:
    """Returns a text in the form used to compare, and the original position of each character.

    The form has lower case, because percent-encoding ignores case. It has no backslash before a
    slash, because JSON may escape a slash, more than once.
    """
    characters: list[str] = []
    places: list[int] = []
    escapes = 0
    for at, character in enumerate(text):
        place = at - escapes if character == "/" else at
        if place < at:
            del characters[len(characters) - escapes :], places[len(places) - escapes :]
        lower = character.lower()
        # Some letters have two characters in lower case, and positions would no longer match.
        characters.append(lower if len(lower) == 1 else character)
        places.append(place)
        escapes = escapes + 1 if character == "\\" else 0
    return "".join(characters), places
