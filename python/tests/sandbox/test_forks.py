"""Receipts of payments in a process that was forked before the chain had decided."""

from __future__ import annotations

import os

import pytest

from ..node import Sandbox
from .test_processes import run

FORKED_BEFORE_DECISION = """
import os, sys, threading
import httpx
from exact_change import Client, ExactChangeError
url, options = sys.argv[1], dict(pair.split("=", 1) for pair in sys.argv[2:])
parent, is_paid, is_asked = os.getpid(), threading.Event(), threading.Event()

class Held(httpx.HTTPTransport):
    def handle_request(self, request):
        if is_paid.is_set() and os.getpid() == parent:
            is_asked.set()
            threading.Event().wait()
        response = super().handle_request(request)
        if "payment-signature" in request.headers:
            is_paid.set()
        return response

client = Client(http_transport=Held(), **options)
other = Client(**{**options, "wallet_secret_key": OTHER})
response = client.get(url)
is_asked.wait(60)
child = os.fork()
if child == 0:
    try:
        other.settled(response, timeout=60)
    except ExactChangeError as error:
        print(error.code)
    print(client.settled(response, timeout=60).state, client.settled(response).state, flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_asks_the_chain_in_a_child_whose_parent_had_not_got_its_answer(sandbox: Sandbox) -> None:
    other = repr(sandbox.wallet().secret_key)
    program = FORKED_BEFORE_DECISION.replace("OTHER", other)
    ran = run(sandbox, program, sandbox.wallet(USDC="1").secret_key)
    assert (ran.stdout, ran.stderr) == ("client_closed\nsettled settled\n0\n", "")
