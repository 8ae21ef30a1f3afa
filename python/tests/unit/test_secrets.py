"""A key is in nothing that is shown, copied or sent to a log."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import traceback
from types import FunctionType, ModuleType
from typing import Any, Callable, Dict, Iterator

import pytest
from solders.keypair import Keypair

from exact_change import AsyncClient, Client, ConfigError, ExactChangeError, HTTPInterceptor

SEED = bytes(range(7, 39))
PAIR = Keypair.from_seed(SEED)
TEXT = str(PAIR)
FORMS: dict[str, Any] = {
    "base58": TEXT,
    "JSON": PAIR.to_json(),
    "bytes": bytes(PAIR),
    "numbers": list(bytes(PAIR)),
}
# As text of others would show it.
SPELLINGS = (TEXT, SEED.hex(), ", ".join(map(str, SEED)), repr(SEED)[2:-1], PAIR.to_json()[1:90])


def shows(text: str) -> bool:
    return any(one in text for one in SPELLINGS)


def reached(root: object) -> Iterator[object]:
    """All that an object holds, as a debugger or a serializer would find it."""
    seen: dict[int, object] = {}
    todo = [root]
    while todo:
        one = todo.pop()
        # Modules hold the tests, which have the key.
        if id(one) in seen or isinstance(one, (ModuleType, type)):
            continue
        seen[id(one)] = one
        yield one
        if isinstance(one, FunctionType):
            # Its globals are its module's.
            todo += [cell.cell_contents for cell in one.__closure__ or ()]
        else:
            todo += gc.get_referents(one)


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_shows_no_key(form: str, kind: Callable[..., Any]) -> None:
    client = kind(wallet_secret_key=copy.copy(FORMS[form]))
    assert client.address == str(PAIR.pubkey())
    for one in reached(client):
        assert not shows(repr(one)), type(one)
    for work in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickled"):
            work(client)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_keypair_of_solders_signs_and_shows_no_key(kind: Callable[..., Any]) -> None:
    client = kind(signer=PAIR)
    assert client.address == str(PAIR.pubkey())
    for one in reached(client):
        assert not shows(repr(one)), type(one)


def test_an_interceptor_shows_no_key() -> None:
    interceptor = HTTPInterceptor(wallet_secret_key=TEXT, install=False)
    assert not shows(repr(interceptor))
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(interceptor)


WRONG: dict[str, dict[str, Any]] = {
    "a slip in a name": {"polcy": {}},
    "a wrong value": {"policy": {"max_per_payment": float("nan")}},
    "a key that is no key": {"wallet_secret_key": TEXT[:-1] + "x"},
    "half of a key": {"wallet_secret_key": list(SEED)},
    "broken JSON": {"wallet_secret_key": PAIR.to_json()[:-1]},
    "two wallets": {"wallet_seed": SEED},
}


@pytest.mark.parametrize("wrong", list(WRONG))
@pytest.mark.parametrize("kind", [Client, AsyncClient, HTTPInterceptor])
def test_a_traceback_shows_no_key_in_the_frames_of_the_library(
    wrong: str, kind: Callable[..., Any]
) -> None:
    options = {"wallet_secret_key": TEXT, **WRONG[wrong]}
    with pytest.raises(ConfigError) as caught:
        kind(**options)
    error = caught.value
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    # The first frame is the caller's own.
    for frame in list(shown.stack)[1:]:
        assert not shows(str(frame.locals)), frame
    assert not shows(str(error) + repr(error) + json.dumps(error.to_dict()))
    kept: ExactChangeError = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (kept.code, str(kept)) == (error.code, str(error))


class Broken(Dict[str, Any]):
    """A mapping of a caller's own that fails when it is read."""

    def __iter__(self) -> Any:
        raise RuntimeError("not loaded")


def test_an_error_of_others_shows_no_key_in_the_frames_of_the_library() -> None:
    broken: Any = Broken(max_per_day="1.00")
    with pytest.raises(RuntimeError, match="not loaded") as caught:
        Client(wallet_secret_key=TEXT, policy=broken)
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert not any(shows(str(frame.locals)) for frame in list(shown.stack)[1:])
