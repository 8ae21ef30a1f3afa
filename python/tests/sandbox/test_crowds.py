from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from solders.keypair import Keypair

from exact_change import AsyncClient, Event, ExactChangeError, receipt_of

from ..conftest import MakeClient, MakeSeller
from ..node import Sandbox, Wallet
from ..seller import Reply, Seen

CENT = 10_000
JSON = {"content-type": "application/json"}


async def test_200_parallel_payments_settle_with_exact_sums(sandbox: Sandbox) -> None:
    count = 200
    wallet = sandbox.wallet(SOL="0.5", USDC="5")
    before = sandbox.balance(sandbox.merchant, "USDC")
    # In debug mode, on a machine with other work on it, so many keep a loop busy for a while.
    timeouts = {"rpc": 60_000}
    async with AsyncClient(**sandbox.options(wallet, timeouts=timeouts)) as client:
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
            # The official facilitator gives up after 30 s, which a busy machine may take.
            if isinstance(answer, ExactChangeError):
                assert answer.code == "payment_rejected"
                assert answer.funds in ("uncertain", "spent")
            else:
                assert isinstance(answer, httpx.Response)
                assert answer.status_code == 200
        await asyncio.wait_for(all_landed.wait(), 90)
        assert (await client.spent())[0].used == "2"
    assert sandbox.balance(sandbox.merchant, "USDC") - before == count * CENT
    assert sandbox.balance(wallet.address, "USDC") == 5_000_000 - count * CENT


async def test_ten_short_payments_share_one_swap(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="0.5")
    swaps: list[Any] = []
    async with AsyncClient(**sandbox.options(wallet, auto_swap=True)) as client:
        client.on("swap.confirmed", swaps.append)
        url = f"{sandbox.api_url}/usdc"
        responses = await asyncio.gather(*(client.get(url) for _ in range(10)))
        assert all(one.status_code == 200 for one in responses)
        receipts = [receipt_of(one) for one in responses]
        assert sum(one is not None and one.swap is not None for one in receipts) == 1
    assert len(swaps) == 1


