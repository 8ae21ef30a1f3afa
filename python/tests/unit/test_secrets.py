"""Secret keys stay out of everything that is printed, copied or logged."""

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
# Each way in which foreign code may print the key.
SPELLINGS = (TEXT, SEED.hex(), ", ".join(map(str, SEED)), repr(SEED)[2:-1], PAIR.to_json()[1:90])


def shows(text: str) -> bool:
    return any(spelling in text for spelling in SPELLINGS)


def reached(root: object) -> Iterator[object]:
    """Yields each object that a debugger or a serializer reaches from a root."""
    seen: dict[int, object] = {}
    todo = [root]
    while todo:
        found = todo.pop()
        # Skip modules, because they reach the tests, which hold the key.
        if id(found) in seen or isinstance(found, (ModuleType, type)):
            continue
        seen[id(found)] = found
        yield found
        if isinstance(found, FunctionType):
            # Skip the globals of a function, because they are those of its module.
            todo += [cell.cell_contents for cell in found.__closure__ or ()]
        else:
            todo += gc.get_referents(found)


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_shows_no_key_in_anything_that_a_client_holds(form: str, kind: Callable[..., Any]) -> None:
    client = kind(wallet_secret_key=copy.copy(FORMS[form]))
    assert client.address == str(PAIR.pubkey())
    for found in reached(client):
        assert not shows(repr(found)), type(found)
    for copier in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickled"):
            copier(client)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_takes_a_keypair_of_solders_as_signer_and_shows_no_key(kind: Callable[..., Any]) -> None:
    client = kind(signer=PAIR)
    assert client.address == str(PAIR.pubkey())
    for found in reached(client):
        assert not shows(repr(found)), type(found)


def test_shows_no_key_in_an_interceptor() -> None:
    interceptor = HTTPInterceptor(wallet_secret_key=TEXT, install=False)
    assert not shows(repr(interceptor))
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(interceptor)


WRONG: dict[str, dict[str, Any]] = {
    "a misspelled option": {"polcy": {}},
    "a wrong value": {"policy": {"max_per_payment": float("nan")}},
    "an invalid key": {"wallet_secret_key": TEXT[:-1] + "x"},
    "half of a key": {"wallet_secret_key": list(SEED)},
    "broken JSON": {"wallet_secret_key": PAIR.to_json()[:-1]},
    "two wallets": {"wallet_seed": SEED},
}


@pytest.mark.parametrize("wrong", list(WRONG))
@pytest.mark.parametrize("kind", [Client, AsyncClient, HTTPInterceptor])
def test_shows_no_key_in_frames_of_the_library_when_an_option_is_wrong(
    wrong: str, kind: Callable[..., Any]
) -> None:
    options = {"wallet_secret_key": TEXT, **WRONG[wrong]}
    with pytest.raises(ConfigError) as caught:
        kind(**options)
    error = caught.value
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    # Skip the first frame, because it belongs to the caller.
    for frame in list(shown.stack)[1:]:
        assert not shows(str(frame.locals)), frame
    assert not shows(str(error) + repr(error) + json.dumps(error.to_dict()))
    copied: ExactChangeError = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (copied.code, str(copied)) == (error.code, str(error))


class Broken(Dict[str, Any]):
    """A mapping of the caller that raises when it is read."""

    def __iter__(self) -> Any:
        raise RuntimeError("not loaded")


def test_shows_no_key_in_frames_of_the_library_when_a_mapping_of_the_caller_raises() -> None:
    broken: Any = Broken(max_per_day="1.00")
    with pytest.raises(RuntimeError, match="not loaded") as caught:
        Client(wallet_secret_key=TEXT, policy=broken)
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert not any(shows(str(frame.locals)) for frame in list(shown.stack)[1:])
