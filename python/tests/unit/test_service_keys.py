"""Keys of nodes and services stay out of the frames that loggers print."""

from __future__ import annotations

import traceback
from typing import Any, Callable, Iterator, Mapping

import httpx
import pytest

from exact_change import AsyncService, Client, ExactChangeError, Service, postgres_journal
from exact_change._base.hidden import Hidden

KEY = "key-0123456789-abcdef"
WALLET = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
SERVICE = {"api_url": "https://service.example/v1", "api_key": KEY}
SWAP: Any = {"input_mint": "SOL", "output_mint": "USDC", "ui_amount": "0.1"}
RELAYER: Any = {"url": "https://relayer.example", "api_key": KEY}
Call = Callable[[Client], object]
# Options, the call that meets a failure, and its code.
CALLS: dict[str, tuple[Mapping[str, Any], Call, str]] = {
    "a node": ({}, lambda client: client.swap(**SWAP), "rpc_unavailable"),
    "Jupiter": (
        {"jupiter_api_key": KEY, "relayer": RELAYER},
        lambda client: client.quote(**SWAP),
        "jupiter_unavailable",
    ),
    "a service": (SERVICE, lambda client: client.balance("USDC"), "invalid_response"),
}


class Body(httpx.SyncByteStream):
    """A body that is not read yet."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"[]"


def refuse(_: httpx.Request) -> httpx.Response:
    return httpx.Response(400, stream=Body())


def own_frames(error: BaseException) -> list[str]:
    """Returns the locals of the library's frames, of an error and of its causes."""
    shown: list[str] = []
    seen: traceback.TracebackException | None
    seen = traceback.TracebackException.from_exception(error, capture_locals=True)
    while seen is not None:
        frames = [frame for frame in seen.stack if "exact_change" in frame.filename]
        shown += [f"{frame.filename}:{frame.lineno} {frame.locals}" for frame in frames]
        seen = seen.__cause__ or seen.__context__
    assert shown
    return shown


@pytest.mark.parametrize("peer", list(CALLS))
def test_shows_no_key_in_frames_of_the_library_when_a_request_fails(peer: str) -> None:
    options, call, code = CALLS[peer]
    all_options: Any = {
        "wallet_seed": bytes(32),
        "rpc_url": f"https://node.example/{KEY}",
        "http_transport": httpx.MockTransport(refuse),
        **options,
    }
    with Client(**all_options) as client:
        with pytest.raises(ExactChangeError) as caught:
            call(client)
        assert caught.value.code == code
        assert not [frame for frame in own_frames(caught.value) if KEY in frame]
        payer = vars(client)["_payer"]
        assert KEY not in repr(payer.config)


def test_shows_no_key_in_frames_of_the_library_when_a_request_to_a_service_fails() -> None:
    below = httpx.MockTransport(refuse)
    headers = {"x-gateway": KEY}
    with Service("https://service.example", api_key=KEY, headers=headers, http_transport=below) as (
        service
    ):
        for call in (
            lambda: service.balance(WALLET),
            lambda: service.auto_pay({"status": 402, "headers": {}, "body": "{}"}, WALLET),
        ):
            with pytest.raises(ExactChangeError) as caught:
                call()
            assert not [frame for frame in own_frames(caught.value) if KEY in frame]


@pytest.mark.parametrize("kind", [Service, AsyncService])
@pytest.mark.parametrize(
    "wrong", [{"timeout": -1}, {"timeout": "long"}, {"api_url": f"http://service.example/{KEY}"}]
)
def test_shows_no_key_in_frames_of_the_library_when_an_argument_of_a_service_is_wrong(
    kind: Callable[..., Any], wrong: Mapping[str, Any]
) -> None:
    given = {"api_url": f"https://service.example/{KEY}", "api_key": KEY, "headers": {"x": KEY}}
    with pytest.raises((ExactChangeError, TypeError)) as caught:
        kind(**{**given, **wrong})
    assert not [frame for frame in own_frames(caught.value) if KEY in frame]


@pytest.mark.parametrize("wrong", [{"timeout_ms": 0}, {"address": f"user:{KEY}@db/x"}])
def test_shows_no_key_in_frames_of_the_library_when_an_argument_of_a_journal_is_wrong(
    wrong: Mapping[str, Any],
) -> None:
    given: Any = {"address": f"postgres://user:{KEY}@127.0.0.1:1/x", **wrong}
    with pytest.raises(ExactChangeError) as caught:
        postgres_journal(**given)
    assert not [frame for frame in own_frames(caught.value) if KEY in frame]


def test_shows_no_key_in_frames_of_the_library_when_a_database_refuses() -> None:
    address = f"postgres://user:{KEY}@127.0.0.1:1/x"
    with Client(wallet_seed=bytes(32), journal=postgres_journal(address)) as client:
        with pytest.raises(ExactChangeError) as caught:
            client.receipts()
    assert caught.value.code == "journal_unavailable"
    assert not [frame for frame in own_frames(caught.value) if KEY in frame]


def test_sends_hidden_texts_as_they_are() -> None:
    """The transport gets plain text, and a longer address stays hidden."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, headers={"content-type": "application/json"}, stream=Body())

    url, below = f"https://service.example/{KEY}/", httpx.MockTransport(answer)
    with Service(url, api_key=KEY, http_transport=below) as service:
        assert service.balance(WALLET) == []
    assert str(sent[0].url) == f"https://service.example/{KEY}/api/balance?wallet={WALLET}"
    assert sent[0].headers["authorization"] == f"Bearer {KEY}"
    longer = Hidden(KEY) + "/path"
    assert (str(longer), repr(longer)) == (f"{KEY}/path", "'[hidden]'")


def test_sends_one_content_type_if_the_caller_names_it_too() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"x402Version": 2, "offers": []})

    headers = {"Content-Type": "text/plain", "ACCEPT": "*/*", "x-team": "a"}
    below = httpx.MockTransport(answer)
    with Service("https://service.example", headers=headers, http_transport=below) as service:
        service.parse_payment({"status": 402, "headers": {}, "body": "{}"})
    names = ("content-type", "accept", "x-team")
    assert [sent[0].headers.get_list(name) for name in names] == [
        ["application/json"],
        ["application/json, application/problem+json"],
        ["a"],
    ]