async def test_a_crowd_that_is_answered_one_after_the_other_shares_one_swap(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    count = 20
    turns = [threading.Event() for _ in range(count + 1)]
    all_are_there = threading.Barrier(count)
    answers = iter(range(count))

    def forward(seen: Seen) -> Reply:
        answer = httpx.get(sandbox.api_url + "/usdc", headers=dict(seen.headers), timeout=60)
        if not seen.is_paid:
            all_are_there.wait(20)
            # Each once the one before is being paid for.
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
        responses = await asyncio.gather(*(client.get(f"{url}/{one}") for one in range(count)))
        assert [one.status_code for one in responses] == [200] * count
    assert len(swaps) == 1
    assert sandbox.balance(wallet.address, "USDC") == 0


async def test_tokens_are_paid_side_by_side(sandbox: Sandbox) -> None:
    wallet = sandbox.wallet(SOL="0.5", USDC="1", USDT="1", PYUSD="1")
    async with AsyncClient(**sandbox.options(wallet)) as client:
        paths = ["usdc", "usdt", "pyusd"] * 4
        responses = await asyncio.gather(*(client.get(f"{sandbox.api_url}/{one}") for one in paths))
        assert all(one.status_code == 200 for one in responses)
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 4 * 10_000
    assert sandbox.balance(wallet.address, "USDT") == 1_000_000 - 4 * 20_000
    assert sandbox.balance(wallet.address, "PYUSD") == 1_000_000 - 4 * 30_000


def test_20_payments_of_a_cent_under_a_cap_of_five_are_exactly_five(
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


async def test_the_same_cap_holds_for_tasks_and_two_clients_of_one_wallet(
    sandbox: Sandbox,
) -> None:
    wallet = sandbox.wallet(USDC="1")
    options = sandbox.options(wallet, policy={"max_per_day": "0.05"})

    async def pay(client: AsyncClient) -> str:
        try:
            return str((await client.get(f"{sandbox.api_url}/usdc")).status_code)
        except ExactChangeError as error:
            return error.code

    async with AsyncClient(**options) as one, AsyncClient(**options) as other:
        calls = [pay(client) for client in (one, other) for _ in range(10)]
        outcomes = sorted(await asyncio.gather(*calls))
    assert outcomes == ["200"] * 5 + ["budget_exhausted"] * 15


def test_threads_and_loops_of_one_wallet_pay_side_by_side(
    sandbox: Sandbox, make_client: MakeClient
) -> None:
    wallet = sandbox.wallet(USDC="1")
    client = make_client(wallet)
    url = f"{sandbox.api_url}/usdc"
    failures: list[BaseException] = []

    def in_a_loop() -> None:
        async def crowd() -> None:
            async with AsyncClient(**sandbox.options(wallet)) as own:
                responses = await asyncio.gather(*(own.get(url) for _ in range(5)))
                assert all(one.status_code == 200 for one in responses)

        try:
            asyncio.run(crowd())
        except BaseException as error:
            failures.append(error)

    loops = [threading.Thread(target=in_a_loop) for _ in range(3)]
    for one in loops:
        one.start()
    with ThreadPoolExecutor(5) as pool:
        codes = list(pool.map(lambda _: client.get(url).status_code, range(5)))
    for one in loops:
        one.join()
    assert codes == [200] * 5 and not failures
    assert sandbox.balance(wallet.address, "USDC") == 1_000_000 - 20 * CENT


async def test_a_warm_payment_calls_no_node_on_its_way(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    may_answer = threading.Event()
    may_answer.set()

    def forward(seen: Seen) -> Reply:
        # A call on the payment's way would wait here for longer than the test does.
        may_answer.wait(60)
        answer = httpx.post(sandbox.rpc_url, content=seen.body, headers=JSON)
        return Reply(answer.status_code, JSON, answer.content)

    node = make_seller(forward)
    wallet = sandbox.wallet(USDC="1")
    async with AsyncClient(**sandbox.options(wallet, rpc_url=node.url)) as client:
        await client.warm()
        url = f"{sandbox.api_url}/usdc"
        await client.settled(await client.get(url))
        await client.warm()
        may_answer.clear()
        try:
            response = await asyncio.wait_for(client.get(url), 40)
        finally:
            may_answer.set()
        assert response.status_code == 200
        receipt = await client.settled(response)
        assert receipt is not None and receipt.state == "settled"


async def test_nothing_is_waited_for_by_the_loop_itself(
    sandbox: Sandbox, make_seller: MakeSeller
) -> None:
    loop = asyncio.get_running_loop()

    def has_loop() -> None:
        """Raises if the loop is not there for others: it waits for whatever calls this."""
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(10)

    def over(url: str) -> str:
        def forward(seen: Seen) -> Reply:
            has_loop()
            answer = httpx.request(seen.method, url + seen.path, content=seen.body, headers=JSON)
            return Reply(answer.status_code, JSON, answer.content)

        return make_seller(forward).url

    def approve(_: object) -> bool:
        has_loop()
        return True

    class SlowSigner:
        def __init__(self, wallet: Wallet) -> None:
            self.address = wallet.address
            self._pair = Keypair.from_base58_string(wallet.secret_key)

        def sign_message(self, message: bytes, intent: object) -> bytes:
            has_loop()
            return bytes(self._pair.sign_message(message))

    wallet = sandbox.wallet(SOL="0.5")
    options = sandbox.options(
        wallet,
        wallet_secret_key=None,
        signer=SlowSigner(wallet),
        rpc_url=over(sandbox.rpc_url),
        jupiter_url=over(sandbox.jupiter_url),
        auto_swap=True,
        policy={"approve": approve},
    )
    async with AsyncClient(**options) as client:
        response = await client.get(f"{sandbox.api_url}/usdc")
        receipt = await client.settled(response)
        assert receipt is not None and receipt.state == "settled" and receipt.swap is not None
