"""Transports of httpx that pay for requests."""

from __future__ import annotations

import asyncio
import time

import httpx

from .._kernel.hosts import loop_host, threads
from .._payer import Payer
from .._payments.call import disposed
from .ahead import aclose_late, close_late, engine_for, run_ahead, run_ahead_on_loop
from .calls import (
    HttpxCall,
    carries_payment,
    is_own_request,
    is_planned,
    note_hop,
    options_of,
    own_copy,
    unfollowed,
)
from .replies import LoopReply, ThreadReply, unread
from .sending import Retries, is_lost


class PayingTransport(httpx.BaseTransport):
    """Pays a 402 on the way, and returns the answer to the paid request.

    Any other answer comes back as from the transport below.
    """

    def __init__(self, payer: Payer, below: httpx.BaseTransport) -> None:
        self._payer = payer
        self._below = below

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request, and pays for it if the seller answers 402."""
        if is_own_request(request):
            return self._below.handle_request(request)
        _unshare(request)
        if carries_payment(request):
            return unfollowed(self._pass(request))
        timeout_ms = self._payer.config.timeouts.payment
        call = HttpxCall(request, self._below, timeout_ms, is_async=False)
        options = options_of(request)
        is_to_pay = not is_planned(request)
        answer = run_ahead(self._payer, call, options) if is_to_pay else None
        if answer is None:
            unpaid = self._send(request, call.is_replayable)
            if unpaid.status_code != 402 or not is_to_pay:
                note_hop(request, unpaid, call)
                return unpaid
            reply = ThreadReply(unread(unpaid), call.asked_at, request.method)
            engine = engine_for(self._payer, unpaid)
            answer = threads.run(engine.answer(call, reply, options), call.signal, close_late)
        response: httpx.Response = answer.native
        return response

    def close(self) -> None:
        """Closes the transport below; the client stays open."""
        engine = self._payer.made_thread_engine
        if engine is not None:
            threads.run(disposed(engine.context))
        self._below.close()

    def _send(self, request: httpx.Request, is_body_known: bool) -> httpx.Response:
        retries = Retries(self._payer.config, request.method, is_body_known=is_body_known)
        while True:
            try:
                response = self._pass(request)
            except httpx.TransportError as error:
                wait = retries.after_loss() if is_lost(error) else None
                if wait is None:
                    raise
            else:
                wait = retries.after_answer(response.status_code, response.headers.get)
                if wait is None:
                    return response
                response.close()
            time.sleep(wait)

    def _pass(self, request: httpx.Request) -> httpx.Response:
        return self._below.handle_request(own_copy(request))


class AsyncPayingTransport(httpx.AsyncBaseTransport):
    """A :class:`PayingTransport` on an event loop of asyncio."""

    def __init__(self, payer: Payer, below: httpx.AsyncBaseTransport) -> None:
        self._payer = payer
        self._below = below

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request, and pays for it if the seller answers 402."""
        if is_own_request(request):
            return await self._below.handle_async_request(request)
        _unshare(request)
        if carries_payment(request):
            return unfollowed(await self._pass(request))
        timeout_ms = self._payer.config.timeouts.payment
        call = HttpxCall(request, self._below, timeout_ms, is_async=True)
        options = options_of(request)
        is_to_pay = not is_planned(request)
        answer = await run_ahead_on_loop(self._payer, call, options) if is_to_pay else None
        if answer is None:
            unpaid = await self._send(request, call.is_replayable)
            if unpaid.status_code != 402 or not is_to_pay:
                note_hop(request, unpaid, call)
                return unpaid
            try:
                engine = await self._payer.loop_engine("uncertain")
            except (Exception, asyncio.CancelledError):
                await unpaid.aclose()
                raise
            reply = LoopReply(unread(unpaid), call.asked_at, request.method)
            answer = await loop_host().run(
                engine.answer(call, reply, options), call.signal, aclose_late
            )
        response: httpx.Response = answer.native
        return response

    async def aclose(self) -> None:
        """Closes the transport below; the client stays open."""
        await self._below.aclose()

    async def _send(self, request: httpx.Request, is_body_known: bool) -> httpx.Response:
        retries = Retries(self._payer.config, request.method, is_body_known=is_body_known)
        while True:
            try:
                response = await self._pass(request)
            except httpx.TransportError as error:
                wait = retries.after_loss() if is_lost(error) else None
                if wait is None:
                    raise
            else:
                wait = retries.after_answer(response.status_code, response.headers.get)
                if wait is None:
                    return response
                await response.aclose()
            await asyncio.sleep(wait)

    async def _pass(self, request: httpx.Request) -> httpx.Response:
        return await self._below.handle_async_request(own_copy(request))


def _unshare(request: httpx.Request) -> None:
    """Gives a request its own copy of its extensions.

    Before 0.28 httpx keeps the caller's mapping, and several requests may share it.
    """
    request.extensions = dict(request.extensions)
