"""Judges a swap transaction that another party built, before a wallet signs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

from typing_extensions import TypedDict

from ._base.amounts import U64_MAX, to_amount
from ._base.json_types import is_integer
from ._base.options import refuse, refuse_unknown
from ._base.runtime import system_runtime
from ._config.addresses import parse_rpc_urls
from ._config.options import (
    TimeoutOptions,
    Timeouts,
    parse_bool,
    parse_network,
    parse_timeouts,
)
from ._http.own import HttpPort, LoopHttp, ThreadHttp
from ._kernel.hosts import loop_host, threads
from ._kernel.steps import ensure, quiet
from ._kernel.task import Steps
from ._policy.policy import Units, parse_policy
from ._policy.read import read_address, read_mint, read_units
from ._swap.types import SwapBounds

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._firewall.verdict import SwapVerdict

# Base units that pass beyond a threshold, because services and programs round it differently.
_ROUNDING = 1


class InspectOptions(TypedDict, total=False):
    """What a foreign swap transaction is expected to do, and the node that simulates it."""

    # The wallet that is asked to sign; base58.
    wallet: str
    # Mint address, or symbol of a pinned mint; `output_mint` too.
    input_mint: str
    output_mint: str
    # Base units: the most that may leave the wallet. One base unit more passes, because services
    # and programs round a threshold differently.
    max_in_amount: Units
    # Base units: the least that must arrive. One less passes, for the same reason, but never 0.
    min_out_amount: Units
    # The most slippage that the instruction may allow itself, in basis points. By default, only the
    # amounts above bound it.
    slippage_bps: int
    # Lamports that network fees may cost, with the fee of the signature; default as
    # `policy.max_fee_lamports`.
    max_fee_lamports: Units
    # The options below are as in `Client`.
    rpc_url: str | Sequence[str]
    network: str
    timeouts: TimeoutOptions
    http_transport: Any
    trust_env: bool


_NAMES = tuple(InspectOptions.__annotations__)


class _Terms(NamedTuple):
    """Options of an inspection, checked and complete."""

    wallet: str
    bounds: SwapBounds
    network: str
    rpc_urls: Sequence[str]
    timeouts: Timeouts
    # Lamports, the signature included.
    max_fee: int
    max_rent: int
    http_transport: Any
    trust_env: bool

    def over(self, http: HttpPort, transaction: object) -> Steps[SwapVerdict]:
        """Inspects a transaction over ``http``. The first inspection loads most of the library."""
        from ._jupiter.decoder import jupiter_decoder
        from ._solana.rpc.blockhash import BlockhashSource
        from ._solana.rpc.rpc import connect
        from ._solana.tables import TableCache
        from ._swap.budget import swap_limits
        from ._swap.finish import SwapDeps
        from ._swap.inspect import inspect_with

        runtime = system_runtime
        rpc = connect(self.rpc_urls, http, runtime, self.timeouts.rpc, self.network)
        deps = SwapDeps(
            (jupiter_decoder,),
            rpc,
            runtime,
            BlockhashSource(rpc, runtime),
            TableCache(runtime),
            swap_limits(self.max_fee, self.max_rent),
        )

        def close() -> Steps[None]:
            rpc.close()
            yield from quiet(http.close())

        # Copy the bytes: the caller may change them between the verdict and the recomposition.
        copy = bytes(transaction) if isinstance(transaction, bytearray) else transaction
        inspected = inspect_with(deps, self.network, copy, self.wallet, self.bounds)
        return ensure(inspected, close)


def inspect_swap(transaction: str | bytes, **options: Unpack[InspectOptions]) -> SwapVerdict:
    """Judges a swap transaction that another party built, before a wallet signs it.

    It judges every instruction, account, lookup table and number, then a simulation on the caller's
    own node. Signs and sends nothing. A hostile or malformed transaction gives a verdict, not an
    error. ``transaction`` is base64 or wire bytes of the unsigned transaction.

    Raises ``ConfigError`` (``invalid_option``) if the options are wrong, ``FundsError``
    (``unknown_mint``, ``mint_not_supported``, ``account_unusable``) if the tokens or the wallet
    cannot be used at all, ``PolicyError`` (``fees_over_limit``), and ``TransportError`` if the node
    does not answer.

    >>> verdict = inspect_swap(
    ...     transaction,
    ...     wallet=wallet,
    ...     input_mint="SOL",
    ...     output_mint="USDC",
    ...     max_in_amount="10000000",
    ...     min_out_amount="1500000",
    ... )
    >>> print(verdict.summary)
    """
    terms = _parse(options)
    http = ThreadHttp(terms.http_transport, terms.trust_env)
    return threads.run(terms.over(http, transaction))


async def inspect_swap_async(
    transaction: str | bytes, **options: Unpack[InspectOptions]
) -> SwapVerdict:
    """Judges a swap transaction as :func:`inspect_swap` does, on an event loop."""
    terms = _parse(options)
    http = LoopHttp(terms.http_transport, terms.trust_env)
    return await loop_host().run(terms.over(http, transaction))


def _parse(options: Mapping[str, Any]) -> _Terms:
    values = {
        name: value for name, value in refuse_unknown(options, _NAMES).items() if value is not None
    }
    network = parse_network(values)
    mints = [read_mint(name, values.get(name), network) for name in ("input_mint", "output_mint")]
    if mints[0] == mints[1]:
        raise refuse("output_mint", "must be another token than input_mint.")
    slippage = values.get("slippage_bps", 10_000)
    if not is_integer(slippage) or not 0 <= slippage <= 10_000:
        raise refuse("slippage_bps", "must be basis points, a whole number from 0 to 10000.")
    policy = parse_policy({}, network)
    max_fee = policy.max_fee_lamports
    if "max_fee_lamports" in values:
        max_fee = read_units("max_fee_lamports", values["max_fee_lamports"], "lamports")
    bounds = SwapBounds(
        mints[0],
        mints[1],
        _read_amount("max_in_amount", values) + _ROUNDING,
        max(_read_amount("min_out_amount", values) - _ROUNDING, 1),
        slippage,
    )
    return _Terms(
        read_address("wallet", values.get("wallet"), "the base58 address of a wallet"),
        bounds,
        network,
        parse_rpc_urls(values.get("rpc_url"), network),
        parse_timeouts(values.get("timeouts", {})),
        max_fee,
        policy.max_rent_lamports,
        values.get("http_transport"),
        parse_bool("trust_env", values.get("trust_env", False)),
    )


def _read_amount(option: str, values: Mapping[str, Any]) -> int:
    amount = to_amount(values.get(option))
    if not amount:
        raise refuse(
            option, f"must be base units, from 1 to {U64_MAX}: an int or a whole number as text."
        )
    return amount
