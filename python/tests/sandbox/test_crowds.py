from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from solders.keypair import Keypair

from exact_change import AsyncClient, Event, ExactChangeError, receipt_of
from exact_change._journal import locks

from ..conftest import MakeClient, MakePayer, MakeSeller
from ..node import Sandbox, Wallet
from ..payer import failure_of
from ..seller import Reply, Seen

CENT = 10_000
JSON = {"content-type": "application/json"}


async def test_settles_120_parallel_payments_with_exact_sums(sandbox: Sandbox) -> None:
    # More than the hundred connections that a client keeps open.
    count = 120
    wallet = sandbox.wallet(SOL="0.5", USDC="5")
    before = sandbox.balance(sandbox.merchant, "USDC")
    async with AsyncClient(**sandbox.options(wallet)) as client:
        landed: set[str] = set()
        all_landed = asyncio.Event()

        def note_settled(event: Event) -> None:
            landed.add(event.id)
            if len(landed) == count:
                all_landed.set()

        client.on("payment.settled", note_settled)
        await client.warm()
        calls = (client.get(f"{sandbox.api_url}/usdc") for _ in range(count))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        for answer in answers:
            # The official facilitator gives up after 30 s, which may pass on a busy machine.
            if isinstance(answer, ExactChangeError):
                assert answer.code == "payment_rejected"
                assert answer.funds in ("uncertain", "spent")
            else:
                assert isinstance(answer, httpx.Response)
                assert answer.status_code == 200
        await asyncio.wait_for(all_landed.wait(), 120)
        assert (await client.spent())[0].used == "1.2"
    assert sandbox.balance(sandbox.merchant, "USDC") - before == count * CENT
    assert sandbox.balance(wallet.address, "USDC") == 5_000_000 - count * CENT


async def test_swaps_once_for_ten_parallel_payments_without_funds(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="0.5")
    swaps: list[Any] = []
    async with AsyncClient(**sandbox.options(wallet, auto_swap=True)) as client:
        client.on("swap.confirmed", swaps.append)
        url = f"{sandbox.api_url}/usdc"
        responses = await asyncio.gather(*(client.get(url) for _ in range(10)))
        assert all(response.status_code == 200 for response in responses)
        receipts = [receipt_of(response) for response in responses]
        assert sum(receipt is not None and receipt.swap is not None for receipt in receipts) == 1
    assert len(swaps) == 1


async def test_swaps_once_for_ten_payments_that_callers_present(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="0.5")
    async with httpx.AsyncClient() as http:
        terms = await http.get(f"{sandbox.api_url}/usdc", timeout=60)
    swaps: list[Any] = []
    async with AsyncClient(**sandbox.options(wallet, auto_swap=True)) as client:
        await client.warm()
        client.on("swap.confirmed", swaps.append)
        await asyncio.gather(*(client.pay(terms) for _ in range(10)))
    assert len(swaps) == 1


