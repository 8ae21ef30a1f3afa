"""The engines that pay for a client's calls: separate for each process and each event loop."""

from __future__ import annotations

import asyncio
import importlib
import os
import weakref
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._config.options import Config
from ._events import Events
from ._http.own import HttpPort, LoopHttp, ThreadHttp
from ._kernel.fork import ForkLock
from ._kernel.hosts import forget_closed, loop_host, this_loop
from ._kernel.signals import Signal
from ._kernel.steps import call
from ._kernel.task import Steps
from ._step_log import log_steps, logger
from .errors import Funds, failure

if TYPE_CHECKING:
    from ._payments.engine import Engine

T = TypeVar("T")


class Payer:
    """Creates engines when they are first needed. The first engine loads most of the library."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.events = Events(config.runtime.now, config.timeouts.signer)
        log_to = logger if config.logger is None else config.logger
        if log_to.isEnabledFor(10):
            log_steps(self.events, log_to, config.network)
        self.is_closed = False
        self._process = os.getpid()
        self._lock = ForkLock()
        self._thread: Engine | None = None
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Engine] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def made_thread_engine(self) -> Engine | None:
        """The engine of threads, if it exists: it may already know the terms of a call."""
        return self._thread if self._is_open else None

    @property
    def made_loop_engine(self) -> Engine | None:
        """The engine of the running loop, if it exists."""
        return self._loops.get(this_loop()) if self._is_open else None

    @property
    def _is_open(self) -> bool:
        return not self.is_closed and self._process == os.getpid()

    def thread_engine(self, funds: Funds = "untouched") -> Engine:
        """Returns the engine of threads, and creates it if it is missing.

        See :meth:`check_open` for ``funds``.
        """
        with self._lock:
            self._check(funds)
            if self._thread is None:
                config = self.config
                self._thread = self._make(ThreadHttp(config.http_transport, config.trust_env))
            return self._thread

    async def loop_engine(self, funds: Funds = "untouched") -> Engine:
        """Returns the engine of the running loop, and creates it if it is missing.

        See :meth:`check_open` for ``funds``.
        """
        self.check_open(funds)
        if not _is_loaded:
            await loop_host().run(call(_load))
        loop = this_loop()
        with self._lock:
            self._check(funds)
            engine = self._loops.get(loop)
            if engine is None:
                forget_closed(self._loops)
                http = LoopHttp(self.config.http_transport, self.config.trust_env)
                engine = self._loops[loop] = self._make(http)
            return engine

    async def on_loop(
        self,
        work: Callable[[Engine], Steps[T]],
        signal: Signal | None = None,
        unused: Callable[[T], Steps[Any]] | None = None,
    ) -> T:
        """Runs steps of the running loop's engine to their end, as :meth:`LoopHost.run` does."""
        engine = await self.loop_engine()
        return await loop_host().run(work(engine), signal, unused)

    def close(self) -> list[Engine]:
        """Pays no more calls. Returns the engine of threads, for the caller to close.

        Each close gets it: a second close must not overtake the first.
        """
        with self._lock:
            self.is_closed = True
            engine = self._thread
            return [] if engine is None or self._process != os.getpid() else [engine]

    async def close_loop(self) -> None:
        """Pays no more calls, and closes the engine of the running loop.

        Each close waits for it: a second close must not overtake the first.
        """
        loop = this_loop()
        with self._lock:
            self.is_closed = True
            engine = self._loops.get(loop)
        if engine is not None and self._process == os.getpid():
            await loop_host().run(engine.close())
            with self._lock:
                self._loops.pop(loop, None)

    def check_open(self, funds: Funds = "untouched") -> None:
        """Raises ``client_closed`` after a close.

        ``funds`` are uncertain for a call and a resume: a closed client reads no journal, and a
        payment of an equal call, or an open payment, may be in it.
        """
        if self.is_closed:
            text = "This client is closed. Create a new one."
            raise failure("client_closed", text, funds=funds)

    def _check(self, funds: Funds) -> None:
        self.check_open(funds)
        if self._process != os.getpid():
            # A child does not continue the work of its parent.
            self._process = os.getpid()
            self._thread = None
            self._loops = weakref.WeakKeyDictionary()

    def _make(self, http: HttpPort) -> Engine:
        from ._payments.context import PaymentContext
        from ._payments.engine import Engine

        return Engine(PaymentContext(self.config, self.events, http))


_is_loaded = False


def _load() -> None:
    """Loads most of the library. It takes 0.1 s, so it must not run on an event loop."""
    global _is_loaded
    importlib.import_module("._payments.engine", __package__)
    _is_loaded = True