async def test_swaps_once_for_parallel_payments_with_terms_that_come_one_by_one(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    count = 20
    turns = [threading.Event() for _ in range(count + 1)]
    all_arrived = threading.Barrier(count)
    answers = iter(range(count))

    def forward(seen: Seen) -> Reply:
        answer = httpx.get(sandbox.api_url + "/usdc", headers=dict(seen.headers), timeout=60)
        if not seen.is_paid:
            all_arrived.wait(60)
            # Answer each request when the payment of the previous request has begun.
            turns[next(answers)].wait(20)
        return Reply(answer.status_code, dict(answer.headers), answer.content)

    begun = iter(turns)
    next(begun).set()
    wallet = sandbox.wallet(SOL="0.5")
    swaps: list[Any] = []
    async with AsyncClient(**sandbox.options(wallet, auto_swap=True)) as client:
        await client.warm()
        client.on("payment.required", lambda _: next(begun).set())
        client.on("swap.confirmed", swaps.append)
        url = make_seller(forward).url
        responses = await asyncio.gather(*(client.get(f"{url}/{index}") for index in range(count)))
        assert [response.status_code for response in responses] == [200] * count
    assert len(swaps) == 1
    assert sandbox.balance(wallet.address, "USDC") == 0


async def test_pays_in_three_tokens_in_parallel(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="0.5", USDC="1", USDT="1", PYUSD="1")
    async with AsyncClient(**sandbox.options(wallet)) as client:
        paths = ["usdc", "usdt", "pyusd"] * 4
        responses = await asyncio.gather(
            *(client.get(f"{sandbox.api_url}/{path}") for path in paths)
        )
        assert all(response.status_code == 200 for response in responses)
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 4 * 10_000
    assert sandbox.balance(wallet.address, "USDT") == 1_000_000 - 4 * 20_000
    assert sandbox.balance(wallet.address, "PYUSD") == 1_000_000 - 4 * 30_000


def test_makes_exactly_5_of_20_payments_of_a_cent_under_a_cap_of_5_cents(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(USDC="1")
    client = make_client(wallet, policy={"max_per_day": "0.05"})
    client.warm()

    def pay(_: int) -> str:
        try:
            return str(client.get(f"{sandbox.api_url}/usdc").status_code)
        except ExactChangeError as error:
            return error.code

    with ThreadPoolExecutor(20) as pool:
        outcomes = sorted(pool.map(pay, range(20)))
    assert outcomes == ["200"] * 5 + ["budget_exhausted"] * 15
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 5 * CENT
    assert client.spent()[0].used == "0.05"


async def test_applies_one_cap_to_the_tasks_of_two_clients_of_a_wallet(
    sandbox: Sandbox,
) -> None:
    wallet = sandbox.wallet(USDC="1")
    options = sandbox.options(wallet, policy={"max_per_day": "0.05"})

    async def pay(client: AsyncClient) -> str:
        try:
            return str((await client.get(f"{sandbox.api_url}/usdc")).status_code)
        except ExactChangeError as error:
            return error.code

    async with AsyncClient(**options) as first, AsyncClient(**options) as second:
        calls = [pay(client) for client in (first, second) for _ in range(10)]
        outcomes = sorted(await asyncio.gather(*calls))
    assert outcomes == ["200"] * 5 + ["budget_exhausted"] * 15


async def test_pays_for_each_send_when_one_request_is_sent_several_times_at_once(
    sandbox: Sandbox,
) -> None:
    async with AsyncClient(**sandbox.options(sandbox.wallet(USDC="1"))) as client:
        async with httpx.AsyncClient(transport=client.transport()) as http:
            request = http.build_request("GET", f"{sandbox.api_url}/usdc")
            answers = await asyncio.gather(*(http.send(request) for _ in range(3)))
    assert [answer.status_code for answer in answers] == [200] * 3


def test_pays_from_threads_and_event_loops_of_a_wallet_in_parallel(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(USDC="1")
    client = make_client(wallet)
    url = f"{sandbox.api_url}/usdc"
    failures: list[BaseException] = []

    def in_a_loop() -> None:
        async def crowd() -> None:
            async with AsyncClient(**sandbox.options(wallet)) as loop_client:
                responses = await asyncio.gather(*(loop_client.get(url) for _ in range(5)))
                assert all(response.status_code == 200 for response in responses)

        try:
            asyncio.run(crowd())
        except BaseException as error:
            failures.append(error)

    loops = [threading.Thread(target=in_a_loop) for _ in range(3)]
    for thread in loops:
        thread.start()
    with ThreadPoolExecutor(5) as pool:
        codes = list(pool.map(lambda _: client.get(url).status_code, range(5)))
    for thread in loops:
        thread.join()
    assert codes == [200] * 5 and not failures
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 20 * CENT


async def test_waits_for_no_node_during_a_payment_of_a_warm_client(
    sandbox: Sandbox, make_seller: MakeSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = threading.Event()
    may_answer.set()

    def forward(seen: Seen) -> Reply:
        # A node call that the payment waits for would hang here until the test fails.
        may_answer.wait(120)
        answer = httpx.post(sandbox.rpc_url, content=seen.body, headers=JSON)
        return Reply(answer.status_code, JSON, answer.content)

    node = make_seller(forward)
    wallet = sandbox.wallet(USDC="1")
    async with AsyncClient(**sandbox.options(wallet, rpc_url=node.url)) as client:
        await client.warm()
        url = f"{sandbox.api_url}/usdc"
        await client.settled(await client.get(url))
        # On a busy machine the blockhash would grow old before the payment.
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now)
        await client.warm()
        may_answer.clear()
        try:
            response = await asyncio.wait_for(client.get(url), 60)
        finally:
            may_answer.set()
        monkeypatch.undo()
        assert response.status_code == 200
        receipt = await client.settled(response)
        assert receipt is not None and receipt.state == "settled"


async def test_never_blocks_the_event_loop_while_it_waits(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    loop = asyncio.get_running_loop()

    def check_loop() -> None:
        """Raises if the loop is blocked, because then it waits for the caller of this function."""
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(60)

    def forward_to(url: str) -> str:
        def forward(seen: Seen) -> Reply:
            check_loop()
            answer = httpx.request(seen.method, url + seen.path, content=seen.body, headers=JSON)
            return Reply(answer.status_code, JSON, answer.content)

        return make_seller(forward).url

    def approve(_: object) -> bool:
        check_loop()
        return True

    class SlowSigner:
        def __init__(self, wallet: Wallet) -> None:
            self.address = wallet.address
            self._pair = Keypair.from_base58_string(wallet.secret_key)

        def sign_message(self, message: bytes, intent: object) -> bytes:
            check_loop()
            return bytes(self._pair.sign_message(message))

    wallet = sandbox.wallet(SOL="0.5")
    options = sandbox.options(
        wallet,
        wallet_secret_key=None,
        signer=SlowSigner(wallet),
        rpc_url=forward_to(sandbox.rpc_url),
        jupiter_url=forward_to(sandbox.jupiter_url),
        auto_swap=True,
        policy={"approve": approve},
    )
    async with AsyncClient(**options) as client:
        response = await client.get(f"{sandbox.api_url}/usdc")
        receipt = await client.settled(response)
        assert receipt is not None and receipt.state == "settled" and receipt.swap is not None


async def test_fails_when_a_call_blocks_the_loop_of_the_call_that_it_waits_for(
    sandbox: Sandbox, make_payer: MakePayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "LOCK_WAIT_MS", 1_000)
    wallet, url = sandbox.wallet(SOL="0.5"), f"{sandbox.api_url}/usdc"
    payer = make_payer(wallet, auto_swap=True)
    blocked: list[ExactChangeError] = []

    async def approve(_plan: object) -> bool:
        blocked.append(failure_of(lambda: payer.client.get(f"{url}?other"), "timeout"))
        return True

    options = sandbox.options(wallet, auto_swap=True, policy={"approve": approve})
    async with AsyncClient(**options) as client:
        assert (await client.get(url)).status_code == 200
    (error,) = blocked
    assert (error.funds, error.details, payer.signed) == (
        "untouched",
        {"step": "lock", "timeout_ms": 0},
        [],
    )
